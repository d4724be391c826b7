"""When `auto` asks its second verifier: where that is likely to correct the verdict."""

from __future__ import annotations

from collections.abc import Sequence

# The worst support of a response that is judged again lies between these. They are where a score
# of the support, fitted on development sets by `benchmarks/cascade.py`, reaches its cut.
UNSURE_FROM, UNSURE_TO = 0.226095, 0.692268


def is_unsure(supports: Sequence[float | None]) -> bool:
    """Return True if the second verifier should judge the whole response again.

    It also judges a claim that the first one could not read.
    """
    known = [support for support in supports if support is not None]
    if len(known) < len(supports):
        return True
    return bool(known) and UNSURE_FROM <= min(known) <= UNSURE_TO
