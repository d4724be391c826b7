"""Routes of the stored reports and their reviews; plain functions, which run in threads."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from halldetect.report import Report, Status, Verdict
from halldetect_serve.context import Context, token_name
from halldetect_serve.error_responses import service_error
from halldetect_serve.rendering import report_file, report_tree
from halldetect_serve.report_store import ReportStore, StoredReport, iso_time
from halldetect_serve.routes import StrictJsonRoute
from halldetect_serve.schemas import (
    DeleteQuery,
    ExportQuery,
    ListQuery,
    ReviewAnswer,
    ReviewRequest,
    SummaryQuery,
)

router = APIRouter(tags=["reports"], route_class=StrictJsonRoute)
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]


def _store(context: Context) -> ReportStore:
    return context.require_reports()


Store = Annotated[ReportStore, Depends(_store)]


def _stored(id: Id, store: Store) -> StoredReport:
    return store.get(id)


Stored = Annotated[StoredReport, Depends(_stored)]
_TEXT = {"schema": {"type": "string"}}
_FILES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "pdf": "application/pdf",
}
# The page of a report has its own policy; the sandbox isolates it from this origin.
_SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"


@router.get("/v1/reports", response_model=dict[str, Any])
def listing(store: Store, query: Annotated[ListQuery, Query()]) -> object:
    """List stored reports, the newest first."""
    return store.list_reports(query.limit, query.before, query)


@router.delete("/v1/reports", response_model=dict[str, int])
def clear(store: Store, query: Annotated[DeleteQuery, Query()]) -> object:
    """Delete every report that the query selects permanently; `all=true` selects all of them."""
    if query.is_empty != (query.all is not None):
        message = "name the reports by a condition, or say all=true without any condition"
        raise service_error("invalid_request", message)
    return {"deleted": store.delete_all(query)}


@router.get(
    "/v1/reports/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": _TEXT}}},
)
def export(store: Store, query: Annotated[ExportQuery, Query()]) -> Response:
    """Export the selected reports, one JSON object per line.

    `reports` gives whole reports with their reviews, `labelled` reviewed reports as a labelled
    dataset that `halldetect bench` reads (`jsonl:FILE`).
    """
    rows = map(_report_line if query.form == "reports" else labelled_row, store.each(query))
    name = f'attachment; filename="halldetect-{query.form}.jsonl"'
    return StreamingResponse(
        (f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows if row),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": name},
    )


def _report_line(stored: StoredReport) -> str:
    review = None if stored.review is None else stored.review.model_dump()
    facts = {"id": stored.id, "created": iso_time(stored.created), "review": review}
    return f'{json.dumps(facts)[:-1]},"report":{stored.json}}}'


def labelled_row(stored: StoredReport) -> dict[str, Any] | None:
    """Return a reviewed report as a row of a labelled dataset; None if it has no label."""
    if stored.review is None:
        return None
    report, decisions = Report.from_json(stored.json), stored.review.by_claim
    verdict = _review_verdict(report, decisions)
    if verdict is None:
        return None
    sentences = []
    for number, wrong in _labels(report, decisions).items():
        claim = report.claims[number - 1]
        text = claim.text if claim.span is None else claim.span.cut(report.response)
        sentences.append([text, wrong])
    return {
        "id": stored.id,
        "source": list(report.documents),
        "response": report.response,
        "question": report.question,
        "hallucinated": verdict is Verdict.HALLUCINATED,
        "sentences": sentences,
        "verdict": str(report.verdict),
        "note": stored.review.note,
        "reviewer": stored.review.reviewer,
    }


def _labels(report: Report, decisions: dict[int, str]) -> dict[int, bool]:
    """Return by number which of the claims that a person decided on are hallucinated.

    That is a claim of which the person agrees that the source does not support it, or disagrees
    that it does.
    """
    labels = {}
    for number, decision in decisions.items():
        status = report.claims[number - 1].status
        if status in (Status.SUPPORTED, Status.CONTRADICTED, Status.UNSUPPORTED):
            labels[number] = (status is not Status.SUPPORTED) == (decision == "agree")
    return labels


def _review_verdict(report: Report, decisions: dict[int, str]) -> Verdict | None:
    """Return hallucinated if a claim is, faithful if every claim was decided on, else None."""
    labels = _labels(report, decisions)
    if any(labels.values()):
        return Verdict.HALLUCINATED
    return Verdict.FAITHFUL if labels and len(labels) == len(report.claims) else None


@router.get("/v1/reports/{id}/review", response_model=ReviewAnswer)
def review(stored: Stored) -> object:
    """Return the review of a report."""
    return stored.review or {}


@router.post("/v1/reports/{id}/review", response_model=ReviewAnswer)
def set_review(stored: Stored, body: ReviewRequest, store: Store, request: Request) -> object:
    """Store a note and decisions on claims; they replace the previous review."""
    given = ReviewAnswer(**body.model_dump(), reviewer=token_name(request))
    report = Report.from_json(stored.json)
    if wrong := [claim for claim in given.by_claim if claim > len(report.claims)]:
        raise service_error("invalid_request", f"decisions: the report has no claim {wrong[0]}")
    given.verdict = _review_verdict(report, given.by_claim)
    store.set_review(stored.id, given)
    return store.get(stored.id).review


@router.get("/v1/reports/summary", response_model=dict[str, Any])
def summary(store: Store, query: Annotated[SummaryQuery, Query()]) -> object:
    """Return counts and the hallucination rate over the reports of the last days."""
    return store.summary(query.days)


@router.get(
    "/v1/reports/{id}.{form}",
    response_class=Response,
    responses={200: {"content": dict.fromkeys(_FILES.values(), _TEXT)}},
)
def as_file(stored: Stored, form: Literal["html", "md", "pdf"]) -> Response:
    """Return a report as a self-contained HTML page, as Markdown, or as an audit sheet in PDF."""
    response = Response(report_file(stored, form), media_type=_FILES[form])
    if form == "html":
        response.headers["Content-Security-Policy"] = _SANDBOX
    return response


@router.get("/v1/reports/{id}/view", response_model=dict[str, Any])
def view(stored: Stored) -> object:
    """Return the view of a report as a tree of elements, as the page builds it."""
    shown = report_tree(Report.from_json(stored.json))
    return {"id": stored.id, "created": iso_time(stored.created), "view": shown}


@router.get("/v1/reports/{id}", response_model=Report)
def report(stored: Stored) -> Response:
    """Return a report as JSON."""
    return Response(stored.json.encode("utf-8", "replace"), media_type="application/json")


@router.delete("/v1/reports/{id}", status_code=204, response_class=Response)
def delete(id: Id, store: Store) -> Response:
    """Delete a report permanently."""
    store.delete(id)
    return Response(status_code=204)
