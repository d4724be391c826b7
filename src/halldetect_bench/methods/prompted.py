"""Methods that ask a language model: `llm-cot`, `long-context`, `factscore` and `acueval`.

They follow the published ideas with prompts of our own. A row that does not fit into the
model's context is not scored.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from halldetect.claims.extraction import CLAIMS_PER_SENTENCE
from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import STOP
from halldetect.reading.overlap import content_keys
from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents, has_words
from halldetect_bench.models.llm import BatchLlm, Llm, Messages, Question, Reply, TooLong
from halldetect_bench.models.question_batches import run_together

YES_NO = {"enum": ["yes", "no"]}
_ANSWER_TOKENS = 8
_CLAIM_TOKENS = 512

JUDGE = (
    "Below are a source and a statement. Is everything in the statement backed by the source? "
    "What is merely plausible, or known from elsewhere, is not backed. Answer yes or no.\n\n"
    "SOURCE\n{source}\n\nSTATEMENT\n{statement}"
)


class CountingLlm:
    """A language model that counts the passes and tokens of one row."""

    def __init__(self, llm: Llm) -> None:
        """llm: the model to ask."""
        self._llm = llm
        self.passes = self.tokens_in = self.tokens_out = 0

    def ask(
        self,
        messages: Messages,
        max_tokens: int,
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask one question.

        messages: the conversation so far.
        max_tokens: the length limit of the answer.
        schema: a JSON schema that the answer must follow.
        """
        return self.ask_many([Question(messages, max_tokens, schema=schema)])[0]

    def ask_many(self, questions: Sequence[Question]) -> list[Reply]:
        """Ask questions that do not depend on each other's answers.

        questions: what to ask; raises TooLong if one of them does not fit.
        """
        replies = []
        for reply in _answers(self._llm, questions):
            if isinstance(reply, TooLong):
                raise reply
            self.passes += 1
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out
            replies.append(reply)
        return replies

    def answers_yes(self, *conversations: Messages) -> list[bool]:
        """Ask questions that allow only yes or no.

        conversations: one per question.
        """
        questions = [Question(turns, _ANSWER_TOKENS, schema=YES_NO) for turns in conversations]
        words = [reply.text.strip().strip('"').lower() for reply in self.ask_many(questions)]
        if not set(words) <= set(YES_NO["enum"]):
            raise TooLong("the context has no room for an answer")
        return [word == "yes" for word in words]

    def supported(self, statements: Sequence[tuple[str, str]]) -> list[bool]:
        """Ask whether a source supports a statement.

        statements: pairs of a source and a statement.
        """
        texts = [
            JUDGE.format(source=source, statement=prompt.prepare(statement))
            for source, statement in statements
        ]
        return self.answers_yes(*([user_turn(text)] for text in texts))

    def claims(self, texts: Sequence[str], limit: int) -> list[tuple[str, ...]]:
        """Split texts into claims; a text in which the model finds none is its own claim.

        texts: the texts to split.
        limit: the greatest number of claims per text.
        """
        cleaned = [prompt.prepare(text) for text in texts]
        questions = [
            Question(prompt.messages(clean, limit), _CLAIM_TOKENS, stop=STOP) for clean in cleaned
        ]
        found = []
        for clean, reply in zip(cleaned, self.ask_many(questions), strict=True):
            # An incomplete last line may say something the model did not mean.
            lines = reply.text if reply.finished else reply.text.rpartition("\n")[0]
            found.append(prompt.parse(lines, limit) or (" ".join(clean.split()),))
        return found


class PromptedMethod(ABC):
    """The shared part: subclasses score one row with a language model."""

    name: str

    def __init__(self, llm: Llm) -> None:
        """llm: the model to ask."""
        self.llm = llm

    @property
    def description(self) -> dict[str, Any]:
        """The method's name, the model's description and a digest of the prompts."""
        digest = sha256(json.dumps(self.prompts()).encode()).hexdigest()[:12]
        return {"name": self.name, "llm": self.llm.description, "prompts": digest}

    @abstractmethod
    def prompts(self) -> tuple[str, ...]:
        """Everything that is sent besides the row; part of the description."""

    @abstractmethod
    def score_row(self, row: Row, llm: CountingLlm) -> Scored:
        """Score one row; the caller fills in the cost.

        row: the row to score.
        llm: the model to ask.
        """

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Score rows; a model that takes batches is asked for all rows at once.

        rows: the rows to score.
        """
        if len(rows) < 2 or not isinstance(self.llm, BatchLlm):
            return [self._timed(row, self.llm) for row in rows]
        start = time.perf_counter()
        found = run_together(self.llm, rows, self._timed)
        # Rows run at the same time, so each gets an equal share of it.
        seconds = (time.perf_counter() - start) / len(rows)
        return [
            replace(scored, cost=replace(scored.cost, seconds={"generate": seconds}))
            for scored in found
        ]

    def _timed(self, row: Row, llm: Llm) -> Scored:
        start = time.perf_counter()
        counting = CountingLlm(llm)
        if has_words(prompt.prepare(row.response)):
            try:
                scored = self.score_row(row, counting)
            except TooLong as error:
                scored = Scored(None, str(error))
        else:
            scored = Scored(None, "the response has no words")
        cost = Cost(
            generative_passes=counting.passes,
            extractor_tokens_in=counting.tokens_in,
            extractor_tokens_out=counting.tokens_out,
            seconds={"generate": time.perf_counter() - start},
        )
        return replace(scored, cost=cost)


def _answers(llm: Llm, questions: Sequence[Question]) -> Iterator[Reply | TooLong]:
    if isinstance(llm, BatchLlm):
        yield from llm.ask_many(questions)
        return
    for question in questions:
        yield llm.ask(
            question.messages,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
            seed=question.seed,
            schema=question.schema,
            stop=question.stop,
        )


def user_turn(text: str) -> dict[str, str]:
    """A turn of the user in a conversation.

    text: what the user says.
    """
    return {"role": "user", "content": text}


def source_text(row: Row) -> str:
    """All documents, one sentence per line, without anything that could act in a prompt.

    row: the row whose source is wanted.
    """
    return "\n\n".join(prompt.prepare(text) for text in documents(row))


def _unsupported_share(claims: Sequence[tuple[str, bool]]) -> Scored:
    wrong = sum(not supported for _, supported in claims)
    scores = tuple((text, 0.0 if supported else 1.0) for text, supported in claims)
    return Scored(wrong / len(claims), None, scores)


class LlmCot(PromptedMethod):
    """LLM CoT: the model reasons about the whole response, then says yes or no.

    The verdict is a turn of its own that allows no other answer, so that a small model which
    ignores the form still gives one. The score is 0 or 1.
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

    def score_row(self, row: Row, llm: CountingLlm) -> Scored:
        question = user_turn(
            self.REASON.format(source=source_text(row), response=prompt.prepare(row.response))
        )
        reasons = llm.ask([question], self.REASON_TOKENS).text
        turns = [question, {"role": "assistant", "content": reasons}, user_turn(self.VERDICT)]
        return Scored(0.0 if llm.answers_yes(turns)[0] else 1.0)


class LongContext(PromptedMethod):
    """One call with the source and all sentences of the response; a yes or no per sentence.

    The score is 0 if every sentence is supported, else from 0.5 to 1 by the share that is not:
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

    def score_row(self, row: Row, llm: CountingLlm) -> Scored:
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
        reply = llm.ask([user_turn(question)], room, schema=schema)
        try:
            answers = json.loads(reply.text)
            supported = [answers[number] == "yes" for number in numbers]
        except (ValueError, TypeError, KeyError):
            return Scored(None, "the model's answer does not have a yes or no for each sentence")
        wrong = supported.count(False)
        claims = tuple(
            (line, 0.0 if good else 1.0) for line, good in zip(lines, supported, strict=True)
        )
        return Scored(0.5 + wrong / len(lines) / 2 if wrong else 0.0, None, claims)


class AcuEval(PromptedMethod):
    """ACUEval: the model splits the whole response into content units and judges each unit
    against the whole source; the score is the share of units that are not supported."""

    name = "acueval"
    MAX_UNITS = 20

    def prompts(self) -> tuple[str, ...]:
        return JUDGE, prompt.digest(), str(self.MAX_UNITS)

    def score_row(self, row: Row, llm: CountingLlm) -> Scored:
        source = source_text(row)
        (units,) = llm.claims([row.response], self.MAX_UNITS)
        supported = llm.supported([(source, unit) for unit in units])
        return _unsupported_share(list(zip(units, supported, strict=True)))


class FactScore(PromptedMethod):
    """FActScore: the model splits each sentence into facts and judges each fact against the
    nearest passages; the score is the share of facts that are not supported.

    The original looks passages up in an encyclopedia. Here the row's own source is the only
    text to search, and passages are ranked by the content words they share with the fact.
    """

    name = "factscore"
    PASSAGES = 5
    PASSAGE_WORDS = 80

    def prompts(self) -> tuple[str, ...]:
        ranking = f"{self.PASSAGES} of {self.PASSAGE_WORDS}, by content words"
        return JUDGE, prompt.digest(), ranking

    def score_row(self, row: Row, llm: CountingLlm) -> Scored:
        passages = [
            text
            for document in documents(row)
            for text in split_passages(document, self.PASSAGE_WORDS)
        ]
        lines = [line for line in prompt.prepare(row.response).splitlines() if has_words(line)]
        facts = [fact for found in llm.claims(lines, CLAIMS_PER_SENTENCE) for fact in found]
        supported = llm.supported(
            [("\n\n".join(nearest(fact, passages, self.PASSAGES)), fact) for fact in facts]
        )
        return _unsupported_share(list(zip(facts, supported, strict=True)))


def split_passages(document: str, size: int) -> list[str]:
    """Cut a document into runs of whole sentences.

    document: a source text.
    size: about how many words a passage has.
    """
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
    """The passages that share the most content words with a fact, in the order of the source.

    fact: the statement to look up.
    passages: the candidates.
    count: how many to return.
    """
    wanted = content_keys(fact)
    shared = [len(wanted & content_keys(passage)) for passage in passages]
    best = sorted(range(len(passages)), key=lambda at: (-shared[at], at))
    return [passages[at] for at in sorted(best[:count])]
