"""A RAGAS metric: `await Groundedness().ascore(response=..., retrieved_contexts=[...])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragas.metrics import MetricResult
from ragas.metrics.collections.base import BaseMetric

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness


class Groundedness(BaseMetric):
    """Faithfulness of a response to its contexts, from 0 to 1; None if it could not be checked."""

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
        """Check a response; an answer that refers to the question is judged with it."""
        report = await self._checker.check_async(retrieved_contexts, response, user_input)
        return MetricResult(value=faithfulness(report), reason=str(report))
