"""A limit on how often one caller may send requests."""

from __future__ import annotations

import time
from dataclasses import dataclass

# With more callers than this, those whose bucket is full again are forgotten.
_MAX_BUCKETS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    updated: float


class RateLimiter:
    """A token bucket per caller.

    Each HTTP process counts for itself and therefore allows its share of the whole rate.

    Args:
        per_minute: requests per minute and caller; 0 means no limit. A tenth of them may come
            at once.
        processes: number of HTTP processes that share the rate.
    """

    def __init__(self, per_minute: int, processes: int = 1) -> None:
        self._per_second = per_minute / 60 / processes
        self._burst = max(1.0, per_minute / 10 / processes)
        self._buckets: dict[str, _Bucket] = {}

    def wait_seconds(self, caller: str) -> float:
        """Count one request of `caller`.

        Returns:
            0 if the request may pass, else the seconds after which the next one may.
        """
        if not self._per_second:
            return 0.0
        now = time.monotonic()
        if len(self._buckets) > _MAX_BUCKETS:
            self._drop_full_buckets(now)
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.updated) * self._per_second)
        bucket.updated = now
        if bucket.tokens >= 1.0:
            bucket.tokens -= 1.0
            return 0.0
        return (1.0 - bucket.tokens) / self._per_second

    def _drop_full_buckets(self, now: float) -> None:
        """Drop the buckets that are full again: they are the same as no bucket."""
        seconds_to_fill = self._burst / self._per_second
        self._buckets = {
            caller: bucket
            for caller, bucket in self._buckets.items()
            if now - bucket.updated < seconds_to_fill
        }
