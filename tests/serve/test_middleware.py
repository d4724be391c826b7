"""What every request passes: ids, headers, hosts, methods."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.support.api_requests import ASKED, refused


def test_unknown_addresses_and_methods(client: httpx.Client) -> None:
    refused(client.get("/v1/nothing"), "not_found")
    refused(client.get("/../etc/passwd"), "not_found")
    refused(client.get("/v1/check"), "method_not_allowed")
    refused(client.get("/v1/reports/nothing"), "not_found")
    refused(client.post("/v1/chat/completions", json={"messages": [{}]}), "not_found")


def test_request_ids_are_the_callers_where_they_are_harmless(client: httpx.Client) -> None:
    assert (
        client.get("/healthz", headers={"X-Request-Id": "a.B-9"}).headers["X-Request-Id"] == "a.B-9"
    )
    made = client.get("/healthz", headers={"X-Request-Id": "a b"}).headers["X-Request-Id"]
    assert len(made) == 16


def test_every_answer_is_guarded_by_its_headers(client: httpx.Client) -> None:
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
def test_without_tokens_other_names_are_not_answered_to(client: httpx.Client, host: str) -> None:
    refused(client.post("/v1/check", json=ASKED, headers={"Host": host}), "forbidden")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "[::1]:8000"])
def test_loopback_names_are(client: httpx.Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_a_form_of_another_site_is_no_request(client: httpx.Client) -> None:
    """What a browser sends across sites without asking first is never taken for JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        body = json.dumps(ASKED).encode()
        answer = client.post("/v1/check", content=body, headers={"Content-Type": kind})
        refused(answer, "invalid_request")
