"""A Haystack component, with the inputs and outputs of its FaithfulnessEvaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack import component, default_to_dict

from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness, metadata


@component
class GroundednessEvaluator:
    """Faithfulness of answers to their contexts.

    It can be saved with a pipeline, except if its detector uses models passed in as objects.
    """

    def __init__(
        self, detector: Detector | None = None, configuration: dict[str, Any] | None = None
    ) -> None:
        """Take a detector, or the saved configuration of one."""
        if configuration is not None:
            detector = Detector(config=Configuration.from_dict(configuration))
        self._checker = Checker(detector)

    def to_dict(self) -> dict[str, Any]:
        """Return the component in the form that Haystack saves."""
        options = self._checker.detector.configuration.to_dict()
        return dict(default_to_dict(self, configuration=options))

    @component.output_types(
        score=float | None, individual_scores=list[float | None], results=list[dict[str, Any]]
    )
    def run(
        self,
        contexts: list[list[str]],
        predicted_answers: list[str],
        questions: list[str] | None = None,
    ) -> dict[str, Any]:
        """Check each answer against its contexts, with its question if it refers to one.

        The `status` of a result is "evaluated", or "error" if the answer could not be checked. Such
        a result has no score and is not part of the mean. Without any score the mean is `None`.
        """
        asked: Sequence[str | None] = questions or [None] * len(predicted_answers)
        results = []
        for source, answer, question in zip(contexts, predicted_answers, asked, strict=True):
            report = self._checker.check(source, answer, question)
            score = faithfulness(report)
            status = "error" if score is None else "evaluated"
            results.append(
                {**metadata(report), "score": score, "status": status, "reason": str(report)}
            )
        scores = [result["score"] for result in results]
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if known else None
        return {"score": mean, "individual_scores": scores, "results": results}
