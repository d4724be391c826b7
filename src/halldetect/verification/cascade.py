"""When a second, slower verifier is asked: the cascade `--verifier auto`.

The first verifier judges every response. A response with a claim that it neither clearly supports
nor clearly rejects is judged again, as a whole, by the second; its report is then that of the
second verifier alone. `benchmarks/cascade.py` measures accuracy against cost for other limits.
"""

from __future__ import annotations

from collections.abc import Sequence

# A claim whose support lies in this range is unclear.
UNSURE_FROM, UNSURE_BELOW = 0.1, 0.9


def is_unsure(supports: Sequence[float | None]) -> bool:
    """Whether a response should be judged again.

    supports  of its claims by the first verifier; None where it could not judge a claim
    """
    return any(support is None or UNSURE_FROM <= support < UNSURE_BELOW for support in supports)
