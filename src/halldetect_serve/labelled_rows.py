"""Reviewed reports as a labelled dataset: what people decided, as `jsonl:PATH` of the evaluation.

A claim that a person decided on has a label: hallucinated if the person agrees that the source
does not support it, or disagrees that it does. Claims that could not be checked get none.
"""

from __future__ import annotations

from typing import Any

from halldetect.report import ClaimReport, Report, Status
from halldetect_serve.storage.report_store import Review, StoredReport

AGREE, DISAGREE = "agree", "disagree"


def labelled_row(stored: StoredReport) -> dict[str, Any] | None:
    """Return a reviewed report as a row of a labelled dataset; None if it has no label.

    The response is hallucinated if one of its claims is. It is faithful only if every claim of the
    report was decided, and none is hallucinated; anything else leaves it without a label.

    Args:
        stored: a report with its review.
    """
    if stored.review is None or not stored.review.decisions:
        return None
    report = Report.from_json(stored.json)
    labels = claim_labels(report, stored.review)
    if not any(labels.values()) and len(labels) < len(report.claims):
        return None
    return {
        "id": stored.id,
        "source": list(report.documents),
        "response": report.response,
        "question": report.question,
        "hallucinated": any(labels.values()),
        "sentences": [
            [_text(report, report.claims[number - 1]), wrong] for number, wrong in labels.items()
        ],
        "verdict": str(report.verdict),
        "note": stored.review.note,
        "reviewer": stored.review.reviewer,
    }


def claim_labels(report: Report, review: Review) -> dict[int, bool]:
    """Return by number of the claim whether it is hallucinated, for the claims with a label.

    Args:
        report: the report.
        review: what a person said of it.
    """
    labels = {}
    for number, decision in sorted(review.decisions.items()):
        if not 1 <= number <= len(report.claims):
            continue
        status = report.claims[number - 1].status
        if status in (Status.SUPPORTED, Status.CONTRADICTED, Status.UNSUPPORTED):
            labels[number] = (status is not Status.SUPPORTED) == (decision == AGREE)
    return labels


def _text(report: Report, claim: ClaimReport) -> str:
    return claim.text if claim.span is None else claim.span.cut(report.response)
