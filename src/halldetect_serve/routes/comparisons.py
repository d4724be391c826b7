"""The route that compares two responses to the same source."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request

from halldetect_serve.answer_schemas import ComparisonResult
from halldetect_serve.dependencies import Context, RequestId
from halldetect_serve.error_responses import service_error
from halldetect_serve.request_schemas import CompareRequest, Item
from halldetect_serve.routes.checks import item_pair
from halldetect_serve.submission import cancel_on_disconnect, submit, wait_for_reports

router = APIRouter(tags=["compare"])


@router.post("/v1/compare", response_model=ComparisonResult)
async def compare_responses(
    body: CompareRequest, request: Request, context: Context, request_id: RequestId
) -> object:
    """Check two responses and say which claims differ and which the source supports."""
    if body.store:
        raise service_error("invalid_request", "store: a comparison cannot be stored")
    items = [
        Item(source=body.source, response=text, question=body.question) for text in (body.a, body.b)
    ]
    with await submit(context, body, [item_pair(item) for item in items]) as job:
        finished = await cancel_on_disconnect(request, wait_for_reports(context, job))
    texts = [report.json for report in finished]
    return {"request_id": request_id, **await anyio.to_thread.run_sync(_compared, texts)}


def _compared(texts: list[str]) -> dict[str, Any]:
    from halldetect.render.comparison_views import comparison_view
    from halldetect.report import Report
    from halldetect.report.comparison import compare

    comparison = compare(*map(Report.from_json, texts))
    return {**comparison.to_dict(), "view": comparison_view(comparison)}
