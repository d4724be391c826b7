"""Submits checks to the worker for the routes, counts them and stores their reports."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import anyio.to_thread
from fastapi import Request

from halldetect.config import Configuration
from halldetect.errors import ConfigurationError, ServiceError
from halldetect.inputs import Pair
from halldetect_serve.dependencies import ServiceContext
from halldetect_serve.error_responses import error_object, service_error
from halldetect_serve.middleware import ClientGone
from halldetect_serve.request_schemas import MODEL_OPTIONS, CheckOptions
from halldetect_serve.settings import EMBEDDED, CheckSettings
from halldetect_serve.worker.wire import FinishedReport
from halldetect_serve.worker.worker_client import PendingJob

log = logging.getLogger("halldetect_serve")
# Seconds between two comments in an event stream, which keep the connection open.
KEEP_ALIVE_SECONDS = 10.0
KEEP_ALIVE_COMMENT = b":\n\n"
Result = TypeVar("Result")


async def submit(
    context: ServiceContext,
    options: CheckOptions,
    pairs: Sequence[Pair],
    *,
    watch: bool = False,
    repair: bool = False,
    judge_from: int = 0,
) -> PendingJob:
    """Put pairs into the queue, once the options of the request are known to be valid.

    Args:
        context: the parts of this HTTP process.
        options: what the request chooses.
        pairs: what to check.
        watch: whether events are wanted while the check runs.
        repair: whether the responses are to be repaired; else they are checked.
        judge_from: where in a response the part begins that is checked.

    Raises:
        ServiceError: if an option is not valid or the worker does not take the job.
    """
    if options.store:
        context.require_reports()
    configuration = resolve_options(context.settings.checks, options)
    limit = context.settings.limits.timeout
    timeout = min(limit, options.timeout_seconds or limit)
    if context.settings.log_text:
        for pair in pairs:
            log.info("source %r response %r", pair.source, pair.response)
    return await context.worker.submit(
        configuration,
        tuple(pairs),
        timeout,
        watch=watch,
        repair=repair,
        judge_from=judge_from,
    )


def resolve_options(settings: CheckSettings, options: CheckOptions) -> Configuration:
    """Return the service's configuration with what the request chooses.

    Args:
        settings: the service's configuration and the models on offer.
        options: what the request chooses.

    Raises:
        ServiceError: `unknown_model` for a model that is not on offer, `invalid_request` for a
            combination that `Configuration` refuses.
    """
    overrides = options.overrides()
    for role, offered in zip(MODEL_OPTIONS, (settings.extractors, settings.verifiers), strict=True):
        if role in overrides and overrides[role] not in offered:
            raise service_error("unknown_model", f"{role}: not a name of GET /v1/models")
    if overrides.get("verifier") == EMBEDDED:
        overrides["verifier"] = None
    try:
        return settings.configuration.replaced(**overrides)
    except ConfigurationError as error:
        raise service_error("invalid_request", str(error)) from None


async def wait_for_reports(context: ServiceContext, job: PendingJob) -> list[FinishedReport]:
    """Wait for all reports of a job and count them.

    Raises:
        ServiceError: the error that ended the job.
    """
    reports = await job.reports()
    count_reports(context, job, reports)
    return reports


def count_reports(context: ServiceContext, job: PendingJob, reports: list[FinishedReport]) -> None:
    """Count the finished reports of a job, and how long the job waited in the queue."""
    for report in reports:
        context.metrics.count_report(report.overview)
    worked = sum(sum(report.overview["seconds"].values()) for report in reports)
    waited = time.monotonic() - job.started - worked
    context.metrics.phases.labels("queue").observe(max(0.0, waited))


async def store_reports(
    context: ServiceContext, options: CheckOptions, reports: list[FinishedReport], request_id: str
) -> list[dict[str, Any]]:
    """Store the reports if the request asks for it.

    Returns:
        Per report, the fields `stored` and `store_error` of the answer. A failure of the database
        does not keep the caller from getting the report.
    """
    nothing: dict[str, Any] = {"stored": None, "store_error": None}
    if not options.store:
        return [nothing] * len(reports)
    try:
        ids = await anyio.to_thread.run_sync(context.require_reports().add, reports)
    except ServiceError as error:
        return [{**nothing, "store_error": error_object(error, request_id)}] * len(reports)
    return [{**nothing, "stored": {"id": id, "url": f"/v1/reports/{id}"}} for id in ids]


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of `work`, which is cancelled if the client of `request` leaves.

    Raises:
        ClientGone: if the client has left.
    """
    task = asyncio.create_task(work)
    disconnect = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        task.cancel()
        disconnect.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces, on one line."""
    return json.dumps(value, separators=(",", ":"))
