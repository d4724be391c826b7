"""What all methods that ask a language model share: the words, the counting, the claims."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import STOP
from halldetect.report import Cost
from halldetect_bench.datasets.rows import Row
from halldetect_bench.llm import BatchLlm, Llm, Messages, Question, Reply, TooLong
from halldetect_bench.methods.scored import Scored, documents, has_words
from halldetect_bench.together import together

YES_NO = {"enum": ["yes", "no"]}
_ANSWER_TOKENS = 8
_CLAIM_TOKENS = 512

JUDGE = (
    "Below are a source and a statement. Is everything in the statement backed by the source? "
    "What is merely plausible, or known from elsewhere, is not backed. Answer yes or no.\n\n"
    "SOURCE\n{source}\n\nSTATEMENT\n{statement}"
)


class Asked:
    """A model with a count of what it was asked for one row."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self.passes = self.tokens_in = self.tokens_out = 0

    def ask(
        self,
        messages: Messages,
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        stop: str | None = None,
    ) -> Reply:
        question = Question(messages, max_tokens, temperature, seed, schema, stop)
        return self.ask_many([question])[0]

    def ask_many(self, questions: Sequence[Question]) -> list[Reply]:
        """Questions of which none waits for the answer to another."""
        replies = []
        for reply in answers(self._llm, questions):
            if isinstance(reply, TooLong):
                raise reply
            self.passes += 1
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out
            replies.append(reply)
        return replies

    def backed(self, *conversations: Messages) -> list[bool]:
        """Questions that can only be answered with yes or no."""
        questions = [Question(turns, _ANSWER_TOKENS, schema=YES_NO) for turns in conversations]
        told = [reply.text.strip().strip('"').lower() for reply in self.ask_many(questions)]
        if not set(told) <= set(YES_NO["enum"]):
            raise TooLong("the context has no room for an answer")
        return [answer == "yes" for answer in told]

    def judge(self, statements: Sequence[tuple[str, str]]) -> list[bool]:
        """Whether each source backs its statement."""
        texts = [
            JUDGE.format(source=source, statement=prompt.prepare(statement))
            for source, statement in statements
        ]
        return self.backed(*([user(text)] for text in texts))

    def claims(self, texts: Sequence[str], limit: int) -> list[tuple[str, ...]]:
        """The claims of each text in the model's words; the text itself where it finds none."""
        cleaned = [prompt.prepare(text) for text in texts]
        questions = [
            Question(prompt.messages(clean), _CLAIM_TOKENS, stop=STOP) for clean in cleaned
        ]
        found = []
        for clean, reply in zip(cleaned, self.ask_many(questions), strict=True):
            # A line that was broken off says something else than was meant.
            lines = reply.text if reply.finished else reply.text.rpartition("\n")[0]
            found.append(prompt.parse(lines, limit) or (" ".join(clean.split()),))
        return found


class PromptedMethod(ABC):
    """Subclasses judge one row; what the model cannot read whole is not scored."""

    name: str

    def __init__(self, llm: Llm) -> None:
        self.llm = llm

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name, "llm": self.llm.description, "prompts": digest(*self.prompts())}

    @abstractmethod
    def prompts(self) -> tuple[str, ...]:
        """Everything that is sent besides the row."""

    @abstractmethod
    def judge(self, row: Row, asked: Asked) -> Scored:
        """The answer for a row; its cost is filled in by the caller."""

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        if len(rows) < 2 or not isinstance(self.llm, BatchLlm):
            return [self._one(row, self.llm) for row in rows]
        start = time.perf_counter()
        found = together(self.llm, rows, self._one)
        # Rows are worked on at the same time, so each bears its share of it.
        seconds = (time.perf_counter() - start) / len(rows)
        return [
            replace(one, cost=replace(one.cost, seconds={"generate": seconds})) for one in found
        ]

    def _one(self, row: Row, llm: Llm) -> Scored:
        start = time.perf_counter()
        asked = Asked(llm)
        if has_words(prompt.prepare(row.response)):
            try:
                found = self.judge(row, asked)
            except TooLong as error:
                found = Scored(None, str(error))
        else:
            found = Scored(None, "the response has no words")
        cost = Cost(
            generative_passes=asked.passes,
            extractor_tokens_in=asked.tokens_in,
            extractor_tokens_out=asked.tokens_out,
            seconds={"generate": time.perf_counter() - start},
        )
        return replace(found, cost=cost)


def answers(llm: Llm, questions: Sequence[Question]) -> Iterator[Reply | TooLong]:
    """An answer to each question: all at once where the model can, else one after the other."""
    if isinstance(llm, BatchLlm):
        yield from llm.ask_many(questions)
        return
    for one in questions:
        yield llm.ask(
            one.messages,
            max_tokens=one.max_tokens,
            temperature=one.temperature,
            seed=one.seed,
            schema=one.schema,
            stop=one.stop,
        )


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def source_text(row: Row) -> str:
    """All documents, one sentence a line, with nothing that could act in a prompt."""
    return "\n\n".join(prompt.prepare(text) for text in documents(row))


def share_unbacked(claims: Sequence[tuple[str, bool]]) -> Scored:
    """The score of a response whose claims are each backed or not."""
    wrong = sum(not backed for _, backed in claims)
    told = tuple((text, 0.0 if backed else 1.0) for text, backed in claims)
    return Scored(wrong / len(claims), None, told)


def digest(*texts: str) -> str:
    return sha256(json.dumps(texts).encode()).hexdigest()[:12]
