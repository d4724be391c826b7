"""Ids, headers, hosts and methods, and requests that two programs could read in two ways."""

from __future__ import annotations

import json
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.api_requests import ASKED, refused
from tests.support.running import PATIENCE, Reachable

BODY = json.dumps(ASKED).encode()
START = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


def test_unknown_addresses_and_methods(client: httpx.Client) -> None:
    refused(client.get("/v1/nothing"), "not_found")
    refused(client.get("/../etc/passwd"), "not_found")
    refused(client.get("/v1/check"), "method_not_allowed")
    refused(client.get("/v1/reports/nothing"), "not_found")
    refused(client.post("/v1/chat/completions", json={"messages": [{}]}), "not_found")


def test_harmless_request_ids_are_kept(client: httpx.Client) -> None:
    assert (
        client.get("/healthz", headers={"X-Request-Id": "a.B-9"}).headers["X-Request-Id"] == "a.B-9"
    )
    made = client.get("/healthz", headers={"X-Request-Id": "a b"}).headers["X-Request-Id"]
    assert len(made) == 16


def test_security_headers(client: httpx.Client) -> None:
    for path in ("/healthz", "/v1/models", "/v1/nothing"):
        headers = client.get(path, headers={"Origin": "https://elsewhere.example"}).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
    preflight = client.options("/v1/check", headers={"Origin": "https://elsewhere.example"})
    assert preflight.status_code == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example"])
def test_other_host_names_are_refused(client: httpx.Client, host: str) -> None:
    refused(client.post("/v1/check", json=ASKED, headers={"Host": host}), "forbidden")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8000"])
def test_loopback_names_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_form_of_another_site_is_refused(client: httpx.Client) -> None:
    """A browser sends these across sites without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        headers = {} if kind is None else {"Content-Type": kind}
        refused(client.post("/v1/check", content=BODY, headers=headers), "invalid_request")


def connect(service: Reachable) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port), timeout=PATIENCE)


def answers(service: Reachable, request: bytes) -> list[bytes]:
    """The status lines that come before the connection is closed."""
    with connect(service) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    return [line for line in received.splitlines() if line.startswith(b"HTTP/1.1 ")]


@pytest.mark.parametrize(
    "request_",
    [
        START + LENGTH + CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
        START + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
        START + b"Content-Length: +5\r\n\r\n" + BODY,
        START + b"Content-Length : 5\r\n\r\n" + BODY,
        START + CHUNKED + b"5\r\nhelloXX0\r\n\r\n",  # accepted by h11 before 0.16
        START + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        START + b"X-A: b\0c\r\n" + LENGTH + b"\r\n" + BODY,
        b"nonsense\r\n\r\n",
    ],
)
def test_ambiguous_requests_are_refused(service: Reachable, request_: bytes) -> None:
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    (line,) = answers(service, request_ + smuggled)
    assert line.split()[1] in (b"400", b"501")


@pytest.mark.parametrize(
    "body",
    [
        '{"source": "a", "source": "b", "response": "c"}',
        '{"source": "a", "response": "c", "threshold": 0.1, "\\u0074hreshold": 0.9}',
    ],
)
@pytest.mark.parametrize("path", ["/v1/check", "/v1/repair", "/v1/compare"])
def test_key_that_comes_twice(client: httpx.Client, path: str, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post(path, content=body.encode(), headers=headers)
    assert "a key twice" in refused(answer, "invalid_json")


def test_tiny_chunks_hold_nobody_up(service: Reachable) -> None:
    """Another client gets its answers while a body comes in very many chunks."""

    def attack() -> None:
        with connect(service) as connection:
            connection.sendall(START + CHUNKED)
            try:
                connection.sendall(b"1\r\nx\r\n" * 150_000)
                connection.recv(100)
            except (ConnectionError, TimeoutError):
                pass

    attacker = threading.Thread(target=attack)
    attacker.start()
    slowest = 0.0  # in processor time of this process, where the service runs, too
    with service.client() as client:
        while attacker.is_alive():
            began = time.process_time()
            assert client.get("/healthz").status_code == 200
            slowest = max(slowest, time.process_time() - began)
    assert slowest < 5.0
