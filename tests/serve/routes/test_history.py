"""The routes of the stored reports."""

from __future__ import annotations

import httpx

from tests.support.api_requests import ASKED, refused, report_in, shown


def test_reports_are_kept_only_where_asked_for(client: httpx.Client) -> None:
    client.delete("/v1/reports")
    client.post("/v1/check", json=ASKED)
    assert client.get("/v1/reports").json() == {"reports": [], "next": None}
    kept = client.post("/v1/check", json={**ASKED, "store": True, "question": "When?"}).json()
    address = kept["stored"]["url"]
    assert client.get(address).json() == kept["report"]
    (row,) = client.get("/v1/reports").json()["reports"]
    assert row["claims"] == {"supported": 1, "contradicted": 1, "unsupported": 1, "uncheckable": 0}
    assert (row["verdict"], row["question"]) == ("hallucinated", "When?")
    page = client.get(f"{address}.html")
    assert page.text.startswith("<!doctype html>")
    assert "sandbox" in page.headers["Content-Security-Policy"]
    assert client.get(f"{address}.md").headers["content-type"].startswith("text/markdown")
    sheet = client.get(f"{address}.pdf")
    assert sheet.headers["content-type"] == "application/pdf"
    assert sheet.content.startswith(b"%PDF-")
    assert client.get(f"{address}/view").json()["view"] == shown(report_in(kept))
    assert client.get("/v1/reports/summary").json()["hallucination_rate"] == 1.0
    assert client.delete(address).status_code == 204
    refused(client.get(address), "not_found")
    refused(client.delete(address), "not_found")


def test_a_report_that_is_not_stored_can_be_printed(client: httpx.Client) -> None:
    report = client.post("/v1/check", json=ASKED).json()["report"]
    body = {"report": report, "response_name": "answer.md"}
    sheet = client.post("/v1/reports/pdf", json=body)
    assert sheet.content.startswith(b"%PDF-")
    refused(client.post("/v1/reports/pdf", json={"report": {"verdict": "x"}}), "invalid_request")
    long = {**report, "response": "long " * 30_000}
    refused(client.post("/v1/reports/pdf", json={"report": long}), "too_large")
