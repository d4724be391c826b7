"""The language model that methods ask: the protocol, and GGUF models in llama.cpp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from halldetect import models
from halldetect.claims.extractors import prompt
from halldetect.errors import CheckError, ModelError, one_line
from halldetect.models.gguf import read_header
from halldetect.models.llama import default_threads, is_stored, start

CONTEXT = 8192

Messages = Sequence[Mapping[str, str]]


class TooLong(CheckError):
    """A conversation does not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `finished` is False where it reached the limit of tokens."""

    text: str
    tokens_in: int
    tokens_out: int
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation and how to continue it; the fields are the arguments of `Llm.ask`."""

    messages: Messages
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    stop: str | None = None


class Llm(Protocol):
    """Anything that answers a conversation."""

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest and settings, which the results record."""
        ...

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        stop: str | None = None,
    ) -> Reply:
        """The next turn of a conversation; it does not depend on earlier calls.

        messages: the turns so far.
        max_tokens: the length limit of the answer.
        temperature: 0 takes the likeliest token.
        seed: of the random choice of tokens.
        schema: a JSON schema; the answer is JSON of that form, unless it reaches the limit.
        stop: a text before which the answer ends.
        Raises TooLong if the conversation does not fit into the context.
        """
        ...


@runtime_checkable
class BatchLlm(Llm, Protocol):
    """A model that answers many questions in one batch."""

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        """Answer questions in one batch.

        questions: what to ask.
        Returns one answer per question, in order; TooLong for one that does not fit.
        """
        ...

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        stop: str | None = None,
    ) -> Reply:
        """Answer one question; see `Llm.ask`."""
        (reply,) = self.ask_many([Question(messages, max_tokens, temperature, seed, schema, stop)])
        if isinstance(reply, TooLong):
            raise reply
        return reply


class LlamaLlm:
    """A GGUF model in llama.cpp, in this process."""

    def __init__(
        self, model: str | Path, *, threads: int | None = None, context: int = CONTEXT
    ) -> None:
        """model: a name of `halldetect models list` that is in the cache, or a .gguf file.
        threads: default is the number of cores. context: the tokens that the model reads.
        """
        self._name, self._path, self._digest = locate_model(model)
        self._context = context
        self._special = prompt.special_pattern(read_header(self._path).control_tokens)
        self._server = start(self._path, threads or default_threads(), 0, context)

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest and context."""
        return {
            "name": self._name,
            "kind": "llama.cpp",
            "digest": self._digest,
            "context": self._context,
        }

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        schema: Mapping[str, Any] | None = None,
        stop: str | None = None,
    ) -> Reply:
        """Answer one question; see `Llm.ask`."""
        body: dict[str, Any] = {
            "messages": [self._plain(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            # A cached prefix would change the numbers slightly.
            "cache_prompt": False,
        }
        if stop is not None:
            body["stop"] = [stop]
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
        try:
            answer = self._server.handle_chat_completions(body)
        except Exception as error:
            raise ModelError(f"llama.cpp failed: {one_line(error)}") from error
        return _reply(answer)

    def _plain(self, message: Mapping[str, str]) -> dict[str, str]:
        """A turn without any text that would act as a control token of the model."""
        text = message["content"]
        while self._special is not None and self._special.search(text):
            text = self._special.sub(" ", text)
        return {"role": message["role"], "content": text}


def _reply(answer: Any) -> Reply:
    error = answer.get("error") if isinstance(answer, dict) else "no answer"
    if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
        raise TooLong(
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
    )


def locate_model(model: str | Path) -> tuple[str, Path, str]:
    """The name, the file and the digest of a GGUF model.

    model: a name of `halldetect models list` that is in the cache, or the path of a file.
    """
    if is_stored(model):
        name = str(model).lower()
        return f"gguf:{name}", models.path(name), f"sha256:{models.sha256_of(name)}"
    path = Path(model).expanduser()
    read_header(path)  # raises an error that says what is wrong with the file
    return f"gguf:{path.name}", path, f"sha256:{models.digest_of(path)}"
