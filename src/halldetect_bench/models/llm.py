"""The language model that the generative methods ask, behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from halldetect import models
from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import is_stored
from halldetect.errors import CheckError, ModelError
from halldetect.models.gguf_header import read_header
from halldetect.models.llama import default_threads, one_line, start

CONTEXT = 8192

Messages = Sequence[Mapping[str, str]]


class TooLong(CheckError):
    """What was to be read does not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`finished` is False where the answer was broken off at the limit of tokens."""

    text: str
    tokens_in: int
    tokens_out: int
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation to go on with, and how (see `Llm.ask`)."""

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
        """Name, digest, settings: what the results record."""
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
        """The next turn, the same whatever was asked before.

        With a JSON `schema` the answer can be nothing but JSON of that form, unless it is
        broken off. It ends before the text `stop`. Raises TooLong if the conversation does not fit.
        """
        ...


@runtime_checkable
class BatchLlm(Llm, Protocol):
    """A model that is much faster when it is asked many things at once."""

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        """An answer to each, in order; a conversation that does not fit spoils no other."""
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
        (reply,) = self.ask_many([Question(messages, max_tokens, temperature, seed, schema, stop)])
        if isinstance(reply, TooLong):
            raise reply
        return reply


class LlamaLlm:
    """A GGUF model in llama.cpp, in this process."""

    def __init__(
        self, model: str | Path, *, threads: int | None = None, context: int = CONTEXT
    ) -> None:
        """`model` is a name of the store, which must be in the cache, or the path of a file."""
        self._name, self._path, self._digest = locate_model(model)
        self._context = context
        self._special = prompt.special_pattern(read_header(self._path).control_tokens)
        self._server = start(self._path, threads or default_threads(), 0, context)

    @property
    def description(self) -> dict[str, Any]:
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
        body: dict[str, Any] = {
            "messages": [self._plain(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            # What another question left behind would change the numbers a little.
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
        """A turn in which nothing can act as one of the model's control tokens."""
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
        told = error.get("message", error) if isinstance(error, dict) else error
        raise ModelError(f"llama.cpp failed: {one_line(told)}")
    usage = answer["usage"]
    choice = answer["choices"][0]
    return Reply(
        text=choice["message"].get("content") or "",
        tokens_in=int(usage["prompt_tokens"]),
        tokens_out=int(usage["completion_tokens"]),
        finished=choice.get("finish_reason") != "length",
    )


def locate_model(model: str | Path) -> tuple[str, Path, str]:
    """The name, the file and the digest of a model of the store or of a .gguf file."""
    if is_stored(model):
        name = str(model).lower()
        return f"gguf:{name}", models.path(name), f"sha256:{models.sha256_of(name)}"
    path = Path(model).expanduser()
    read_header(path)  # says in one line what is wrong with the file
    return f"gguf:{path.name}", path, f"sha256:{models.digest_of(path)}"


def fetch_if_stored(model: str, notice: Callable[[str], None]) -> str:
    """The model's name, after it has been fetched if it is one of the store."""
    from halldetect.claims.extractors import fetch_model

    if is_stored(model):
        fetch_model(model, notice)
    return model
