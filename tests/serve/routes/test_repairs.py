"""POST /v1/repair: the outcome, bad requests, and what a client that leaves costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api_requests import refused
from tests.support.running import LocalService

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it."
WRONG = "The bridge opened in 1923. Six lanes cross it. Zebras sing."


def post(service: LocalService, **body: Any) -> Any:
    with service.client() as client:
        return client.post("/v1/repair", json=body)


def test_a_repair(service: LocalService) -> None:
    answer = post(service, source=SOURCE, response=WRONG)
    assert answer.status_code == 200
    repair, view = answer.json()["repair"], answer.json()["view"]
    assert "".join(piece["text"] for piece in view["before"]) == WRONG
    assert view["failed"] is False
    assert repair["outcome"] == "repaired"
    assert repair["text"] == "The bridge opened in 1932. Six lanes cross it."
    assert [change["action"] for change in repair["changes"]] == ["changed", "kept", "removed"]
    assert repair["report"]["verdict"] == "faithful"
    assert repair["original"]["verdict"] == "hallucinated"


def test_a_repair_is_no_check(service: LocalService) -> None:
    """The same texts, checked and repaired, do not get each other's answers."""
    body = {"source": SOURCE, "response": "The bridge opened in 1999."}
    with service.client() as client:
        report = client.post("/v1/check", json=body).json()["report"]
        repair = client.post("/v1/repair", json=body).json()["repair"]
        again = client.post("/v1/check", json=body).json()["report"]
    assert report["verdict"] == again["verdict"] == "hallucinated"
    assert repair["text"] == "The bridge opened in 1932."


def test_a_failed_repair(service: LocalService) -> None:
    repair = post(service, source=SOURCE, response="Zebras sing.").json()["repair"]
    assert repair["outcome"] == "failed"
    assert repair["text"] is None
    assert repair["reason"]


@pytest.mark.parametrize(
    "body",
    [
        {"source": SOURCE},
        {"source": SOURCE, "response": 5},
        {"source": SOURCE, "response": "x", "store": True},
        {"source": SOURCE, "response": "x", "rewriter": "gguf"},
    ],
)
def test_bad_requests(service: LocalService, body: dict[str, Any]) -> None:
    assert refused(post(service, **body), "invalid_request")
