"""Ways to get claims out of a response (Phase I), one file each."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path

from halldetect.errors import ConfigurationError
from halldetect.models import DEFAULT_EXTRACTOR, Progress, entries
from halldetect.protocols import Extractor

_DESCRIPTIONS = (
    ("auto", "the default, at present the same as clauses"),
    ("clauses", "parts of sentences by rule; no model"),
    ("sentences", "sentences without parts; no model"),
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
    """The extractor of a name.

    spec      a name of `extractor_table`, a model name of the store, or the path of a .gguf file
    threads   of a model in this process; None: as many as there are cores
    seed      of a generative model
    notice    gets one-line messages for a person, such as that a model is downloaded
    progress  gets the bytes of a download
    """
    from halldetect.claims.extractors.by_rule import ClauseExtractor, SentenceExtractor

    kind, _, rest = spec.strip().partition(":")
    stored = {entry.name for entry in entries()}
    # The default costs next to nothing, needs no download and cannot fail; docs/claims.md
    # compares it with the others.
    if spec in ("auto", "clauses"):
        return ClauseExtractor()
    if spec == "sentences":
        return SentenceExtractor()
    if kind == "openai":
        from halldetect.claims.extractors.openai import OpenAIExtractor

        return OpenAIExtractor(rest, seed=seed)
    if kind == "gguf":
        model = rest or DEFAULT_EXTRACTOR
    elif spec.lower() in stored or spec.lower().endswith(".gguf"):
        model = spec
    else:
        raise ConfigurationError(_unknown(spec, stored))

    from halldetect.claims.extractors.gguf import GgufExtractor
    from halldetect.models.llama import fetch_if_stored, require_library

    require_library()  # before a download that would be of no use
    fetch_if_stored(model, notice, progress)
    return GgufExtractor(model, threads=threads, seed=seed)


def _unknown(spec: str, stored: set[str]) -> str:
    if Path(spec).is_file():
        return f"the extractor {spec!r} is a file but not a .gguf model"
    kinds = dict.fromkeys(name.partition(":")[0] for name, _ in _DESCRIPTIONS)
    known = [*kinds, *sorted(stored)]
    near = difflib.get_close_matches(spec.lower(), known, n=1, cutoff=0.5)
    advice = f"did you mean {near[0]}?" if near else f"known names: {', '.join(known)}"
    return f"unknown extractor {spec!r}; {advice}"
