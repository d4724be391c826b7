"""A TruLens metric: `Metric(implementation=groundedness(), selectors={...})`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trulens.core.metric.metric import SkipEval

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness, metadata

Groundedness = Callable[[Any, str], tuple[float, dict[str, Any]]]


def groundedness(detector: Detector | None = None) -> Groundedness:
    """Return a metric function of source and statement that gives the score and the findings.

    A statement that cannot be checked raises SkipEval, so TruLens leaves it out of the mean.

    Args:
        detector: the detector to use; the default one if None.
    """
    checker = Checker(detector)

    def groundedness(source: Any, statement: str) -> tuple[float, dict[str, Any]]:
        report = checker.check(source, statement)
        score = faithfulness(report)
        if score is None:
            raise SkipEval(str(report))
        return score, {**metadata(report), "reason": str(report)}

    return groundedness
