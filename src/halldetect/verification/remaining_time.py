"""How long a task will still take, for the command line and the service."""

from __future__ import annotations


class RemainingTime:
    """How long something will still take, from how long it took so far.

    Args:
        began: when it began, in seconds.
    """

    # Sooner than this, and with less than this done, nothing can be said.
    MIN_SECONDS, MIN_FRACTION = 2.0, 0.02

    def __init__(self, began: float) -> None:
        self._began = began

    def seconds(self, fraction: float | None, now: float) -> float | None:
        """Return the seconds that are left, None while that is unknown.

        Args:
            fraction: how much of it is done.
            now: the time, in seconds.
        """
        spent = now - self._began
        if fraction is None or fraction < self.MIN_FRACTION or spent < self.MIN_SECONDS:
            return None
        return spent * (1.0 - fraction) / fraction
