"""A RAGAS metric: `await Groundedness().ascore(response=..., retrieved_contexts=[...])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragas.metrics import MetricResult
from ragas.metrics.collections.base import BaseMetric

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness


class Groundedness(BaseMetric):
    """Faithfulness of a response to its retrieved contexts, from 0 to 1.

    A response that could not be checked has the value None and a reason.

    Args:
        name: name of the metric in results.
        detector: the detector to use; the default one if None.
    """

    def __init__(self, name: str = "groundedness", detector: Detector | None = None) -> None:
        super().__init__(name=name)
        self._checker = Checker(detector)

    async def ascore(
        self,
        response: str | None = None,
        retrieved_contexts: Sequence[str] | None = None,
        user_input: str | None = None,
        **kwargs: Any,
    ) -> MetricResult:
        """Check one response.

        Args:
            response: the text to check.
            retrieved_contexts: the texts it should be faithful to.
            user_input: the question; an answer that refers to it is judged with it.
        """
        report = await self._checker.check_async(retrieved_contexts, response, user_input)
        return MetricResult(value=faithfulness(report), reason=str(report))
