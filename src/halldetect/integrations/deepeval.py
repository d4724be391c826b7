"""A DeepEval metric: `assert_test(case, [GroundednessMetric()])`."""

from __future__ import annotations

import asyncio
from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness
from halldetect.report import Report


class GroundednessMetric(BaseMetric):
    """Faithfulness of `actual_output` to `retrieval_context`, or else to `context`.

    A test case passes above the threshold (1 is faithful). One that cannot be checked has no score
    and an error, which DeepEval counts as failed.
    """

    def __init__(self, threshold: float = 0.5, detector: Detector | None = None) -> None:
        self.threshold = threshold
        self.async_mode = True
        self.report: Report | None = None
        self._checker = Checker(detector)

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Check a test case; return its score, or None if it could not be checked."""
        source = test_case.retrieval_context or test_case.context
        self.report = self._checker.check(source, test_case.actual_output, test_case.input)
        self.score, self.reason = faithfulness(self.report), str(self.report)
        self.error = self.reason if self.score is None else None
        self.success = self.score is not None and self.score > self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Check a test case as `measure` does."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool:
        """Return True if the last test case is faithful."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        """Return the name for DeepEval's tables."""
        return "HallDetect groundedness"
