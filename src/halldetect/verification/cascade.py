"""When `auto` asks its second verifier: where that is likely to correct the verdict.

`python -m benchmarks.cascade` fits the weights on development sets and prints them. The present
ones were fitted on answers of earlier weights; a new fit gains nothing (results/cascade.json).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# A logistic score of a response: a constant, then a weight for each of its `features`.
WEIGHTS = (-0.622, 0.146, -0.71, 0.0, 0.0, 0.0)
# A response with at least this score is judged again.
ASKS_FROM = -1.316
_LEAST = 1e-3  # the least distance of a support from 0 and 1


def features(claims: Sequence[tuple[str, float]]) -> tuple[float, ...]:
    """Return what the score depends on, given text and support of each claim.

    These are: the log-odds that the worst claim is wrong, and their size; the logarithm of the
    number of claims; whether the worst claim has a number, and the logarithm of its words.
    """
    worst, support = min(claims, key=lambda claim: claim[1])
    support = min(max(support, _LEAST), 1.0 - _LEAST)
    odds = math.log((1.0 - support) / support)
    has_number = float(any(map(str.isdigit, worst)))
    return odds, abs(odds), math.log(len(claims)), has_number, math.log(len(worst.split()) or 1)


def asking_score(claims: Sequence[tuple[str, float]], weights: Sequence[float] = WEIGHTS) -> float:
    """Return the score of a response that is compared with `ASKS_FROM`."""
    values = (1.0, *features(claims))
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True))


def is_unsure(claims: Sequence[tuple[str, float | None]]) -> bool:
    """Return True if the second verifier should judge the whole response again.

    It also judges a claim that the first one could not read.
    """
    known = [(text, support) for text, support in claims if support is not None]
    return len(known) < len(claims) or (bool(known) and asking_score(known) >= ASKS_FROM)
