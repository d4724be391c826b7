"""Methods that ask a language model: `llm-cot`, `long-context`, `factscore` and `acueval`.

They follow the published ideas with our own prompts. A row that does not fit into the model's
context is not scored.

A method is a generator for one row: it yields questions and receives the replies. So the model gets
the questions of many rows together.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, TypeVar

from halldetect.paper import prompt
from halldetect.paper.extract import CLAIMS_PER_SENTENCE
from halldetect.paper.prompt import STOP
from halldetect.reading.overlap import content_keys
from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents, has_words
from halldetect_bench.models.llm import Llm, Messages, Question, Reply, TooLong

Found = TypeVar("Found")
# Yields questions that do not depend on each other's answers, and is sent their replies.
Asking = Generator[list[Question], list[Reply], Found]
YES_NO = {"enum": ["yes", "no"]}
_ANSWER_TOKENS = 8
_CLAIM_TOKENS = 512

JUDGE = (
    "Below are a source and a statement. Is everything in the statement backed by the source? "
    "What is merely plausible, or known from elsewhere, is not backed. Answer yes or no.\n\n"
    "SOURCE\n{source}\n\nSTATEMENT\n{statement}"
)


def answers_yes(*conversations: Messages) -> Asking[list[bool]]:
    """Ask questions that allow only yes or no."""
    replies = yield [Question(turns, _ANSWER_TOKENS, schema=YES_NO) for turns in conversations]
    words = [reply.text.strip().strip('"').lower() for reply in replies]
    if not set(words) <= set(YES_NO["enum"]):
        raise TooLong("the context has no room for an answer")
    return [word == "yes" for word in words]


def supported(statements: Sequence[tuple[str, str]]) -> Asking[list[bool]]:
    """Ask for each pair of a source and a statement if the source supports the statement."""
    texts = [
        JUDGE.format(source=source, statement=prompt.prepare(statement))
        for source, statement in statements
    ]
    return (yield from answers_yes(*([user_turn(text)] for text in texts)))


def split_claims(texts: Sequence[str], limit: int) -> Asking[list[tuple[str, ...]]]:
    """Ask for at most `limit` claims of each text; a text without claims is its own claim."""
    cleaned = [prompt.prepare(text) for text in texts]
    replies = yield [
        Question(prompt.messages(clean, limit), _CLAIM_TOKENS, stop=STOP) for clean in cleaned
    ]
    return [
        prompt.parse(reply.complete_lines, limit) or (" ".join(clean.split()),)
        for clean, reply in zip(cleaned, replies, strict=True)
    ]


@dataclass(slots=True)
class _Conversation:
    """The open questions of one row and the replies so far; `scored` when the row is done."""

    asking: Asking[Scored]
    questions: list[Question]
    scored: Scored | None = None
    read: list[Reply] = field(default_factory=list)

    def cost(self, seconds: float) -> Cost:
        """Return the cost of the replies."""
        return Cost(
            generative_passes=len(self.read),
            extractor_tokens_in=sum(reply.tokens_in for reply in self.read),
            extractor_tokens_out=sum(reply.tokens_out for reply in self.read),
            seconds={"generate": seconds},
        )

    def go_on(self, replies: Sequence[Reply | TooLong] | None) -> None:
        """Pass the replies on (None at the start) and take the next questions, or the score."""
        try:
            self.read += (read := list(map(_fitting, replies or ())))
            self.questions = next(self.asking) if replies is None else self.asking.send(read)
        except StopIteration as done:
            self.scored = done.value
        except TooLong as error:
            self.scored = Scored(None, str(error))


def _fitting(reply: Reply | TooLong) -> Reply:
    if isinstance(reply, TooLong):
        raise reply
    return reply


class PromptedMethod(ABC):
    """The base class; subclasses score one row with a language model."""

    name: str

    def __init__(self, llm: Llm) -> None:
        self.llm = llm

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name, the model's description and a digest of the prompts."""
        digest = sha256(json.dumps(self.prompts()).encode()).hexdigest()[:12]
        return {"name": self.name, "llm": self.llm.description, "prompts": digest}

    @abstractmethod
    def prompts(self) -> tuple[str, ...]:
        """Return all prompt texts besides the row, for the description."""

    @abstractmethod
    def score_row(self, row: Row) -> Asking[Scored]:
        """Ask about one row, whose response has words, and return its score."""

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Ask the questions of all rows together, round by round."""
        start = time.perf_counter()
        talks = [_Conversation(self._asking(row), []) for row in rows]
        for talk in talks:
            talk.go_on(None)
        while open_talks := [talk for talk in talks if talk.scored is None]:
            replies = iter(
                self.llm.ask_many([one for talk in open_talks for one in talk.questions])
            )
            for talk in open_talks:
                talk.go_on([next(replies) for _ in talk.questions])
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [replace(talk.scored, cost=talk.cost(seconds)) for talk in talks if talk.scored]

    def _asking(self, row: Row) -> Asking[Scored]:
        if not has_words(prompt.prepare(row.response)):
            return Scored(None, "the response has no words")
        return (yield from self.score_row(row))


def user_turn(text: str) -> dict[str, str]:
    """Return a text as a turn of the user in a conversation."""
    return {"role": "user", "content": text}


def source_text(row: Row) -> str:
    """Return all documents, one sentence per line, without text that could act in a prompt."""
    return "\n\n".join(prompt.prepare(text) for text in documents(row))


def _unsupported_share(claims: Sequence[tuple[str, bool]]) -> Scored:
    wrong = sum(not supported for _, supported in claims)
    scores = tuple((text, 0.0 if supported else 1.0) for text, supported in claims)
    return Scored(wrong / len(claims), None, scores)


class LlmCot(PromptedMethod):
    """LLM CoT: the model reasons about the whole response, then says yes or no.

    The verdict is a separate turn that allows no other answer, so that even a small model that
    ignores the form gives a verdict. The score is 0 or 1.
    """

    name = "llm-cot"
    REASON = (
        "Below are a source and a response that was written from it. Go through the response step "
        "by step: for each thing it says, name the place in the source that backs it, or say that "
        "there is none or that the source says otherwise. Keep it short.\n\n"
        "SOURCE\n{source}\n\nRESPONSE\n{response}"
    )
    VERDICT = "So, is every single thing in the response backed by the source? Answer yes or no."
    REASON_TOKENS = 384

    def prompts(self) -> tuple[str, ...]:
        return self.REASON, self.VERDICT, str(self.REASON_TOKENS)

    def score_row(self, row: Row) -> Asking[Scored]:
        question = user_turn(
            self.REASON.format(source=source_text(row), response=prompt.prepare(row.response))
        )
        (reasons,) = yield [Question([question], self.REASON_TOKENS)]
        turns = [question, {"role": "assistant", "content": reasons.text}, user_turn(self.VERDICT)]
        (backed,) = yield from answers_yes(turns)
        return Scored(0.0 if backed else 1.0)


class LongContext(PromptedMethod):
    """One call with the source and all sentences of the response; a yes or no per sentence.

    The score is 0 if every sentence is supported, else 0.5 to 1 by the unsupported share:
    at the threshold 0.5 one unsupported sentence flags the response.
    """

    name = "long-context"
    QUESTION = (
        "Below are a source and numbered statements. For each statement say whether everything in "
        "it is backed by the source. Answer with a JSON object that gives yes or no for each "
        "number.\n\nSOURCE\n{source}\n\nSTATEMENTS\n{statements}"
    )
    _TOKENS_PER_ANSWER = 12

    def prompts(self) -> tuple[str, ...]:
        return (self.QUESTION,)

    def score_row(self, row: Row) -> Asking[Scored]:
        lines = prompt.prepare(row.response).splitlines()
        numbered = "\n".join(f"{at}. {line}" for at, line in enumerate(lines, start=1))
        numbers = [str(at) for at in range(1, len(lines) + 1)]
        schema = {
            "type": "object",
            "properties": dict.fromkeys(numbers, YES_NO),
            "required": numbers,
            "additionalProperties": False,
        }
        question = self.QUESTION.format(source=source_text(row), statements=numbered)
        room = self._TOKENS_PER_ANSWER * len(lines) + 16
        (reply,) = yield [Question([user_turn(question)], room, schema=schema)]
        try:
            answers = json.loads(reply.text)
            backed = [answers[number] == "yes" for number in numbers]
        except (ValueError, TypeError, KeyError):
            return Scored(None, "the model's answer does not have a yes or no for each sentence")
        wrong = backed.count(False)
        claims = tuple(
            (line, 0.0 if good else 1.0) for line, good in zip(lines, backed, strict=True)
        )
        return Scored(0.5 + wrong / len(lines) / 2 if wrong else 0.0, None, claims)


class AcuEval(PromptedMethod):
    """ACUEval: the model splits the response into content units and judges each against the whole
    source; the score is the share of unsupported units."""

    name = "acueval"
    MAX_UNITS = 20

    def prompts(self) -> tuple[str, ...]:
        return JUDGE, prompt.digest(), str(self.MAX_UNITS)

    def score_row(self, row: Row) -> Asking[Scored]:
        source = source_text(row)
        (units,) = yield from split_claims([row.response], self.MAX_UNITS)
        backed = yield from supported([(source, unit) for unit in units])
        return _unsupported_share(list(zip(units, backed, strict=True)))


class FactScore(PromptedMethod):
    """FActScore: the model splits each sentence into facts and judges each against the nearest
    passages; the score is the share of unsupported facts.

    The original searches an encyclopedia. Here the row's source is searched, and passages are
    ranked by the content words they share with the fact.
    """

    name = "factscore"
    PASSAGES = 5
    PASSAGE_WORDS = 80

    def prompts(self) -> tuple[str, ...]:
        ranking = f"{self.PASSAGES} of {self.PASSAGE_WORDS}, by content words"
        return JUDGE, prompt.digest(), ranking

    def score_row(self, row: Row) -> Asking[Scored]:
        passages = [
            text
            for document in documents(row)
            for text in split_passages(document, self.PASSAGE_WORDS)
        ]
        lines = [line for line in prompt.prepare(row.response).splitlines() if has_words(line)]
        found = yield from split_claims(lines, CLAIMS_PER_SENTENCE)
        facts = [fact for part in found for fact in part]
        backed = yield from supported(
            [("\n\n".join(nearest(fact, passages, self.PASSAGES)), fact) for fact in facts]
        )
        return _unsupported_share(list(zip(facts, backed, strict=True)))


def split_passages(document: str, size: int) -> list[str]:
    """Cut a document into runs of whole sentences, of about `size` words."""
    found: list[str] = []
    filled = size
    for line in prompt.prepare(document).splitlines():
        count = len(line.split())
        if filled + count > size:
            found.append(line)
            filled = count
        else:
            found[-1] += f"\n{line}"
            filled += count
    return found


def nearest(fact: str, passages: Sequence[str], count: int) -> list[str]:
    """Return the passages that share the most content words with a fact, in source order."""
    wanted = content_keys(fact)
    shared = [len(wanted & content_keys(passage)) for passage in passages]
    best = sorted(range(len(passages)), key=lambda at: (-shared[at], at))
    return [passages[at] for at in sorted(best[:count])]
