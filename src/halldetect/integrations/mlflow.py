"""An MLflow scorer: `mlflow.genai.evaluate(data=..., scorers=[Groundedness()])`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mlflow.entities import AssessmentError, Feedback, SpanType, Trace
from mlflow.genai.scorers import Scorer
from pydantic import PrivateAttr

from halldetect.detector import Detector
from halldetect.integrations.checker import SOURCE_NAMES, Checker, faithfulness, first_of
from halldetect.report import Status
from halldetect.report.short_text import claim_line

_ANSWER_NAMES = ("response", "answer", "output", "content")


class Groundedness(Scorer):
    """Faithfulness of outputs to their source, with one feedback per claim.

    The source is `context` (or `contexts`, `retrieved_contexts`, `source`, `sources`,
    `documents`) of the inputs or the outputs, else the results of the retriever and tool spans of
    the trace. An output that could not be checked gets a feedback with an error and no value.
    `per_claim` adds a feedback per claim (`groundedness/claim_1`, ...).
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
        """Check one row; the outputs are the text, or a mapping that has it."""
        source = first_of(inputs, SOURCE_NAMES) or first_of(outputs, SOURCE_NAMES)
        answer = first_of(outputs, _ANSWER_NAMES) if isinstance(outputs, Mapping) else outputs
        messages: list[dict[str, Any]] = []
        if not source and trace is not None:
            spans = trace.search_spans(span_type=SpanType.RETRIEVER)
            source = [span.outputs for span in spans]
            for span in trace.search_spans(span_type=SpanType.TOOL):
                messages += _messages(span)
        if messages:
            said = {"role": "assistant", "content": str(answer or "")}
            report = self._checker.check_answer([*messages, said], source)
        else:
            report = self._checker.check(source, answer)
        verdict = {"verdict": report.verdict.value}
        feedback = [_feedback(self.name, faithfulness(report), str(report), metadata=verdict)]
        for number, claim in enumerate(report.claims if self.per_claim else (), 1):
            value = None if claim.status is Status.UNCHECKABLE else claim.status.value
            name = f"{self.name}/claim_{number}"
            feedback.append(_feedback(name, value, claim_line(report, claim)))
        return feedback


def _messages(span: Any) -> list[dict[str, Any]]:
    """Return the call of a tool and its result."""
    call = {"id": span.span_id, "name": span.name, "args": span.inputs}
    result = (
        span.outputs if isinstance(span.outputs, str) else json.dumps(span.outputs, default=str)
    )
    answer = {"role": "tool", "tool_call_id": span.span_id, "content": result}
    return [{"role": "assistant", "tool_calls": [call]}, answer]


def _feedback(
    name: str, value: float | str | None, said: str, metadata: dict[str, str] | None = None
) -> Feedback:
    error = AssessmentError(error_code="UNCHECKABLE", error_message=said) if value is None else None
    return Feedback(name=name, value=value, error=error, rationale=said, metadata=metadata)
