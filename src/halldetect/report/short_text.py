"""The report in a few lines, for failed assertions, logs and the reasons of frameworks."""

from __future__ import annotations

from halldetect.report.passages import Passages, ShownClaim, shorten, shown_claims
from halldetect.report.phrases import one_line, score_line, summary
from halldetect.report.values import ClaimReport, Contents, Status

_MAX_CLAIM = 300
_MAX_PASSAGE = 200


def short(report: Contents) -> str:
    """Return the verdict in a line, then each claim that is not supported with its passage."""
    score = "" if report.score is None else f" ({score_line(report)})"
    items = shown_claims(report, _MAX_PASSAGE)
    lines = [_line(item) for item in items if item.claim.status is not Status.SUPPORTED]
    return "\n".join([f"{report.verdict}{score}. {summary(report)}", *lines])


def claim_line(report: Contents, claim: ClaimReport, passages: Passages | None = None) -> str:
    """Return a claim of a report, its state and its passage on one line."""
    return _line((passages or Passages(report)).show(0, claim, _MAX_PASSAGE))


def _line(item: ShownClaim) -> str:
    start = f"{item.claim.status}: “{shorten(one_line(item.claim.text), '', _MAX_CLAIM)}”"
    if item.span is None:
        return f"{start} ({item.why})"
    where = f" ({item.where})" if item.where else ""
    return f"{start} {item.label}{where}: “{item.quote}”"
