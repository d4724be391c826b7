"""The default way to get claims, and how a model of the store is fetched.

The default is by rule: it costs next to nothing, needs no download and cannot fail. What was
compared with it is in docs/claims.md.
"""

from __future__ import annotations

from collections.abc import Callable

from halldetect import models
from halldetect.claims.extractors.clauses import ClauseExtractor
from halldetect.protocols import Extractor


def auto() -> Extractor:
    """The default extractor."""
    return ClauseExtractor()


def fetch(
    name: str, notice: Callable[[str], None], progress: models.Progress | None = None
) -> None:
    """See to it that a model of the store is in the cache; say so when that takes a download."""
    if models.is_cached(name):
        return
    if not models.offline():
        size = models.megabytes(models.find(name).bytes)
        notice(f"fetching {name} ({size}, once); HALLDETECT_OFFLINE=1 forbids this")
    models.pull(name, progress or models.lines(notice))
