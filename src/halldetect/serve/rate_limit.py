"""How often one caller may ask."""

from __future__ import annotations

import time
from dataclasses import dataclass

_FORGET_ABOVE = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rate:
    """So many requests a minute for each caller, a tenth of them at once; 0 is no limit.

    Each HTTP process counts for itself, so each gets its share of the whole.
    """

    def __init__(self, per_minute: int, processes: int = 1) -> None:
        self._per_second = per_minute / 60 / processes
        self._burst = max(1.0, per_minute / 10 / processes)
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, caller: str) -> float:
        """0 if the request may pass, else after how many seconds one may."""
        if not self._per_second:
            return 0.0
        now = time.monotonic()
        if len(self._buckets) > _FORGET_ABOVE:
            self._forget_idle(now)
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._per_second)
        bucket.at = now
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) / self._per_second

    def _forget_idle(self, now: float) -> None:
        """A bucket that has filled up again says nothing."""
        full = self._burst / self._per_second
        self._buckets = {
            name: bucket for name, bucket in self._buckets.items() if now - bucket.at < full
        }
