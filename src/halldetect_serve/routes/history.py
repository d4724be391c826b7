"""Routes of the stored reports and their reviews."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from halldetect.report import Report, Status, Verdict
from halldetect_serve.context import Context, token_name
from halldetect_serve.error_responses import service_error
from halldetect_serve.rendering import report_file, report_tree
from halldetect_serve.report_store import StoredReport, iso_time
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
_TEXT = {"schema": {"type": "string"}}
_FILES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "pdf": "application/pdf",
}
# The page of a report has its own policy; the sandbox isolates it from this origin.
_SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"


@router.get("/v1/reports", response_model=dict[str, Any])
async def listing(context: Context, query: Annotated[ListQuery, Query()]) -> object:
    """List stored reports, the newest first."""
    store = context.require_reports()
    return await run_sync(store.list_reports, query.limit, query.before, query)


@router.delete("/v1/reports", response_model=dict[str, int])
async def clear(context: Context, query: Annotated[DeleteQuery, Query()]) -> object:
    """Delete every report that the query selects permanently; `all=true` selects all of them."""
    if query.is_empty != (query.all is not None):
        message = "name the reports by a condition, or say all=true without any condition"
        raise service_error("invalid_request", message)
    return {"deleted": await run_sync(context.require_reports().delete_all, query)}


@router.get(
    "/v1/reports/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": _TEXT}}},
)
async def export(context: Context, query: Annotated[ExportQuery, Query()]) -> Response:
    """Export the selected reports, one JSON object per line.

    `reports` gives whole reports with their reviews, `labelled` reviewed reports as a labelled
    dataset that `halldetect bench` reads (`jsonl:FILE`).
    """
    stored = context.require_reports().each(query)
    rows = map(_report_line if query.form == "reports" else labelled_row, stored)
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
async def review(id: Id, context: Context) -> object:
    """Return the review of a report."""
    stored = await run_sync(context.require_reports().get, id)
    return stored.review or {}


@router.post("/v1/reports/{id}/review", response_model=ReviewAnswer)
async def set_review(id: Id, body: ReviewRequest, context: Context, request: Request) -> object:
    """Store a note and decisions on claims; they replace the previous review."""
    store = context.require_reports()
    stored = await run_sync(store.get, id)
    given = ReviewAnswer(**body.model_dump(), reviewer=token_name(request))
    report = await run_sync(Report.from_json, stored.json)
    if wrong := [claim for claim in given.by_claim if claim > len(report.claims)]:
        raise service_error("invalid_request", f"decisions: the report has no claim {wrong[0]}")
    given.verdict = _review_verdict(report, given.by_claim)
    await run_sync(store.set_review, id, given)
    return (await run_sync(store.get, id)).review


@router.get("/v1/reports/summary", response_model=dict[str, Any])
async def summary(context: Context, query: Annotated[SummaryQuery, Query()]) -> object:
    """Return counts and the hallucination rate over the reports of the last days."""
    return await run_sync(context.require_reports().summary, query.days)


@router.get(
    "/v1/reports/{id}.{form}",
    response_class=Response,
    responses={
        200: {"content": {kind: {"schema": {"type": "string"}} for kind in _FILES.values()}}
    },
)
async def as_file(id: Id, form: Literal["html", "md", "pdf"], context: Context) -> Response:
    """Return a report as a self-contained HTML page, as Markdown, or as an audit sheet in PDF."""
    stored = await run_sync(context.require_reports().get, id)
    body = await run_sync(report_file, stored, form)
    response = Response(body, media_type=_FILES[form])
    if form == "html":
        response.headers["Content-Security-Policy"] = _SANDBOX
    return response


@router.get("/v1/reports/{id}/view", response_model=dict[str, Any])
async def view(id: Id, context: Context) -> object:
    """Return the view of a report as a tree of elements, as the page builds it."""
    stored = await run_sync(context.require_reports().get, id)
    shown = await run_sync(lambda: report_tree(Report.from_json(stored.json)))
    return {"id": id, "created": iso_time(stored.created), "view": shown}


@router.get("/v1/reports/{id}", response_model=Report)
async def report(id: Id, context: Context) -> Response:
    """Return a report as JSON."""
    stored = await run_sync(context.require_reports().get, id)
    return Response(stored.json.encode("utf-8", "replace"), media_type="application/json")


@router.delete("/v1/reports/{id}", status_code=204, response_class=Response)
async def delete(id: Id, context: Context) -> Response:
    """Delete a report permanently."""
    await run_sync(context.require_reports().delete, id)
    return Response(status_code=204)
