"""What all methods that ask a language model share: the words, the counting, the claims."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from halldetect.bench.datasets.rows import Row
from halldetect.bench.llm import Llm, Messages, Reply, TooLong
from halldetect.bench.methods.scored import Scored, documents, has_words
from halldetect.extractors import prompt
from halldetect.extractors.gguf import STOP
from halldetect.report import Cost

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
        # Tokens that an embedding model read.
        self.embedded = 0

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
        reply = self._llm.ask(
            messages,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            schema=schema,
            stop=stop,
        )
        self.passes += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        return reply

    def backed(self, messages: Messages) -> bool:
        """A question that can only be answered with yes or no."""
        answer = self.ask(messages, _ANSWER_TOKENS, schema=YES_NO).text.strip().strip('"').lower()
        if answer not in YES_NO["enum"]:
            raise TooLong("the context has no room for an answer")
        return answer == "yes"

    def judge(self, source: str, statement: str) -> bool:
        text = JUDGE.format(source=source, statement=prompt.prepare(statement))
        return self.backed([user(text)])

    def claims(self, text: str, limit: int) -> tuple[str, ...]:
        """The claims of a text in the model's words; the text itself where it finds none."""
        clean = prompt.prepare(text)
        reply = self.ask(prompt.messages(clean), _CLAIM_TOKENS, stop=STOP)
        # A line that was broken off says something else than was meant.
        lines = reply.text if reply.finished else reply.text.rpartition("\n")[0]
        return prompt.parse(lines, limit) or (" ".join(clean.split()),)


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
        return [self._one(row) for row in rows]

    def _one(self, row: Row) -> Scored:
        start = time.perf_counter()
        asked = Asked(self.llm)
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
            verifier_tokens=asked.embedded,
            seconds={"generate": time.perf_counter() - start},
        )
        return Scored(found.score, found.reason, found.claims, cost)


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
