"""The default: a small local model if it can be had, the plain sentences if not."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from halldetect import models
from halldetect.claims import Draft, Extractor
from halldetect.errors import FetchError, HallDetectError
from halldetect.extractors.sentences import SentenceExtractor

# A network that swallows what is sent costs half a minute to find out: not on every run.
_LONG_WAIT = 5.0
_TRIED_AGAIN_AFTER = 600.0


class FellBack:
    """The sentences, with a note for the report that says what they stand in for."""

    def __init__(self, missing: str) -> None:
        self._sentences = SentenceExtractor()
        self.notes = (f"{missing} was not to be had; each sentence was taken as one claim",)

    @property
    def description(self) -> dict[str, Any]:
        return self._sentences.description

    def draft(self, block: str, limit: int) -> Draft:
        return self._sentences.draft(block, limit)


def auto(
    *,
    threads: int | None,
    seed: int,
    notice: Callable[[str], None],
    progress: models.Progress | None = None,
) -> Extractor:
    """The store's default model, fetched if need be; never an error because it is missing."""
    name = models.DEFAULT_EXTRACTOR
    try:
        return _with_model(name, threads, seed, notice, progress)
    except HallDetectError as error:
        notice(f"taking each sentence as one claim, without {name}: {error}")
        return FellBack(name)


def _with_model(
    name: str,
    threads: int | None,
    seed: int,
    notice: Callable[[str], None],
    progress: models.Progress | None,
) -> Extractor:
    from halldetect.extractors.gguf import GgufExtractor

    stamp = models.home() / f"{name}.unreachable"
    if not models.is_cached(name) and _is_fresh(stamp):
        raise FetchError(
            "no answer when it was last tried, a few minutes ago; "
            f"`halldetect models pull {name}` tries again at once"
        )
    started = time.monotonic()
    try:
        fetch(name, notice, progress)
    except FetchError:
        if time.monotonic() - started > _LONG_WAIT:
            with suppress(OSError):
                stamp.touch()
        raise
    with suppress(OSError):
        stamp.unlink(missing_ok=True)
    return GgufExtractor(name, threads=threads, seed=seed)


def _is_fresh(stamp: Path) -> bool:
    try:
        return 0 <= time.time() - stamp.stat().st_mtime < _TRIED_AGAIN_AFTER
    except OSError:
        return False


def fetch(
    name: str, notice: Callable[[str], None], progress: models.Progress | None = None
) -> None:
    """See to it that a model of the store is in the cache; say so when that takes a download."""
    if models.is_cached(name):
        return
    if not models.offline():
        size = models.megabytes(models.find(name).bytes)
        notice(
            f"fetching {name} ({size}, once), the model that splits responses into claims; "
            "HALLDETECT_OFFLINE=1 forbids this, `--extractor sentences` does without"
        )
    models.pull(name, progress or models.lines(notice))
