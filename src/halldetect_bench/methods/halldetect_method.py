"""`halldetect`: this package's detector as a method of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.report import Report
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored


class HallDetect:
    """The detector, with any extractor, verifier, windows and scoring."""

    name: str

    def __init__(self, detector: Detector, name: str = "halldetect") -> None:
        """detector: checks the rows. name: of the method in tables."""
        self.detector = detector
        self.name = name

    @property
    def description(self) -> dict[str, Any]:
        """The method's name, the configuration and the models' descriptions."""
        return {
            "name": self.name,
            "configuration": self.detector.configuration.to_dict(),
            "extractor": self.detector.extractor.description,
            "verifier": self.detector.verifier.description,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Check all rows together.

        rows: the rows to score.
        """
        prepare = getattr(self.detector.extractor, "prepare", None)
        if prepare is not None:
            prepare([row.response for row in rows])
        pairs = [Pair(_source(row), row.response, row.question) for row in rows]
        return [_scored(report) for report in self.detector.check_many(pairs)]


def _source(row: Row) -> str | list[str]:
    return row.source if isinstance(row.source, str) else list(row.source)


def _scored(report: Report) -> Scored:
    claims = tuple(
        (claim.text, None if claim.support is None else 1 - claim.support)
        for claim in report.claims
    )
    return Scored(report.score, report.reason, claims, report.cost)
