"""OpenTelemetry: reports as `gen_ai.evaluation.result` events, and metrics.

Callers emit events with `emit(report)` inside the span of the response. The event goes through the
Logs API, whose records carry the current trace context. Without a configured OpenTelemetry SDK,
nothing is emitted.
The names follow the semantic conventions for generative AI, which are experimental.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from opentelemetry import metrics
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.context import Context

from halldetect import __version__
from halldetect.integrations.checker import faithfulness
from halldetect.report import Report, Status, Verdict
from halldetect.report.short_text import claim_line

EVENT = "gen_ai.evaluation.result"
NAME = "halldetect.groundedness"
_SCOPE = "halldetect"


def emit(
    report: Report,
    *,
    response_id: str | None = None,
    per_claim: bool = False,
    context: Context | None = None,
) -> None:
    """Emit the event of a report, with `per_claim` also one for each claim, and count it.

    `response_id` is the id of the response in the span of the model call.
    """
    events: list[tuple[str, Verdict | Status, float | None, str]] = [
        (NAME, report.verdict, faithfulness(report), str(report))
    ]
    for claim in report.claims if per_claim else ():
        said = claim_line(report, claim)
        events.append((f"{NAME}.claim", claim.status, claim.support, said))
    for name, label, value, explanation in events:
        attributes: dict[str, Any] = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.label": label.value,
            "gen_ai.evaluation.explanation": explanation,
        }
        if response_id is not None:
            attributes["gen_ai.response.id"] = response_id
        unchecked = label in (Verdict.UNCHECKABLE, Status.UNCHECKABLE)
        if unchecked:
            attributes["error.type"] = "uncheckable"
        elif value is not None:
            attributes["gen_ai.evaluation.score.value"] = value
        record = LogRecord(
            context=context,
            event_name=EVENT,
            severity_number=SeverityNumber.WARN if unchecked else SeverityNumber.INFO,
            attributes=attributes,
        )
        get_logger(_SCOPE, __version__).emit(record)
    checks, seconds = _instruments()
    checks.add(1, {"halldetect.verdict": report.verdict.value})
    spent = sum(report.cost.seconds.values())
    seconds.record(spent, {"halldetect.verdict": report.verdict.value})


@cache
def _instruments() -> tuple[metrics.Counter, metrics.Histogram]:
    meter = metrics.get_meter(_SCOPE, __version__)
    checks = meter.create_counter("halldetect.checks", "{check}", "Checks by verdict")
    seconds = meter.create_histogram("halldetect.check.duration", "s", "Time of a check")
    return checks, seconds
