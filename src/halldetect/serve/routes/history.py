"""Routes of the stored reports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Path, Query, Response

from halldetect.report import Report, Verdict
from halldetect.serve.dependencies import Context
from halldetect.serve.schemas import Deleted, ReportList, Summary, View

router = APIRouter(tags=["reports"])
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,64}$")]
_CURSOR = r"^[0-9]{1,12}(\.[0-9]{1,9})?~[A-Za-z0-9_-]{1,64}$"
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
    from halldetect.render import html

    _, text = await run_sync(context.require_reports().get, id)
    body = await run_sync(lambda: html(Report.from_json(text)).encode("utf-8", "replace"))
    return Response(
        body, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _SANDBOX}
    )


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
