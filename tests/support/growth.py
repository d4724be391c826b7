"""How the processor time of a function grows with the length of a text.

Steps inside an expression cannot be counted, so time is measured: processor time of this thread
alone, which other programs hardly change, and twice where the result would be a failure.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import thread_time
from types import FrameType

# A function is measured until it takes this long.
ENOUGH_SECONDS = 0.03
# The most time for four times the text: linear work takes 4 times as much, quadratic work 16.
GROWTH = 9.0
# Shorter times are mostly the cost of a call.
_SHORTEST = 0.002
# Processor time that a call may take before it is stopped.
_LIMIT = 3.0
_SHORTEST_TEXT = 125
_numbers = count()


class TooLong(Exception):
    """Raised inside a call that has spent its processor time."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """End a call after some processor time; expressions look for signals too."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(function: Callable[[str], object], text: str) -> float:
    """Return the time of one call; no cache has the text, since each is another one."""
    text = f"{text} q{next(_numbers)}"
    started = thread_time()
    function(text)
    return thread_time() - started


def growth(
    function: Callable[[str], object], build: Callable[[int], str], longest: int
) -> str | None:
    """Return how a function grows faster than its text; None if it does not.

    `build` makes a text of a length. Texts grow until a call takes a measurable time, or they
    have the greatest length.
    """
    size = _SHORTEST_TEXT
    times: dict[int, float] = {}
    try:
        with _limit(_LIMIT):
            times[size] = _seconds(function, build(size))
            while times[size] < ENOUGH_SECONDS and 2 * size <= longest:
                size *= 2
                times[size] = _seconds(function, build(size))
            if not _grows(times[size], times.get(size // 4)):
                return None
            for again in (size // 4, size):
                times[again] = min(times[again], _seconds(function, build(again)))
    except TooLong:
        return f"{size} characters take more than {_LIMIT} s"
    if not _grows(times[size], times[size // 4]):
        return None
    return f"{size // 4} characters take {times[size // 4]:.4f} s, {size} take {times[size]:.4f} s"


def _grows(large: float, small: float | None) -> bool:
    return small is not None and large >= ENOUGH_SECONDS and large > GROWTH * max(small, _SHORTEST)
