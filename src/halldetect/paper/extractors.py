"""The extractors by name: language models that write claims, and plain sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

from halldetect.errors import ConfigurationError, name_advice
from halldetect.models import DEFAULT_EXTRACTOR, Progress, entries
from halldetect.models.chat_endpoint import ChatEndpoint, ServerOptions
from halldetect.paper import prompt
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft, Extractor
from halldetect.reading.sentences import sentences

# Each kind of extractor by its name for `load_extractor`.
EXTRACTORS = (
    ("sentences", "sentences as they stand; no model"),
    ("gguf", f"a language model in this process, {DEFAULT_EXTRACTOR} unless another is named"),
    ("gguf:NAME", "the same, with a model of the store or a .gguf file"),
    ("openai:MODEL", "a model on a server that speaks the OpenAI chat protocol"),
)


class SentenceExtractor:
    """Proposes every sentence, word for word."""

    name = "sentences"

    @property
    def description(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": self.name}

    def draft(self, response: str, limit: int) -> Draft:
        """Return the first `limit` sentences."""
        spans = sentences(response)
        return Draft(tuple(span.cut(response) for span in spans[:limit]))


class OpenAIExtractor:
    """Asks a chat endpoint, with structured output if the server accepts it."""

    name = "openai"

    def __init__(self, model: str, *, seed: int = 0, **server: Unpack[ServerOptions]) -> None:
        """Prepare the connection; `server` has options of `ChatEndpoint`, `seed` is sent along."""
        self._endpoint = ChatEndpoint(model, **server)
        self._seed = seed

    def __repr__(self) -> str:
        return f"OpenAIExtractor({self._endpoint.model!r})"

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        return {
            "name": f"openai:{self._endpoint.model}",
            "base_url": self._endpoint.url,
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims that the server lists for the block."""
        text = prompt.prepare(block)
        if not text or limit < 1:
            return Draft(())
        answer, *tokens = self._endpoint.complete(lambda left: self._body(text, limit, left))
        return Draft(prompt.parse(answer, limit), 1, *tokens)

    def _body(self, text: str, limit: int, left_out: set[str]) -> dict[str, Any]:
        structured = "response_format" not in left_out
        schema = {"name": "claims", "strict": True, "schema": prompt.SCHEMA}
        return {
            "messages": prompt.messages(text, limit, as_json=structured),
            "response_format": {"type": "json_schema", "json_schema": schema},
            "seed": self._seed,
            "temperature": TEMPERATURE,
            "max_tokens": MAX_NEW_TOKENS,
            # JSON may contain empty lines, and has its own end.
            **({} if structured else {"stop": [STOP]}),
        }


def load_extractor(
    spec: str,
    *,
    threads: int | None = None,
    seed: int = 0,
    notice: Callable[[str], None] = lambda line: None,
    progress: Progress | None = None,
) -> Extractor:
    """Load an extractor: a name of `EXTRACTORS` or of the store, or the path of a .gguf file.

    `threads` are those of a model in this process, by default one per core. `notice` receives
    one-line messages for the user, `progress` the bytes of a download.
    """
    kind, _, rest = spec.strip().partition(":")
    stored = {entry.name for entry in entries()}
    if spec == "sentences":
        return SentenceExtractor()
    if kind == "openai":
        return OpenAIExtractor(rest, seed=seed)
    if kind == "gguf":
        model = rest or DEFAULT_EXTRACTOR
    elif spec.lower() in stored or spec.lower().endswith(".gguf"):
        model = spec
    else:
        raise ConfigurationError(_unknown(spec, stored))

    from halldetect.models.llama import fetch_if_stored, require_library
    from halldetect.paper.gguf import GgufExtractor

    require_library()  # before a useless download
    fetch_if_stored(model, notice, progress)
    return GgufExtractor(model, threads=threads, seed=seed)


def _unknown(spec: str, stored: set[str]) -> str:
    if Path(spec).is_file():
        return f"the extractor {spec!r} is a file but not a .gguf model"
    known = ["sentences", "gguf", "openai", *sorted(stored)]
    return f"unknown extractor {spec!r}; {name_advice(spec, known)}"
