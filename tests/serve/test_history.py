"""The routes of the stored reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from halldetect import Report
from halldetect.cli import main
from halldetect_bench.datasets.labelled_claims import load_user_file as load
from tests.support.api_requests import ASKED, RESPONSE, SOURCE, refused, report_in, shown
from tests.support.fakes import use_overlap_verifier


def test_reports_are_kept_on_request_only(client: httpx.Client) -> None:
    client.delete("/v1/reports?all=true")
    client.post("/v1/check", json=ASKED)
    assert client.get("/v1/reports").json() == {"reports": [], "next": None, "total": 0}
    kept = client.post("/v1/check", json={**ASKED, "store": True, "question": "When?"}).json()
    address = kept["stored"]["url"]
    assert client.get(address).json() == kept["report"]
    refused(client.get("/v1/reports?before=nonsense"), "invalid_request")
    refused(client.get("/v1/reports?before=1~a~b"), "invalid_request")
    (row,) = client.get("/v1/reports").json()["reports"]
    counts = {"supported": 1, "contradicted": 1, "unsupported": 1, "unclear": 0, "uncheckable": 0}
    assert row["claims"] == counts
    assert (row["verdict"], row["question"]) == ("hallucinated", "When?")
    page = client.get(f"{address}.html")
    assert page.text.startswith("<!doctype html>")
    assert "sandbox" in page.headers["Content-Security-Policy"]
    assert client.get(f"{address}.md").headers["content-type"].startswith("text/markdown")
    assert client.get(f"{address}/view").json()["view"] == shown(report_in(kept))
    assert client.get("/v1/reports/summary").json()["hallucination_rate"] == 1.0
    assert client.delete(address).status_code == 204
    refused(client.get(address), "not_found")
    refused(client.delete(address), "not_found")


@pytest.mark.slow  # needs the extra pdf
def test_reports_can_be_printed(client: httpx.Client) -> None:
    pytest.importorskip("weasyprint", exc_type=ImportError)
    kept = client.post("/v1/check", json={**ASKED, "store": True}).json()
    sheet = client.get(f"{kept['stored']['url']}.pdf")
    assert sheet.headers["content-type"] == "application/pdf"
    assert sheet.content.startswith(b"%PDF-")
    client.delete(kept["stored"]["url"])


def kept(client: httpx.Client, response: str, **more: object) -> str:
    asked = {"source": SOURCE, "response": response, "store": True, **more}
    return str(client.post("/v1/check", json=asked).json()["stored"]["id"])


def test_search_filter_and_bulk_delete(client: httpx.Client) -> None:
    client.delete("/v1/reports?all=true")
    good = kept(client, "The bridge opened in 1932.", question="Which year?")
    bad = kept(client, "Whales live nearby.")

    def found(query: str) -> list[str]:
        answer = client.get(f"/v1/reports?{query}")
        return [row["id"] for row in answer.raise_for_status().json()["reports"]]

    today = datetime.now(UTC).date()
    assert found("search=WHALES") == [bad]
    assert found("search=which+year") == [good]
    assert found("state=unsupported") == [bad]
    assert found(f"since={today - timedelta(days=1)}&until={today}") == [bad, good]
    assert found(f"since={today + timedelta(days=2)}") == []
    assert found("reviewed=true") == []
    refused(client.get("/v1/reports?since=yesterday"), "invalid_request")
    refused(client.get("/v1/reports?state=odd"), "invalid_request")
    assert client.delete(f"/v1/reports?id={bad}&id=nobody").json() == {"deleted": 1}
    assert found("") == [good]
    assert client.delete("/v1/reports?verdict=hallucinated").json() == {"deleted": 0}
    assert client.delete("/v1/reports?all=true").json() == {"deleted": 1}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "limit=1",
        "search=",
        "search=%00",
        "serach=x",
        "verdict=",
        "all=false",
        "all=true&verdict=faithful",
    ],
)
def test_delete_needs_an_explicit_selection(client: httpx.Client, query: str) -> None:
    id = kept(client, "The bridge opened in 1932.")
    refused(client.delete(f"/v1/reports?{query}"), "invalid_request")
    assert client.get(f"/v1/reports/{id}").status_code == 200
    for path in ("/v1/reports", "/v1/reports/export", "/v1/reports/summary"):
        refused(client.get(f"{path}?serach=x"), "invalid_request")


def test_decisions_become_a_labelled_dataset(
    client: httpx.Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.delete("/v1/reports?all=true")
    three = kept(client, RESPONSE)
    one = kept(client, "The bridge opened in 1932.", question="Which year?")
    half = kept(client, RESPONSE + " ")
    unseen = kept(client, RESPONSE + "  ")
    empty = client.get(f"/v1/reports/{one}/review").json()
    nothing = {"note": "", "decisions": [], "reviewer": None, "updated": None, "verdict": None}
    assert empty == nothing

    def decide(id: str, note: str, *decisions: tuple[int, str]) -> httpx.Response:
        said = [{"claim": claim, "decision": decision} for claim, decision in decisions]
        return client.post(f"/v1/reports/{id}/review", json={"note": note, "decisions": said})

    # Supported, contradicted and unsupported; the person disagrees with the last.
    said = decide(three, "Whales do.", (1, "agree"), (2, "agree"), (3, "disagree"))
    assert said.json()["verdict"] == "hallucinated"
    assert decide(one, "", (1, "agree")).json()["verdict"] == "faithful"
    assert decide(half, "", (1, "agree")).json()["verdict"] is None  # not enough for a label
    refused(decide(one, "", (2, "agree")), "invalid_request")
    refused(decide("nobody", ""), "not_found")
    assert client.get(f"/v1/reports/{three}/review").json()["note"] == "Whales do."
    assert "Whales do." in client.get(f"/v1/reports/{three}.html").text
    lines = client.get("/v1/reports/export?form=labelled").text
    file = tmp_path / "reviewed.jsonl"
    file.write_text(lines, encoding="utf-8")
    loaded = load(file)
    assert loaded.dropped == ()
    rows = {row.id: row for row in loaded.rows}
    assert set(rows) == {three, one}
    assert rows[three].hallucinated is True
    assert rows[three].sentences == (
        ("The bridge opened in 1932.", False),
        ("It is 400 metres long.", True),
        ("Whales live nearby.", False),
    )
    assert (rows[one].hallucinated, rows[one].question) == (False, "Which year?")
    # `calibrate` reads the decisions; two labels are too few for a threshold.
    use_overlap_verifier(monkeypatch)
    assert main(["calibrate", str(file), str(tmp_path / "cut.json"), "--quiet"]) == 2
    assert "at least 19 labelled faithful responses, not 1" in capsys.readouterr().err
    whole = [json.loads(line) for line in client.get("/v1/reports/export").text.splitlines()]
    assert {line["id"] for line in whole} == {three, one, half, unseen}
    assert all(Report.from_dict(line["report"]).response for line in whole)
