"""Estimate the remaining time of a task, for the command line and the service."""

from __future__ import annotations


class RemainingTime:
    """The remaining time of a task, from the time it took so far."""

    # Below either of these, there is no estimate yet.
    MIN_SECONDS, MIN_FRACTION = 2.0, 0.02

    def __init__(self, began: float) -> None:
        """Start at a time, in seconds."""
        self._began = began

    def seconds(self, fraction: float | None, now: float) -> float | None:
        """Return the remaining seconds after a fraction of the work; None while unknown."""
        spent = now - self._began
        if fraction is None or fraction < self.MIN_FRACTION or spent < self.MIN_SECONDS:
            return None
        return spent * (1.0 - fraction) / fraction
