"""Requests that two programs could read in two ways, and bodies made to keep the service busy."""

from __future__ import annotations

import json
import socket
import time
from threading import Thread
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.api_requests import ASKED, refused
from tests.support.running import LocalService

BODY = json.dumps(ASKED).encode()
START = b"POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def connect(service: LocalService) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((address.hostname, address.port), timeout=20)


def answer(service: LocalService, request: bytes) -> tuple[int, str]:
    """The status and the code of the answer to some bytes; the connection must be closed."""
    with connect(service) as connection:
        connection.sendall(request)
        received = b""
        while part := connection.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def test_two_statements_of_the_length_are_refused(service: LocalService) -> None:
    both = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(BODY)
    assert answer(service, START + both + chunked(BODY)) == (400, "invalid_http")


@pytest.mark.parametrize(
    "headers",
    [
        b"X-One: a\r\n b\r\n",
        b"X-One: a\r\n\tb\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"X-One: a\n b\r\n",
    ],
)
def test_folded_headers_are_refused(service: LocalService, headers: bytes) -> None:
    length = b"Content-Length: %d\r\n\r\n" % len(BODY)
    assert answer(service, START + headers + length + BODY) == (400, "invalid_http")


def test_a_folded_header_in_a_second_request_is_refused_too(service: LocalService) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    second = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-One: a\r\n b\r\n\r\n"
    with connect(service) as connection:
        connection.sendall(first + second)
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 200") == 1
    assert b"folded" in received


def test_what_is_not_http_gets_the_error_format(service: LocalService) -> None:
    assert answer(service, b"nonsense\r\n\r\n") == (400, "invalid_http")


def test_a_body_that_looks_folded_is_a_body(service: LocalService) -> None:
    body = json.dumps(ASKED, indent=1).replace("\n", "\r\n ").encode()
    with service.client() as client:
        headers = {"Content-Type": "application/json"}
        assert client.post("/v1/check", content=body, headers=headers).status_code == 200
        parts = (body[at : at + 40] for at in range(0, len(body), 40))
        assert client.post("/v1/check", content=parts, headers=headers).status_code == 200


def test_bodies_of_tiny_chunks_hold_nobody_up(service: LocalService) -> None:
    """Four of them at once; another client notices nothing."""
    tiny = b"1\r\nx\r\n" * 200_000

    def attack() -> None:
        with connect(service) as connection:
            connection.sendall(START + b"Transfer-Encoding: chunked\r\n\r\n")
            try:
                connection.sendall(tiny)
                assert b"400" in connection.recv(100)
            except (ConnectionError, TimeoutError):
                pass

    def slowest(client: httpx.Client) -> float:
        times, until = [], time.monotonic() + 2
        while time.monotonic() < until:
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            times.append(time.monotonic() - began)
        return max(times)

    attackers = [Thread(target=attack) for _ in range(4)]
    with service.client() as client:
        usual = slowest(client)
        for attacker in attackers:
            attacker.start()
        under_attack = slowest(client)
    for attacker in attackers:
        attacker.join(60)
        assert not attacker.is_alive()
    assert under_attack < max(1.0, 10 * usual)


@pytest.mark.parametrize(
    "body",
    [
        '{"source": "a", "source": "b", "response": "c"}',
        '{"source": "a", "response": "c", "question": "d", "question": null}',
        '{"source": "a", "response": "c", "threshold": 0.1, "\\u0074hreshold": 0.9}',
    ],
)
def test_a_key_that_comes_twice_is_refused(client: httpx.Client, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/check", content=body.encode(), headers=headers)
    assert "a key in it comes twice" in refused(answer, "invalid_json")
