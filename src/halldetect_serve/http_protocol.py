"""HTTP/1.1 as uvicorn reads it, stricter: what proxies may read in two ways is refused.

- Headers that are folded over several lines are refused.
- A body in very many tiny chunks is refused: each chunk costs as much as a large one.
- The socket is read in small pieces, so that no connection holds up the others for long.
- What cannot be read as HTTP is answered in the error format of the service.
"""

from __future__ import annotations

import asyncio
import re
import secrets

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from halldetect_serve.error_responses import error_body, service_error

_READ_BYTES = 16 * 1024
_FOLDED = re.compile(rb"\r?\n[ \t]")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
# A chunk is framed by two line ends. A body with many of them has to have some bytes for each.
_MAX_LINE_ENDS, _BYTES_PER_LINE_END = 2000, 8


class StrictH11Protocol(H11Protocol):
    """One connection; the arguments are those of uvicorn's protocols."""

    _line_ends = 0
    _body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection, and read it in small pieces."""
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _READ_BYTES

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        if self.conn.their_state is h11.SEND_BODY:
            self._line_ends += data.count(b"\r\n")
            self._body_bytes += len(data)
            least = _BYTES_PER_LINE_END * self._line_ends
            if self._line_ends > _MAX_LINE_ENDS and self._body_bytes < least:
                self.send_400_response("the body comes in too many small chunks")
                return
        else:
            self._line_ends = self._body_bytes = 0
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle what has arrived, unless the headers of a request are folded."""
        if self.conn.their_state is h11.IDLE:
            waiting, _ = self.conn.trailing_data
            if (end := _HEAD_END.search(waiting)) and _FOLDED.search(waiting, 0, end.start()):
                self.send_400_response("folded header lines are not accepted")
                return
        super().handle_events()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the client sent, and close the connection.

        Args:
            msg: what is wrong with it.
        """
        if self.transport.is_closing():
            return
        error = service_error("invalid_http", msg)
        body = error_body(error, secrets.token_hex(8))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        try:
            for event in (
                h11.Response(status_code=error.status, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:
            pass  # an answer has begun: it can only be broken off
        self.transport.close()
