"""The language model of a method: the protocol, and GGUF models in llama.cpp."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from halldetect.errors import CheckError, ModelError, one_line
from halldetect.large.gguf import control_tokens
from halldetect.paper import prompt
from halldetect.paper.llama import LlamaFile, start

CONTEXT = 8192
FIRST_TOKENS = 5

Messages = Sequence[Mapping[str, str]]


class TooLong(CheckError):
    """A conversation does not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `finished` is False if it reached the token limit.

    `first` has the likely first tokens with their probabilities, if the question asked for them
    and the model gives them.
    """

    text: str
    tokens_in: int
    tokens_out: int
    finished: bool = True
    first: tuple[tuple[str, float], ...] = ()

    @property
    def complete_lines(self) -> str:
        """The text without an incomplete last line, which may be misleading."""
        return self.text if self.finished else self.text.rpartition("\n")[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation with the parameters of its continuation.

    The answer follows the JSON schema, unless it reaches the limit; the text `stop` ends it.
    With `first_tokens`, the probabilities of the likely first tokens are wanted.
    """

    messages: Messages
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    stop: str | None = None
    first_tokens: bool = False


class Llm(Protocol):
    """A model that answers conversations."""

    @property
    def description(self) -> dict[str, Any]:
        """Return name, digest and settings for the results."""
        ...

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        """Return one answer per question, in order; TooLong for one that does not fit.

        An answer must not depend on the other questions.
        """
        ...


class LlamaLlm:
    """A GGUF model in llama.cpp, in this process; by a name of the store or its path."""

    def __init__(
        self, model: str | Path, *, threads: int | None = None, context: int = CONTEXT
    ) -> None:
        self._file = LlamaFile(model)
        self._context = context
        self._special = prompt.special_pattern(control_tokens(self._file.path))
        self._server = start(self._file.path, threads, 0, context)

    @property
    def description(self) -> dict[str, Any]:
        """Return name, digest and context."""
        return {
            "name": self._file.name,
            "kind": "llama.cpp",
            "digest": self._file.digest,
            "context": self._context,
        }

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        """Answer one question after the other; see `Llm.ask_many`."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Reply | TooLong:
        body: dict[str, Any] = {
            "messages": [self._plain(message) for message in question.messages],
            "max_tokens": question.max_tokens,
            "temperature": question.temperature,
            "seed": question.seed,
            # A cached prefix would change the numbers slightly.
            "cache_prompt": False,
        }
        if question.stop is not None:
            body["stop"] = [question.stop]
        if question.first_tokens:
            body |= {"logprobs": True, "top_logprobs": FIRST_TOKENS}
        if question.schema is not None:
            schema = {"schema": question.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        try:
            answer = self._server.handle_chat_completions(body)
        except Exception as error:
            raise ModelError(f"llama.cpp failed: {one_line(error)}") from error
        return _reply(answer)

    def _plain(self, message: Mapping[str, str]) -> dict[str, str]:
        return {"role": message["role"], "content": without(self._special, message["content"])}


def without(special: re.Pattern[str] | None, text: str) -> str:
    """Return a text without the control tokens of a model, which `special` matches."""
    while special is not None and special.search(text):
        text = special.sub(" ", text)
    return text


def _reply(answer: Any) -> Reply | TooLong:
    error = answer.get("error") if isinstance(answer, dict) else "no answer"
    if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
        return TooLong(
            f"{error['n_prompt_tokens']} tokens do not fit into a context of {error['n_ctx']}"
        )
    if error:
        message = error.get("message", error) if isinstance(error, dict) else error
        raise ModelError(f"llama.cpp failed: {one_line(message)}")
    usage = answer["usage"]
    choice = answer["choices"][0]
    return Reply(
        text=choice["message"].get("content") or "",
        tokens_in=int(usage["prompt_tokens"]),
        tokens_out=int(usage["completion_tokens"]),
        finished=choice.get("finish_reason") != "length",
        first=tuple(
            (one["token"], math.exp(one["logprob"]))
            for token in ((choice.get("logprobs") or {}).get("content") or [])[:1]
            for one in token["top_logprobs"]
        ),
    )
