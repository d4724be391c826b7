"""The report in a few lines, for failed assertions, logs and the reasons of frameworks."""

from __future__ import annotations

from halldetect.render.passages import Passages, shorten
from halldetect.render.phrases import (
    STATE_MEANING,
    document_name,
    evidence_label,
    numbered,
    one_line,
    score_line,
    summary,
)
from halldetect.report import ClaimReport, Report, Status

_MAX_CLAIM = 300
_MAX_PASSAGE = 200


def short(report: Report) -> str:
    """Return the verdict in a line, then each claim that is not supported with its passage."""
    score = "" if report.score is None else f" ({score_line(report)})"
    passages = Passages(report)
    lines = [
        claim_line(report, claim, passages)
        for _, claim in numbered(report)
        if claim.status is not Status.SUPPORTED
    ]
    return "\n".join([f"{report.verdict}{score}. {summary(report)}", *lines])


def claim_line(report: Report, claim: ClaimReport, passages: Passages | None = None) -> str:
    """Return a claim, its state and its passage on one line.

    Args:
        report: the report of the claim.
        claim: one of its claims.
        passages: reads the documents once for several claims.
    """
    text = shorten(one_line(claim.text), "", _MAX_CLAIM)
    evidence = claim.proof
    if evidence is None:
        why = one_line(claim.reason or STATE_MEANING[claim.status])
        return f"{claim.status}: “{text}” ({why})"
    quote = one_line((passages or Passages(report)).quote(claim, _MAX_PASSAGE))
    name = document_name(report, evidence.document)
    where = f" ({name})" if len(report.documents) > 1 or report.document_names else ""
    return f"{claim.status}: “{text}” {evidence_label(claim)}{where}: “{quote}”"
