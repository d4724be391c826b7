"""The route that repairs a response."""

from __future__ import annotations

import json

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from halldetect_serve.answer_schemas import RepairResult
from halldetect_serve.dependencies import Context, RequestId
from halldetect_serve.error_responses import service_error
from halldetect_serve.request_schemas import RepairRequest
from halldetect_serve.routes.checks import item_pair
from halldetect_serve.submission import cancel_on_disconnect, submit

router = APIRouter(tags=["repair"])


@router.post("/v1/repair", response_model=RepairResult)
async def repair(
    body: RepairRequest, request: Request, context: Context, request_id: RequestId
) -> Response:
    """Replace, rewrite or remove what the source does not support, and check the result."""
    if body.store:
        raise service_error("invalid_request", "store: a repair cannot be stored")
    with await submit(context, body, [item_pair(body)], repair=True) as job:
        (finished,) = await cancel_on_disconnect(request, job.reports())
    view = await anyio.to_thread.run_sync(_view, finished.json)
    text = f'{{"request_id":{json.dumps(request_id)},"repair":{finished.json},"view":{view}}}'
    return Response(text.encode(), media_type="application/json")


def _view(text: str) -> str:
    from halldetect.render.repair_views import repair_view
    from halldetect.repair.outcome import Repair

    return json.dumps(repair_view(Repair.from_dict(json.loads(text))))
