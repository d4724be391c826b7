"""Reports of recent checks, kept in memory so that the same check is not done twice."""

from __future__ import annotations

from collections import OrderedDict

from halldetect.serve.worker.wire import FinishedReport


class ReportMemory:
    """Holds the most recently used reports.

    Args:
        limit: bytes of reports to hold; 0 holds none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reports: OrderedDict[bytes, FinishedReport] = OrderedDict()
        self._bytes = 0
        self.hits = 0

    def get(self, key: bytes) -> FinishedReport | None:
        """Return the report with that key, if it is held."""
        report = self._reports.get(key)
        if report is not None:
            self._reports.move_to_end(key)
            self.hits += 1
        return report

    def put(self, key: bytes, report: FinishedReport) -> None:
        """Hold a report, and drop those that were not used for longest."""
        if len(report.json) > self._limit or key in self._reports:
            return
        self._reports[key] = report
        self._bytes += len(report.json)
        while self._bytes > self._limit:
            _, oldest = self._reports.popitem(last=False)
            self._bytes -= len(oldest.json)
