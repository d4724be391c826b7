"""The extractors by name: language models that write claims, and plain sentences."""

from __future__ import annotations

from halldetect.errors import ConfigurationError, name_advice
from halldetect.machine.catalogue import DEFAULT_EXTRACTOR, ENTRIES
from halldetect.machine.download import Progress, no_progress
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

    def __init__(self) -> None:
        self.description = {"name": "sentences"}

    def draft(self, response: str, limit: int) -> Draft:
        """Return the first `limit` sentences."""
        spans = sentences(response)
        return Draft(tuple(span.cut(response) for span in spans[:limit]))


def load_extractor(
    spec: str,
    *,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Extractor:
    """Load an extractor: a name of `EXTRACTORS` or of the store, or the path of a .gguf file.

    `threads` are those of a model in this process, by default one per core; `progress` receives
    the bytes of its download.
    """
    kind, _, rest = spec.strip().partition(":")
    stored = {entry.name for entry in ENTRIES}
    if spec == "sentences":
        return SentenceExtractor()
    if kind == "openai":
        from halldetect.paper.endpoint import OpenAIExtractor

        return OpenAIExtractor(rest, seed=seed)
    model = (rest or DEFAULT_EXTRACTOR) if kind == "gguf" else spec
    if kind != "gguf" and model.lower() not in stored and not model.lower().endswith(".gguf"):
        known = ["sentences", "gguf", "openai", *sorted(stored)]
        raise ConfigurationError(f"unknown extractor {spec!r}; {name_advice(spec, known)}")

    from halldetect.paper.gguf import GgufExtractor
    from halldetect.paper.llama import fetch_if_stored, require_library

    require_library()  # before a useless download
    fetch_if_stored(model, progress)
    return GgufExtractor(model, threads=threads, seed=seed)
