"""The route that compares two responses."""

from __future__ import annotations

import httpx

from halldetect import Report
from tests.support.api_requests import RESPONSE, SOURCE, refused


def test_two_responses_are_compared(client: httpx.Client) -> None:
    body = {"source": SOURCE, "a": RESPONSE, "b": "The bridge opened in 1932."}
    answer = client.post("/v1/compare", json=body).raise_for_status().json()
    assert answer["better"] == "b"
    assert [pair["relation"] for pair in answer["pairs"]] == ["same", "only_a", "only_a"]
    assert Report.from_dict(answer["a"]).response == RESPONSE
    assert [side["verdict"] for side in answer["view"]["sides"]] == ["hallucinated", "faithful"]
    refused(client.post("/v1/compare", json={**body, "store": True}), "invalid_request")
    refused(client.post("/v1/compare", json={"source": SOURCE, "a": "x"}), "invalid_request")
