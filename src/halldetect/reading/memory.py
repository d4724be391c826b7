"""Remember what was found in texts: each turn of a conversation has all results before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Found = TypeVar("Found")


def remembered(
    short: int, *, longest: int = 4_000, long: int = 0
) -> Callable[[Callable[[str], Found]], Callable[[str], Found]]:
    """Decorate a function of a text: keep its results for the last `short` and `long` texts.

    A text of at most `longest` characters is short.
    """

    def decorate(function: Callable[[str], Found]) -> Callable[[str], Found]:
        kept, kept_long = lru_cache(short)(function), lru_cache(long)(function)

        @wraps(kept)
        def find(text: str) -> Found:
            return (kept if len(text) <= longest else kept_long)(text)

        return find

    return decorate
