"""Ways to get claims out of a response (Phase I), one file each."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path

from halldetect.errors import ConfigurationError
from halldetect.models import DEFAULT_EXTRACTOR, Progress, entries
from halldetect.protocols import Extractor

_KINDS = ("auto", "sentences", "clauses", "gguf", "openai")

_DESCRIPTIONS = (
    ("auto", "the default, at present the same as clauses"),
    ("clauses", "sentences taken apart by rule; no model"),
    ("sentences", "each sentence is one claim; no model"),
    ("gguf", f"a language model in this process, {DEFAULT_EXTRACTOR} unless another is named"),
    ("gguf:NAME", "the same, with a model of the store or a .gguf file"),
    ("openai:MODEL", "a model on a server that speaks the OpenAI chat protocol"),
)


def extractor_table() -> tuple[tuple[str, str], ...]:
    """Each kind of extractor by the name that `load_extractor` takes, and what it is."""
    return _DESCRIPTIONS


def describe_extractor(name: str) -> str:
    """What the extractor of that name is, in a few words."""
    kind, colon, _ = name.partition(":")
    for known, text in _DESCRIPTIONS:
        if name == known or (colon and known.startswith(f"{kind}:")):
            return text
    return "a language model in this process"


def _say(line: str) -> None:
    if sys.stderr is not None:
        print(f"halldetect: {line}", file=sys.stderr, flush=True)


def load_extractor(
    spec: str,
    *,
    threads: int | None = None,
    seed: int = 0,
    notice: Callable[[str], None] = _say,
    progress: Progress | None = None,
) -> Extractor:
    """The extractor of a specification.

    `auto` (by rule, as `clauses`), `sentences`, `gguf` (the store's first), `gguf:NAME_OR_PATH`,
    a model name of the store, the path of a .gguf file, or `openai:MODEL`.
    `notice` gets a line for what a person should know, such as a download; `progress` its bytes
    (otherwise also as notices).
    """
    kind, _, rest = spec.strip().partition(":")
    stored = {entry.name for entry in entries()}
    if spec == "auto":
        from halldetect.claims.extractors.auto import auto

        return auto()
    if spec == "sentences":
        from halldetect.claims.extractors.sentences import SentenceExtractor

        return SentenceExtractor()
    if spec == "clauses":
        from halldetect.claims.extractors.clauses import ClauseExtractor

        return ClauseExtractor()
    if kind == "openai":
        from halldetect.claims.extractors.openai import OpenAIExtractor

        return OpenAIExtractor(rest, seed=seed)
    if kind == "gguf":
        model = rest or DEFAULT_EXTRACTOR
    elif spec.lower() in stored or spec.lower().endswith(".gguf"):
        model = spec
    else:
        raise ConfigurationError(_unknown(spec, stored))

    from halldetect.claims.extractors.auto import fetch
    from halldetect.claims.extractors.gguf import GgufExtractor, is_stored

    if is_stored(model):
        fetch(model, notice, progress)
    return GgufExtractor(model, threads=threads, seed=seed)


def _unknown(spec: str, stored: set[str]) -> str:
    if Path(spec).is_file():
        return f"the extractor {spec!r} is a file but no .gguf model"
    known = [*_KINDS, *sorted(stored)]
    near = difflib.get_close_matches(spec.lower(), known, n=1, cutoff=0.5)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"unknown extractor {spec!r}; {advice}"
