"""Reports of recent checks, kept in memory so that the same check is not done twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halldetect_serve.worker.wire import FinishedReport

# The events of a check say much of what its report says.
_SIZE_WITH_EVENTS = 2


@dataclass(frozen=True, slots=True)
class RememberedCheck:
    """A check that was done.

    report  its report
    events  its claims and their verdicts, for those who want events
    """

    report: FinishedReport
    events: Sequence[dict[str, Any]] = ()

    @property
    def size(self) -> int:
        """Roughly how many bytes it takes."""
        return _SIZE_WITH_EVENTS * len(self.report.json)


class ReportMemory:
    """Holds the most recently used checks.

    Args:
        limit: bytes to hold; 0 holds nothing.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._checks: OrderedDict[bytes, RememberedCheck] = OrderedDict()
        self._bytes = 0
        self.hits = 0

    def get(self, key: bytes) -> RememberedCheck | None:
        """Return the check with that key, if it is held."""
        check = self._checks.get(key)
        if check is not None:
            self._checks.move_to_end(key)
            self.hits += 1
        return check

    def put(self, key: bytes, check: RememberedCheck) -> None:
        """Hold a check, and drop those that were not used for longest."""
        if check.size > self._limit or key in self._checks:
            return
        self._checks[key] = check
        self._bytes += check.size
        while self._bytes > self._limit:
            _, oldest = self._checks.popitem(last=False)
            self._bytes -= oldest.size
