"""A guarded stream: fences are judged, and waiting inside one takes linear work."""

from __future__ import annotations

from functools import partial

import pytest

from halldetect import Detector
from tests.support.fakes import OverlapVerifier
from tests.support.known_defects import base, calls_of, defect

SOURCE = (
    "The last ferry leaves at 6:45. A ticket costs four euros and is not refundable. "
    "The deck has 30 seats."
)


@defect("Hardening")
@pytest.mark.parametrize(
    ("fence", "wrong"),
    [
        ('```json\n{\n  "price": 4,\n  "pool": "on deck"\n}\n```\n', "pool"),
        ('```json\n{"departure": "18:30"}\n```\n', "18:30"),
    ],
)
def test_a_fence_of_wrong_values_is_held(fence: str, wrong: str) -> None:
    guard = base().stream(SOURCE)
    pieces = [fence[at : at + 7] for at in range(0, len(fence), 7)]
    passed = [sentence for piece in pieces for sentence in guard.feed(piece)] + guard.close()
    assert wrong not in "".join(sentence.text for sentence in passed)


@defect("Hardening")
def test_an_open_fence_takes_linear_work() -> None:
    """Twice as many lines of code are twice the work, not four times."""
    counts = []
    for count in (12, 24, 48):
        guard = Detector(OverlapVerifier()).stream(SOURCE)
        lines = [f"seats_{at} = row_{at * 3}.seats(at={at * 7})\n" for at in range(count)]
        guard.feed("```python\n")
        counts.append(calls_of(partial(list, map(guard.feed, lines))))
    assert counts[2] - counts[1] <= 2.3 * (counts[1] - counts[0])
