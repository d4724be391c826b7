"""The outermost layer of the application: everything that every request goes through.

It is plain ASGI, so that it sees a request before its body is read and every answer as it
leaves: request id, token and scope, rate, size and time limits, security headers, the metrics
and the log line, and the error shape for whatever went wrong inside.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
import traceback
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from halldetect.errors import ServiceError
from halldetect.serve import error_responses as problems
from halldetect.serve.dependencies import ANYBODY, Service
from halldetect.serve.error_responses import problem
from halldetect.serve.settings import is_loopback
from halldetect.serve.storage.access_tokens import Token

log = logging.getLogger("halldetect.serve")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Everything else is open: the page and its files, health, the description of the API.
_GUARDED = ("/v1/", "/metrics")
_OPEN = "/v1/session"
_SCOPES = {"GET": "read", "HEAD": "read", "POST": "check"}
GONE = 499
_PIECE = 256 * 1024


class ClientGone(Exception):
    """The client is gone or reads too slowly: nobody is there to be told."""


class RequestMiddleware:
    def __init__(self, app: ASGIApp, service: Callable[[], Service]) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = Visit(self._service(), scope, receive, send)
        started = time.perf_counter()
        try:
            await self._let_in(visit)
            await self._app(scope, visit.receive, visit.send)
        except ServiceError as error:
            await visit.fail(error)
        except ClientGone:
            visit.status = GONE
        except Exception as error:
            # The message of a defect may hold somebody's text: its kind and place must do.
            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            log.error("request %s: %s\n%s", visit.id, type(error).__name__, where)
            await visit.fail(problem("internal", "the service failed; its log says where"))
        finally:
            visit.count(time.perf_counter() - started)

    async def _let_in(self, visit: Visit) -> None:
        service, path = visit.service, visit.scope["path"]
        if not service.settings.auth and not is_loopback(visit.host):
            # A page of some site whose name was made to stand for this machine.
            raise problem("forbidden", "without tokens this answers to loopback names only")
        visit.caller = visit.scope["caller"] = await self._caller(visit)
        guarded = path.startswith(_GUARDED) and path != _OPEN
        if guarded and visit.caller is None:
            raise problem("unauthorized", "this needs a token: Authorization: Bearer TOKEN")
        needed = _SCOPES.get(visit.scope["method"], "admin")
        if guarded and visit.caller is not None and not visit.caller.may(needed):
            raise problem("forbidden", f"the token has no scope {needed!r}")
        if path.startswith("/v1/"):
            who = visit.caller.name if visit.caller and service.settings.auth else visit.address
            if seconds := service.rate.wait(who):
                raise problem("rate_limited", "too many requests; slow down", seconds)
        visit.check_length()
        await visit.read()

    async def _caller(self, visit: Visit) -> Token | None:
        tokens = visit.service.tokens
        if tokens is None:
            return ANYBODY
        kind, _, secret = visit.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            return None
        return await anyio.to_thread.run_sync(tokens.find, secret.strip())


class Visit:
    """One request on its way in and out."""

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send) -> None:
        self.service = service
        self.scope = scope
        self.headers = Headers(scope=scope)
        given = self.headers.get("x-request-id", "")
        self.id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope["request_id"] = self.id
        self.caller: Token | None = None
        self.status = 0
        self._receive = receive
        self._send = send
        self._complete = False

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else "unknown"

    @property
    def host(self) -> str:
        """The name by which the client calls us, without the port."""
        name = self.headers.get("host", "")
        return name[: name.find("]") + 1] if name.startswith("[") else name.partition(":")[0]

    def check_length(self) -> None:
        """Refuse a body that says it is too large before a byte of it is read."""
        length = self.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.service.settings.limits.max_body:
            raise self._too_large()

    async def read(self) -> None:
        """Read the body, within its limits of size and time."""
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(self.service.settings.limits.read_timeout):
                while not self._complete:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    chunks.append(message.get("body", b""))
                    self._complete = not message.get("more_body", False)
                    if sum(map(len, chunks)) > self.service.settings.limits.max_body:
                        self._complete = False
                        raise self._too_large()
        except TimeoutError:
            raise problem("read_timeout", "the request took too long to arrive") from None
        self._body: bytes | None = b"".join(chunks)

    async def receive(self) -> Message:
        """The body that has been read, once; then whatever comes, which is the client leaving."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.id
            if self.scope["path"].startswith(_GUARDED):
                headers.setdefault("Cache-Control", "no-store")
        # In pieces: the server waits for a slow reader only before the next piece.
        body, at = message.get("body", b""), 0
        while at + _PIECE < len(body):
            await self._push({**message, "body": body[at : at + _PIECE], "more_body": True})
            at += _PIECE
        await self._push({**message, "body": body[at:]} if at else message)

    async def _push(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self.service.settings.limits.write_timeout):
                await self._send(message)
        except (TimeoutError, OSError):
            raise ClientGone from None

    async def fail(self, error: ServiceError) -> None:
        """The error shape, unless an answer has begun: then all that is left is to break it off."""
        if self.status:
            log.error("request %s: broken off: %s", self.id, error.code)
            return
        body = problems.body(error, self.id)
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        headers |= problems.headers(error)
        if not self._complete:  # the rest of the body is not going to be read
            headers["connection"] = "close"
        start: Message = {
            "type": "http.response.start",
            "status": error.status,
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        }
        try:
            await self.send(start)
            await self.send({"type": "http.response.body", "body": body})
        except ClientGone:
            self.status = GONE

    def count(self, seconds: float) -> None:
        route: Any = self.scope.get("route")
        name = getattr(route, "path", "other")
        method = self.scope["method"] if name != "other" else "other"
        metrics = self.service.metrics
        metrics.requests.labels(name, method, str(self.status)).inc()
        metrics.latency.labels(name).observe(seconds)
        who = self.caller.name if self.caller else "-"
        log.info("%s %s %s %d %.0f ms %s", self.id, method, name, self.status, seconds * 1000, who)

    def _too_large(self) -> ServiceError:
        limit = self.service.settings.limits.max_body
        return problem("too_large", f"the request is larger than {limit:,} bytes")
