"""What both clients need of httpx, which may not be installed."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from halldetect.errors import MissingExtra, ServiceError

# Sent again after the time the service names: the queue was full, the worker was starting.
AGAIN = (429, 503)


class reaching:
    """A service that cannot be reached is a ServiceError, too."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, library().TransportError):
            what = type(error).__name__
            raise ServiceError("unreachable", f"the service does not answer ({what})") from None


def library() -> Any:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise MissingExtra("halldetect.client", "serve") from error
    return httpx


def settings(base_url: str, token: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return {"base_url": base_url, "headers": headers, "timeout": timeout}
