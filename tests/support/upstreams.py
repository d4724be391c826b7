"""A chat server on loopback with scripted answers, which records its requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass
class Script:
    """`answers` are the texts of the next answers, each a list of choices; the last stays."""

    answers: list[list[str]] = field(default_factory=lambda: [["Six lanes cross it."]])
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    models: list[Any] = field(default_factory=lambda: [{"id": "m"}])
    pause: float = 0.0
    read: Event | None = None  # without it the second half of a stream is never sent
    broken: int = 0  # connections that the proxy closed before the end
    asked: list[dict[str, Any]] = field(default_factory=list)
    seen: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    def next(self) -> list[str]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def whole(texts: list[str]) -> dict[str, Any]:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at, text in enumerate(texts)
    ]
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
    }


def pieces(texts: list[str]) -> Iterator[dict[str, Any]]:
    frame = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for at, text in enumerate(texts):
        yield {**frame, "choices": [{"index": at, "delta": {"role": "assistant"}}]}
        for word in text.split(" "):
            yield {**frame, "choices": [{"index": at, "delta": {"content": f"{word} "}}]}
        yield {**frame, "choices": [{"index": at, "delta": {}, "finish_reason": "stop"}]}


@contextmanager
def upstream() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append(body)
            script.seen.append({name.lower(): value for name, value in self.headers.items()})
            script.paths.append(self.path)
            if script.status != 200 or script.body is not None:
                self._send(script.body or b"{}")
            elif body.get("stream"):
                self._stream(script.next())
            else:
                self._send(json.dumps(whole(script.next())).encode())

        def do_GET(self) -> None:
            script.seen.append({name.lower(): value for name, value in self.headers.items()})
            script.paths.append(self.path)
            time.sleep(script.pause)
            listed = {"object": "list", "data": script.models}
            self._send(script.body or json.dumps(listed).encode())

        def _send(self, body: bytes) -> None:
            self.send_response(script.status)
            for name, value in script.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, texts: list[str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            every = list(pieces(texts))
            for at, piece in enumerate(every):
                if script.read and at == len(every) // 2 and not script.read.wait(30):
                    raise TimeoutError
                try:
                    self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
                    self.wfile.flush()
                except ConnectionError:
                    script.broken += 1
                    raise
                time.sleep(script.pause)
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A connection that the proxy gave up is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
