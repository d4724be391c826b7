"""A TruLens metric: `Metric(implementation=groundedness(), selectors={...})`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trulens.core.metric.metric import SkipEval

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness, metadata


def groundedness(
    detector: Detector | None = None,
) -> Callable[[Any, str], tuple[float, dict[str, Any]]]:
    """Return a metric function of source and statement that gives the score and the findings.

    A statement that cannot be checked raises SkipEval, so TruLens leaves it out of the mean.
    """
    checker = Checker(detector)

    def groundedness(source: Any, statement: str) -> tuple[float, dict[str, Any]]:
        report = checker.check(source, statement)
        if (score := faithfulness(report)) is None:
            raise SkipEval(str(report))
        return score, {**metadata(report), "reason": str(report)}

    return groundedness
