"""Routes of the stored reports."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from halldetect.errors import InputError, MissingExtra
from halldetect.render.html import CheckRecord
from halldetect.report import Report, Status, Verdict
from halldetect_serve.answer_schemas import Deleted, ReportList, ReviewAnswer, Summary, View
from halldetect_serve.dependencies import ANONYMOUS, Context
from halldetect_serve.error_responses import service_error
from halldetect_serve.labelled_rows import labelled_row
from halldetect_serve.request_schemas import PdfRequest, ReviewRequest
from halldetect_serve.storage.access_tokens import AccessToken
from halldetect_serve.storage.report_filter import ReportFilter
from halldetect_serve.storage.report_store import DAY_SECONDS, Review, StoredReport
from halldetect_serve.strict_json import StrictJsonRoute

router = APIRouter(tags=["reports"], route_class=StrictJsonRoute)
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]
_CURSOR = r"^[0-9]{1,12}(\.[0-9]{1,9})?~[A-Za-z0-9_-]{1,64}$"
_PDF_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}
}
_LINES_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}
# Laying out a longer report takes the time of many checks.
_MAX_PDF_CLAIMS = 500
_MAX_PDF_RESPONSE = 100_000
# The page of a report has a policy of its own, and the sandbox keeps it off this origin.
_SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"


def _moment(day: date | None, *, after: bool = False) -> float | None:
    """The start of a day in UTC, or its end, in seconds since the epoch."""
    if day is None:
        return None
    start = datetime.combine(day, datetime.min.time(), UTC).timestamp()
    return start + DAY_SECONDS if after else start


def wanted_reports(
    id: Annotated[list[Id], Query(max_length=500, description="Only these.")] = [],  # noqa: B006
    verdict: Verdict | None = None,
    state: Annotated[Status | None, Query(description="With a claim in this state.")] = None,
    search: Annotated[
        str | None, Query(max_length=500, description="In response, question or note.")
    ] = None,
    since: Annotated[date | None, Query(description="First day, in UTC.")] = None,
    until: Annotated[date | None, Query(description="Last day, in UTC.")] = None,
    reviewed: bool | None = None,
) -> ReportFilter:
    """The reports that the query of a request names."""
    return ReportFilter(
        ids=tuple(id),
        verdict=None if verdict is None else verdict.value,
        state=None if state is None else state.value,
        search=search or None,
        since=_moment(since),
        until=_moment(until, after=True),
        reviewed=reviewed,
    )


Wanted = Annotated[ReportFilter, Depends(wanted_reports)]


@router.get("/v1/reports", response_model=ReportList)
async def listing(
    context: Context,
    wanted: Wanted,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(pattern=_CURSOR)] = None,
) -> object:
    """Stored reports, the newest first."""
    return await run_sync(context.require_reports().list_reports, limit, before, wanted)


@router.delete("/v1/reports", response_model=Deleted)
async def clear(context: Context, wanted: Wanted) -> object:
    """Delete every report that the query names for good; without a query, all of them."""
    return {"deleted": await run_sync(context.require_reports().delete_all, wanted)}


@router.get("/v1/reports/export", response_class=StreamingResponse, responses=_LINES_ANSWER)
async def export(
    context: Context, wanted: Wanted, form: Literal["reports", "labelled"] = "reports"
) -> Response:
    """The reports that the query names, one JSON object per line.

    `reports` are whole reports with their reviews. `labelled` are those that people reviewed, as a
    labelled dataset that `halldetect bench` reads (`jsonl:FILE`).
    """
    stored = context.require_reports().each(wanted)
    lines = map(_report_line if form == "reports" else _labelled_line, stored)
    name = f'attachment; filename="halldetect-{form}.jsonl"'
    return StreamingResponse(
        filter(None, lines),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": name},
    )


def _report_line(stored: StoredReport) -> str:
    facts = {
        "id": stored.id,
        "created": datetime.fromtimestamp(stored.created, UTC).isoformat(),
        "review": None if stored.review is None else _review_answer(stored.review),
    }
    return f'{json.dumps(facts)[:-1]},"report":{stored.json}}}\n'


def _labelled_line(stored: StoredReport) -> str:
    row = labelled_row(stored)
    return "" if row is None else f"{json.dumps(row)}\n"


def _review_answer(review: Review) -> dict[str, Any]:
    return {
        "note": review.note,
        "decisions": [
            {"claim": number, "decision": decision}
            for number, decision in sorted(review.decisions.items())
        ],
        "reviewer": review.reviewer,
        "updated": datetime.fromtimestamp(review.updated, UTC).isoformat(),
    }


@router.get("/v1/reports/{id}/review", response_model=ReviewAnswer)
async def review(id: Id, context: Context) -> object:
    """What was said of a report."""
    found = await run_sync(context.require_reports().review, id)
    if found is None:
        return {"note": "", "decisions": [], "reviewer": None, "updated": None}
    return _review_answer(found)


@router.post("/v1/reports/{id}/review", response_model=ReviewAnswer)
async def set_review(id: Id, body: ReviewRequest, context: Context, request: Request) -> object:
    """Store a note and decisions on claims, in place of what was said before."""
    store = context.require_reports()
    _, text = await run_sync(store.get, id)
    claims = len(json.loads(text)["claims"])
    if wrong := [item.claim for item in body.decisions if item.claim > claims]:
        raise service_error("invalid_request", f"decisions: the report has no claim {wrong[0]}")
    caller: AccessToken | None = request.scope.get("caller")
    made = Review(
        body.note,
        {item.claim: item.decision for item in body.decisions},
        None if caller is None or caller is ANONYMOUS else caller.name,
        time.time(),
    )
    await run_sync(store.set_review, id, made)
    return _review_answer(made)


@router.get("/v1/reports/summary", response_model=Summary)
async def summary(context: Context, days: Annotated[int, Query(ge=1, le=3660)] = 30) -> object:
    """Counts, rates and durations over the reports of the last days."""
    return await run_sync(context.require_reports().summary, days)


@router.get(
    "/v1/reports/{id}.html",
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def as_html(id: Id, context: Context) -> Response:
    """A report as one page that loads nothing."""
    from halldetect.render import html

    store = context.require_reports()
    created, text = await run_sync(store.get, id)
    record = _record(created, await run_sync(store.review, id))
    body = await run_sync(lambda: html(Report.from_json(text), record).encode("utf-8", "replace"))
    return Response(
        body, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _SANDBOX}
    )


@router.get("/v1/reports/{id}.pdf", responses=_PDF_ANSWER, response_class=Response)
async def as_pdf(id: Id, context: Context) -> Response:
    """A report as an audit sheet in PDF."""
    store = context.require_reports()
    created, text = await run_sync(store.get, id)
    record = _record(created, await run_sync(store.review, id))
    return await run_sync(lambda: _pdf_response(Report.from_json(text), record))


@router.post("/v1/reports/pdf", responses=_PDF_ANSWER, response_class=Response)
async def report_to_pdf(body: PdfRequest) -> Response:
    """A report that need not be stored, as an audit sheet in PDF; nothing is stored."""
    try:
        report = Report.from_dict(body.report)
    except InputError as error:
        raise service_error("invalid_request", f"report: {error}") from None
    record = CheckRecord(datetime.now(UTC), body.response_name)
    return await run_sync(lambda: _pdf_response(report, record))


def _record(created: float, said: Review | None) -> CheckRecord:
    """What the audit sheet says of a stored report, its review included."""
    checked_at = datetime.fromtimestamp(created, UTC)
    if said is None:
        return CheckRecord(checked_at)
    return CheckRecord(checked_at, None, said.decisions, said.note, said.reviewer)


def _pdf_response(report: Report, record: CheckRecord) -> Response:
    from halldetect.render import pdf

    if len(report.claims) > _MAX_PDF_CLAIMS or len(report.response) > _MAX_PDF_RESPONSE:
        raise service_error("too_large", "the report is too long for a PDF: use its HTML form")
    try:
        body = pdf(report, record)
    except MissingExtra as error:
        raise service_error("pdf_unavailable", str(error)) from None
    return Response(body, media_type="application/pdf")


@router.get(
    "/v1/reports/{id}.md",
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def as_markdown(id: Id, context: Context) -> Response:
    """A report as Markdown."""
    from halldetect.render import markdown

    _, text = await run_sync(context.require_reports().get, id)
    body = await run_sync(lambda: markdown(Report.from_json(text)).encode("utf-8", "replace"))
    return Response(body, media_type="text/markdown; charset=utf-8")


@router.get("/v1/reports/{id}/view", response_model=View)
async def view(id: Id, context: Context) -> object:
    """What the page needs to show a report."""
    from halldetect.render import payload

    created, text = await run_sync(context.require_reports().get, id)
    shown = await run_sync(lambda: payload(Report.from_json(text)))
    return {"id": id, "created": datetime.fromtimestamp(created, UTC).isoformat(), "view": shown}


@router.get("/v1/reports/{id}", response_model=Report)
async def report(id: Id, context: Context) -> Response:
    """A report as JSON."""
    _, text = await run_sync(context.require_reports().get, id)
    return Response(text.encode("utf-8", "replace"), media_type="application/json")


@router.delete("/v1/reports/{id}", status_code=204, response_class=Response)
async def delete(id: Id, context: Context) -> Response:
    """Delete a report for good."""
    await run_sync(context.require_reports().delete, id)
    return Response(status_code=204)
