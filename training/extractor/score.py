"""How far chosen claims agree with the ones people chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect.claims.extractors.cover import covering, finest
from halldetect.claims.extractors.splits import Split


def agreement(
    splits: Sequence[Split], wanted: Sequence[Any], found: Sequence[Any]
) -> dict[str, Any]:
    """Of the model's choice, and of the two choices that need no model, for comparison."""
    final = [covering(f, s) if f else finest(s) for s, f in zip(splits, found, strict=True)]
    complete = [
        {p for claim in f for p in claim} == set(s.whole)
        for s, f in zip(splits, found, strict=True)
    ]
    return {
        "sentences": len(splits),
        "complete": round(sum(complete) / len(splits), 4),
        "model": _agree(wanted, final),
        "finest": _agree(wanted, [finest(split) for split in splits]),
        "whole": _agree(wanted, [(split.whole,) for split in splits]),
    }


def _agree(wanted: Sequence[Any], found: Sequence[Any]) -> dict[str, float]:
    exact = f1 = 0.0
    for want, have in zip(wanted, found, strict=True):
        left, right = {tuple(claim) for claim in want}, {tuple(claim) for claim in have}
        exact += left == right
        f1 += 2 * len(left & right) / (len(left) + len(right))
    claims = sum(map(len, found))
    return {
        "exact": round(exact / len(wanted), 4),
        "f1": round(f1 / len(wanted), 4),
        "claims": round(claims / len(wanted), 3),
    }
