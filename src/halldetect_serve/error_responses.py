"""The error format of the service: its codes, their HTTP status, the body and the headers.

{"error": {"version": 1, "code": "queue_full", "message": "...", "request_id": "..."}}
"""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from halldetect.errors import ServiceError

FORMAT_VERSION = 1
STATUS_BY_CODE = {
    "invalid_http": 400,
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
    "pdf_unavailable": 501,
    "upstream_error": 502,
    "model_unavailable": 503,
    "shutting_down": 503,
    "store_unavailable": 503,
    "worker_failed": 503,
    "deadline_exceeded": 504,
}
# Default seconds for Retry-After.
_DEFAULT_RETRY_AFTER = 2


class ClientGone(Exception):
    """The client closed the connection or reads too slowly, so no answer can be sent."""


def service_error(code: str, message: str, retry_after: float | None = None) -> ServiceError:
    """Build an error by its code; the message is one line without texts or secrets."""
    status = STATUS_BY_CODE[code]
    if retry_after is None and status in (429, 503):
        retry_after = _DEFAULT_RETRY_AFTER
    return ServiceError(code, message, status=status, retry_after=retry_after)


def error_object(error: ServiceError, request_id: str) -> dict[str, Any]:
    """Return the value of the field `error` of an error body."""
    return {
        "version": FORMAT_VERSION,
        "code": error.code,
        "message": " ".join(str(error).split()),
        "request_id": request_id,
    }


def error_response(error: ServiceError, request_id: str) -> Response:
    """Return the answer to a request that failed with `error`."""
    response = JSONResponse({"error": error_object(error, request_id)}, error.status or 500)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
