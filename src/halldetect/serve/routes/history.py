"""Routes of the stored reports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Response

from halldetect.errors import InputError, MissingExtra
from halldetect.report import Report, Verdict
from halldetect.serve.dependencies import Context
from halldetect.serve.error_responses import service_error
from halldetect.serve.schemas import Deleted, PdfRequest, ReportList, Summary, View

router = APIRouter(tags=["reports"])
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]
_CURSOR = r"^[0-9]{1,12}(\.[0-9]{1,9})?~[A-Za-z0-9_-]{1,64}$"
_PDF_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}
}
# Laying out a longer report takes the time of many checks.
_MAX_PDF_CLAIMS = 500
_MAX_PDF_RESPONSE = 100_000
# The page of a report has a policy of its own, and the sandbox keeps it off this origin.
_SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"


@router.get("/v1/reports", response_model=ReportList)
async def listing(
    context: Context,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(pattern=_CURSOR)] = None,
    verdict: Verdict | None = None,
) -> object:
    """Stored reports, the newest first."""
    wanted = None if verdict is None else verdict.value
    return await run_sync(context.require_reports().list_reports, limit, before, wanted)


@router.delete("/v1/reports", response_model=Deleted)
async def clear(context: Context) -> object:
    """Delete every report for good."""
    return {"deleted": await run_sync(context.require_reports().delete_all)}


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
    from halldetect.render import CheckRecord, html

    created, text = await run_sync(context.require_reports().get, id)
    record = CheckRecord(datetime.fromtimestamp(created, UTC))
    body = await run_sync(lambda: html(Report.from_json(text), record).encode("utf-8", "replace"))
    return Response(
        body, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _SANDBOX}
    )


@router.get("/v1/reports/{id}.pdf", responses=_PDF_ANSWER, response_class=Response)
async def as_pdf(id: Id, context: Context) -> Response:
    """A report as an audit sheet in PDF."""
    created, text = await run_sync(context.require_reports().get, id)
    checked_at = datetime.fromtimestamp(created, UTC)
    return await run_sync(lambda: _pdf_response(Report.from_json(text), checked_at))


@router.post("/v1/reports/pdf", responses=_PDF_ANSWER, response_class=Response)
async def report_to_pdf(body: PdfRequest) -> Response:
    """A report that need not be stored, as an audit sheet in PDF; nothing is stored."""
    try:
        report = Report.from_dict(body.report)
    except InputError as error:
        raise service_error("invalid_request", f"report: {error}") from None
    now = datetime.now(UTC)
    return await run_sync(lambda: _pdf_response(report, now, body.response_name))


def _pdf_response(report: Report, checked_at: datetime, name: str | None = None) -> Response:
    from halldetect.render import CheckRecord, pdf

    if len(report.claims) > _MAX_PDF_CLAIMS or len(report.response) > _MAX_PDF_RESPONSE:
        raise service_error("too_large", "the report is too long for a PDF: use its HTML form")
    try:
        body = pdf(report, CheckRecord(checked_at, name))
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
