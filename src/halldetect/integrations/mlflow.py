"""An MLflow scorer: `mlflow.genai.evaluate(data=..., scorers=[Groundedness()])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlflow.entities import AssessmentError, Feedback, SpanType, Trace
from mlflow.genai.scorers import Scorer
from pydantic import PrivateAttr

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness
from halldetect.render.short import claim_line
from halldetect.report import Report, Status

_SOURCE_KEYS = ("context", "contexts", "retrieved_contexts", "source", "sources")
_ANSWER_KEYS = ("response", "answer", "output", "content")


class Groundedness(Scorer):
    """Faithfulness of outputs to their source, with one feedback per claim.

    The source is `context` (or `contexts`, `retrieved_contexts`, `source`, `sources`) of the
    inputs or the outputs, else the results of the retriever spans of the trace. An output that
    could not be checked gets a feedback with an error and no value.

    Args:
        detector: the detector to use; the default one if None.
        per_claim: whether to add a feedback per claim (`groundedness/claim_1`, ...).
    """

    name: str = "groundedness"
    per_claim: bool = True
    _checker: Checker = PrivateAttr()

    def __init__(self, detector: Detector | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._checker = Checker(detector)

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, trace: Trace | None = None
    ) -> list[Feedback]:
        """Check one row.

        Args:
            inputs: inputs of the row, perhaps with the source.
            outputs: the text to check, or a mapping that holds it and perhaps the source.
            trace: trace of the row.
        """
        source = _first(inputs, _SOURCE_KEYS) or _first(outputs, _SOURCE_KEYS) or _retrieved(trace)
        answer = _first(outputs, _ANSWER_KEYS) if isinstance(outputs, Mapping) else outputs
        report = self._checker.check(source, answer)
        feedback = [self._overall(report)]
        if self.per_claim:
            for number, claim in enumerate(report.claims, 1):
                unchecked = claim.status is Status.UNCHECKABLE
                said = claim_line(report, claim)
                feedback.append(
                    Feedback(
                        name=f"{self.name}/claim_{number}",
                        value=None if unchecked else claim.status.value,
                        error=_error(said) if unchecked else None,
                        rationale=said,
                    )
                )
        return feedback

    def _overall(self, report: Report) -> Feedback:
        value = faithfulness(report)
        return Feedback(
            name=self.name,
            value=value,
            error=_error(str(report)) if value is None else None,
            rationale=str(report),
            metadata={"verdict": report.verdict.value},
        )


def _error(message: str) -> AssessmentError:
    return AssessmentError(error_code="UNCHECKABLE", error_message=message)


def _first(values: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(values, Mapping):
        return None
    return next((values[key] for key in keys if values.get(key)), None)


def _retrieved(trace: Trace | None) -> list[Any]:
    spans = [] if trace is None else trace.search_spans(span_type=SpanType.RETRIEVER)
    return [span.outputs for span in spans]
