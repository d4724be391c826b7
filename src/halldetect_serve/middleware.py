"""The outermost layer of the application, which every request passes.

As plain ASGI it sees a request before its body is read, and every part of an answer. It sets the
request id, checks token and scope, limits rate, size and time, adds the security headers, counts
and logs the request, and turns exceptions into the error format.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
import traceback
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from halldetect.errors import ServiceError
from halldetect_serve.access import ANONYMOUS, AccessToken
from halldetect_serve.context import ServiceContext
from halldetect_serve.error_responses import ClientGone, error_response, service_error
from halldetect_serve.settings import is_loopback

log = logging.getLogger("halldetect_serve")

# The page shows untrusted texts, so not even its own scripts may turn a string into markup.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Other paths need no token: the page and its files, health, the API description.
_PROTECTED_PREFIXES = ("/v1/", "/metrics")
_OPEN_PATH = "/v1/session"
_SCOPE_BY_METHOD = {"GET": "read", "HEAD": "read", "POST": "check"}
_OTHER_METHODS_SCOPE = "admin"
# The status logged if no answer could be sent, as in nginx.
CLIENT_CLOSED_REQUEST = 499
_PIECE_BYTES = 256 * 1024


class RequestMiddleware:
    """ASGI middleware around the application."""

    def __init__(self, app: ASGIApp, context: ServiceContext) -> None:
        self._app = app
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(self._context, scope, receive, send)
        started = time.perf_counter()
        try:
            await self._admit(exchange)
            await self._app(scope, exchange.receive, exchange.send)
        except ServiceError as error:
            await exchange.send_error(error)
        except ClientGone:
            exchange.status = CLIENT_CLOSED_REQUEST
        except asyncio.CancelledError:
            # Only uvicorn cancels: the time to drain after a stop signal is over.
            message = "the service is stopping, and this was not done in time"
            await exchange.send_error(service_error("shutting_down", message))
        except Exception as error:
            # The message may quote a text: log only the type and place of the error.
            trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
            log.error("request %s: %s\n%s", exchange.id, type(error).__name__, trace)
            message = "the service failed; its log says where"
            await exchange.send_error(service_error("internal", message))
        finally:
            exchange.record(time.perf_counter() - started)

    async def _admit(self, exchange: Exchange) -> None:
        """Check host, token, scope, rate and size, then read the body."""
        context, path = self._context, exchange.scope["path"]
        if "content-length" in exchange.headers and "transfer-encoding" in exchange.headers:
            message = "both Content-Length and Transfer-Encoding are set"
            raise service_error("invalid_http", message)
        if not context.settings.auth and not is_loopback(exchange.host):
            # DNS rebinding: a web page whose host name resolves to this machine.
            raise service_error("forbidden", "without tokens this answers to loopback names only")
        caller = ANONYMOUS if context.tokens is None else None
        kind, _, secret = exchange.headers.get("authorization", "").partition(" ")
        if context.tokens is not None and kind.lower() == "bearer" and secret.strip():
            caller = context.tokens.find(secret.strip())
        exchange.caller = exchange.scope["caller"] = caller
        if path.startswith(_PROTECTED_PREFIXES) and path != _OPEN_PATH:
            if caller is None:
                message = "this needs a token: Authorization: Bearer TOKEN"
                raise service_error("unauthorized", message)
            needed = _SCOPE_BY_METHOD.get(exchange.scope["method"], _OTHER_METHODS_SCOPE)
            if not caller.allows(needed):
                raise service_error("forbidden", f"the token has no scope {needed!r}")
        if path.startswith("/v1/"):
            address, _ = exchange.scope.get("client") or ("unknown", 0)
            name = caller.name if caller and context.settings.auth else address
            if seconds := context.rate.wait_seconds(name):
                raise service_error("rate_limited", "too many requests; slow down", seconds)
        await exchange.read_body()


class Exchange:
    """One request and its answer; the arguments are those of an ASGI application."""

    def __init__(self, context: ServiceContext, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.headers = Headers(scope=scope)
        given = self.headers.get("x-request-id", "")
        self.id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope["request_id"] = self.id
        self.caller: AccessToken | None = None
        self.status = 0
        self._metrics = context.metrics
        self._limits = context.settings.limits
        self._receive = receive
        self._send = send
        self._body: bytes | None = None
        self._complete = False

    @property
    def host(self) -> str:
        """The host name that the client used, without the port."""
        name = self.headers.get("host", "")
        return name[: name.find("]") + 1] if name.startswith("[") else name.partition(":")[0]

    async def read_body(self) -> None:
        """Read the body within the limits on size and time; raise ServiceError or ClientGone."""
        limit, length = self._limits.max_body, self.headers.get("content-length", "0")
        too_large = service_error("too_large", f"the request is larger than {limit:,} bytes")
        if length.isdecimal() and int(length) > limit:
            raise too_large  # before any of it is read
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.read_timeout):
                while not self._complete:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    body += message.get("body", b"")
                    self._complete = not message.get("more_body", False)
                    if len(body) > limit:
                        self._complete = False
                        raise too_large
        except TimeoutError:
            raise service_error("read_timeout", "the request took too long to arrive") from None
        self._body = bytes(body)

    async def receive(self) -> Message:
        """Return the body once, then the client's next message: the disconnect."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Send a part of the answer; raise ClientGone if the client does not read in time."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.id
            if self.scope["path"].startswith(_PROTECTED_PREFIXES):
                headers.setdefault("Cache-Control", "no-store")
        # In pieces, because the server waits for a slow reader only between pieces.
        body, at = message.get("body", b""), 0
        while at + _PIECE_BYTES < len(body):
            piece = body[at : at + _PIECE_BYTES]
            await self._send_in_time({**message, "body": piece, "more_body": True})
            at += _PIECE_BYTES
        await self._send_in_time({**message, "body": body[at:]} if at else message)

    async def send_error(self, error: ServiceError) -> None:
        """Answer with an error; an answer that has begun is cut off."""
        if self.status:
            log.error("request %s: broken off: %s", self.id, error.code)
            return
        response = error_response(error, self.id)
        if not self._complete:  # the rest of the body will not be read
            response.headers["Connection"] = "close"
        try:
            await response(self.scope, self._receive, self.send)
        except ClientGone:
            self.status = CLIENT_CLOSED_REQUEST

    def record(self, seconds: float) -> None:
        """Count and log the request with its duration in seconds."""
        route: Any = self.scope.get("route")
        name = getattr(route, "path", "other")
        method = self.scope["method"] if name != "other" else "other"
        self._metrics.requests.labels(name, method, str(self.status)).inc()
        self._metrics.latency.labels(name).observe(seconds)
        caller = self.caller.name if self.caller else "-"
        milliseconds = seconds * 1000
        log.info("%s %s %s %d %.0f ms %s", self.id, method, name, self.status, milliseconds, caller)

    async def _send_in_time(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._limits.write_timeout):
                await self._send(message)
        except (TimeoutError, OSError):
            raise ClientGone from None
