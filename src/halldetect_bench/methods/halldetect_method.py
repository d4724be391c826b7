"""`halldetect`: this package's detector as a method of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

from halldetect import pipeline
from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.pair_state import PairState
from halldetect.report import Report
from halldetect.report.conclusion import conclude
from halldetect.scoring import score_claim, window_rule
from halldetect.verification.rounds import verify
from halldetect.verification.schedule import WholeSourceRule
from halldetect.verification.tasks import Task
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored


class HallDetect:
    """The detector, with any extractor, verifier, windows and scoring."""

    name: str

    def __init__(
        self, detector: Detector, name: str = "halldetect", *, explanations: bool = True
    ) -> None:
        """detector: checks the rows. name: of the method in tables.
        explanations: judge what no score rests on too: parts of failing claims, shorter proofs.
        """
        self.detector = detector
        self.name = name
        self._explanations = explanations

    @property
    def description(self) -> dict[str, Any]:
        """The method's name, the configuration, the rules and the models' descriptions."""
        detector = self.detector
        rule = window_rule(detector)
        return {
            "name": self.name,
            "configuration": detector.configuration.to_dict(),
            "extractor": detector.extractor.description,
            "verifier": detector.verifier.description,
            "calibration": asdict(detector.calibration),
            "threshold": detector.threshold,
            "rule": None if rule is None else rule.to_dict(),
            "explanations": self._explanations,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Check all rows together.

        rows: the rows to score.
        """
        prepare = getattr(self.detector.extractor, "prepare", None)
        if prepare is not None:
            prepare([row.response for row in rows])
        pairs = [Pair(_source(row), row.response, row.question) for row in rows]
        reports = self.detector.check_many(pairs) if self._explanations else self._scores(pairs)
        return [_scored(report) for report in reports]

    def _scores(self, pairs: Sequence[Pair]) -> list[Report]:
        """Reports with the scores that `check_many` gives, and without explanations."""
        detector = self.detector
        states = [PairState.of(pair, index) for index, pair in enumerate(pairs)]
        pipeline.begin(states, detector)
        todo = [state for state in states if state.problem is None]
        pipeline.cut_windows(todo, detector.configuration)
        rule = window_rule(detector)
        if isinstance(rule, WholeSourceRule):  # its short windows only show where to look
            rule = replace(rule, evidence_windows=0)
        tasks = [
            Task(state.extraction.claims, state.windows, state.texts.documents, finer=True)
            for state in todo
        ]
        started = perf_counter()
        results = verify(
            detector.verifier, tasks, truncate=detector.configuration.truncate, rule=rule
        )
        seconds = (perf_counter() - started) / max(1, len(todo))
        for state, judged in zip(todo, results, strict=True):
            state.verifier, state.judged = detector.verifier, judged
            state.seconds["verify"] = seconds
            scoring = detector.configuration.scoring
            state.claims = tuple(
                score_claim(item, scoring, detector.calibration) for item in judged
            )
        return [conclude(state, detector) for state in states]


def _source(row: Row) -> str | list[str]:
    return row.source if isinstance(row.source, str) else list(row.source)


def _scored(report: Report) -> Scored:
    claims = tuple(
        (claim.text, None if claim.support is None else 1 - claim.support)
        for claim in report.claims
    )
    return Scored(report.score, report.reason, claims, report.cost)
