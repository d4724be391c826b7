"""Claims chosen by a small model: SmolLM2-135M with an adapter that was trained to split.

The model never writes a claim. It reads a sentence in lettered pieces and names the pieces of each
claim, out of those that the guard lets through; a sentence that may not be split is not shown to it
at all. The adapter in the package chooses about as well as the rule does, not better
(docs/extractor.md), so the rule stays the default; `training/extractor` makes others.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from halldetect import models
from halldetect.claims.extraction import Draft
from halldetect.claims.extractors import codes
from halldetect.claims.extractors.clauses import ClauseExtractor
from halldetect.claims.extractors.cover import covering, finest
from halldetect.claims.extractors.prompt import special_pattern
from halldetect.claims.extractors.splits import Split
from halldetect.errors import ExtractionError, ModelError
from halldetect.models.gguf_header import read_header
from halldetect.models.llama import default_threads, one_line, start

BASE = "smollm2-135m"
ADAPTER = Path(str(files("halldetect"))) / "weights" / "claims" / "adapter.gguf"
CONTEXT = 1024
# The longest answer there can be: four claims of all letters, each with its line end.
_MOST_TOKENS = 4 * (len(codes.LETTERS) + 1) + 1


def check_adapter(path: Path) -> None:
    """An error unless this is the file of an adapter."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path} is no adapter in GGUF")
    except OSError as error:
        raise ModelError(f"cannot read the adapter {path}: {error.strerror}") from error


class SplitterExtractor(ClauseExtractor):
    """Lets the model choose among the claims of a split."""

    name = "splitter"

    def __init__(
        self, adapter: Path = ADAPTER, *, threads: int | None = None, seed: int = 0
    ) -> None:
        check_adapter(adapter)
        base = models.path(BASE)
        self._adapter = adapter
        self._special = special_pattern(read_header(base).control_tokens)
        self._lock = Lock()
        self._server = start(base, threads or default_threads(), seed, CONTEXT, adapter=adapter)
        self._passes = self._read = self._written = 0

    @property
    def description(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model_digest": f"sha256:{models.sha256_of(BASE)}",
            "adapter_digest": f"sha256:{self._digest}",
            "format": codes.VERSION,
            "temperature": 0.0,
        }

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._adapter.read_bytes()).hexdigest()

    def draft(self, block: str, limit: int) -> Draft:
        with self._lock:
            self._passes = self._read = self._written = 0
            return super().draft(block, limit)

    def choose(self, found: Split, most: int) -> tuple[tuple[int, ...], ...]:
        chosen = self.answer(found) if codes.letterable(found) else ()
        return covering(chosen, found, most) if chosen else finest(found, most)

    def answer(self, found: Split) -> tuple[tuple[int, ...], ...]:
        """What the model says, as it says it; nothing where the sentence is too long for it."""
        body = {
            "prompt": codes.prompt(found, self._special),
            "grammar": codes.grammar(found),
            "max_tokens": _MOST_TOKENS,
            "temperature": 0.0,
            # Nothing read before may leave a trace: the same sentence, the same claims.
            "cache_prompt": False,
        }
        try:
            answer = self._server.handle_completions(body)
            if answer.get("error", {}).get("type") == "exceed_context_size_error":
                return ()
            text = answer["choices"][0]["text"]
            used = answer["usage"]
        except Exception as error:
            raise ExtractionError(f"llama.cpp failed: {one_line(error)}") from error
        self._passes += 1
        self._read += int(used["prompt_tokens"])
        self._written += int(used["completion_tokens"])
        return codes.read(text, found)

    def _drafted(self, claims: tuple[str, ...]) -> Draft:
        return Draft(claims, self._passes, self._read, self._written)
