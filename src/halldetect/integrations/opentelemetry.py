"""OpenTelemetry: reports as `gen_ai.evaluation.result` events, and metrics.

Callers emit events with `emit(report)` inside the span of the response, or use a
`TracedDetector` in place of a detector. The event goes through the Logs API, whose records carry
the current trace context. Without a configured OpenTelemetry SDK, nothing is emitted.
The names follow the semantic conventions for generative AI, which are experimental.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.context import Context, get_current

from halldetect import __version__
from halldetect.detector import Detector
from halldetect.inputs import Source
from halldetect.integrations.checker import faithfulness
from halldetect.render.short import claim_line
from halldetect.report import Report, Status, Verdict

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram

EVENT = "gen_ai.evaluation.result"
NAME = "halldetect.groundedness"
_SCOPE = "halldetect"


class TracedDetector(Detector):
    """A detector that also emits the report of each `check`."""

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """Check one response as `Detector` does, and emit an event and metrics."""
        started = perf_counter()
        report = super().check(source, response, question=question)
        emit(report)
        _instruments()[1].record(perf_counter() - started, {"halldetect.verdict": report.verdict})
        return report


def emit(
    report: Report,
    *,
    response_id: str | None = None,
    per_claim: bool = False,
    context: Context | None = None,
) -> None:
    """Emit the event of a report, and count it.

    Args:
        report: the report.
        response_id: the id of the response in the span of the model call.
        per_claim: whether to emit an event for each claim too.
        context: the context of the event's span; default: the current one.
    """
    value = faithfulness(report)
    common: dict[str, Any] = {} if response_id is None else {"gen_ai.response.id": response_id}
    _event(
        {**common, "gen_ai.evaluation.name": NAME},
        value,
        report.verdict,
        str(report),
        report.verdict is Verdict.UNCHECKABLE,
        context,
    )
    if per_claim:
        for claim in report.claims:
            _event(
                {**common, "gen_ai.evaluation.name": f"{NAME}.claim"},
                claim.support,
                claim.status,
                claim_line(report, claim),
                claim.status is Status.UNCHECKABLE,
                context,
            )
    _instruments()[0].add(1, {"halldetect.verdict": report.verdict.value})


def _event(
    attributes: dict[str, Any],
    value: float | None,
    label: str,
    explanation: str,
    unchecked: bool,
    context: Context | None,
) -> None:
    attributes["gen_ai.evaluation.score.label"] = str(label)
    attributes["gen_ai.evaluation.explanation"] = explanation
    if unchecked:
        attributes["error.type"] = "uncheckable"
    elif value is not None:
        attributes["gen_ai.evaluation.score.value"] = value
    get_logger(_SCOPE, __version__).emit(
        LogRecord(
            context=get_current() if context is None else context,
            event_name=EVENT,
            severity_number=SeverityNumber.WARN if unchecked else SeverityNumber.INFO,
            attributes=attributes,
        )
    )


@cache
def _instruments() -> tuple[Counter, Histogram]:
    meter = metrics.get_meter(_SCOPE, __version__)
    checks = meter.create_counter("halldetect.checks", "{check}", "Checks by verdict")
    seconds = meter.create_histogram("halldetect.check.duration", "s", "Time of a check")
    return checks, seconds
