"""The one error shape of the service, and what each code stands for."""

from __future__ import annotations

import json
from typing import Any

from halldetect.errors import ServiceError

VERSION = 1
STATUS = {
    "invalid_json": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "read_timeout": 408,
    "storage_off": 409,
    "too_large": 413,
    "invalid_request": 422,
    "unknown_model": 422,
    "rate_limited": 429,
    "queue_full": 429,
    "internal": 500,
    "upstream_error": 502,
    "model_unavailable": 503,
    "shutting_down": 503,
    "store_unavailable": 503,
    "worker_failed": 503,
    "deadline_exceeded": 504,
}
# How long to wait where nothing better is known.
SOON = 2


def problem(code: str, message: str, retry_after: float | None = None) -> ServiceError:
    status = STATUS[code]
    if retry_after is None and status in (429, 503):
        retry_after = SOON
    return ServiceError(code, message, status=status, retry_after=retry_after)


def described(error: ServiceError, request_id: str) -> dict[str, Any]:
    return {
        "version": VERSION,
        "code": error.code,
        "message": " ".join(str(error).split()),
        "request_id": request_id,
    }


def body(error: ServiceError, request_id: str) -> bytes:
    return json.dumps({"error": described(error, request_id)}).encode()


def headers(error: ServiceError) -> dict[str, str]:
    found: dict[str, str] = {}
    if error.retry_after is not None:
        found["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.status == 401:
        found["WWW-Authenticate"] = "Bearer"
    return found
