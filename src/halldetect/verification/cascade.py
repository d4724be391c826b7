"""The cascade `--verifier auto`: when to use a second, slower verifier.

The first verifier judges every response. A response with a claim that it neither clearly supports
nor clearly rejects is judged again, as a whole, by the second; the report then comes from the
second verifier alone.
"""

from __future__ import annotations

from collections.abc import Sequence

# A claim whose support lies in this range is unclear.
UNSURE_FROM, UNSURE_BELOW = 0.1, 0.9


def is_unsure(supports: Sequence[float | None]) -> bool:
    """Return True if a response should be judged again.

    Args:
        supports: support of its claims by the first verifier; None for an unjudged claim.
    """
    return any(support is None or UNSURE_FROM <= support < UNSURE_BELOW for support in supports)
