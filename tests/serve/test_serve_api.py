"""The API over a real server on loopback and a real worker process with a small verifier."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import jsonschema
import pytest

from halldetect import Detector, Report
from halldetect.render import json_schema, payload
from halldetect.serve.error_responses import STATUS
from tests.support.fake_service import ObedientVerifier
from tests.support.fakes import SentenceExtractor

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it."
RESPONSE = "The bridge opened in 1932. It is 400 metres long. Whales live nearby."
ASKED = {"source": SOURCE, "response": RESPONSE}


def untimed(report: Report) -> str:
    return replace(report, cost=replace(report.cost, seconds={})).to_json()


def local(source: Any, response: str, **options: Any) -> Report:
    detector = Detector(SentenceExtractor(), ObedientVerifier(), max_response=5000, **options)
    return detector.check(source, response)


def report_in(answer: dict[str, Any]) -> Report:
    return Report.from_json(json.dumps(answer["report"]))


def shown(report: Report) -> Any:
    return json.loads(json.dumps(payload(report)))


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def refused(answer: httpx.Response, code: str) -> str:
    assert answer.status_code == STATUS[code], answer.text
    error = answer.json()["error"]
    assert set(error) == {"version", "code", "message", "request_id"}
    assert (error["version"], error["code"]) == (1, code)
    assert error["request_id"] == answer.headers["X-Request-Id"]
    return str(error["message"])


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (SOURCE, {}),
        ([SOURCE, "Tolls were dropped in 1990."], {"threshold": 0.9}),
        (SOURCE, {"scoring": "fed", "exact": True}),
    ],
)
def test_a_check_is_what_the_library_gives(
    client: httpx.Client, source: Any, options: dict[str, Any]
) -> None:
    answer = client.post("/v1/check", json={"source": source, "response": RESPONSE, **options})
    assert answer.status_code == 200
    body = answer.json()
    jsonschema.validate(body["report"], json_schema())
    assert untimed(report_in(body)) == untimed(local(source, RESPONSE, **options))
    nothing = ("stored", "store_error", "view", "markdown", "html")
    assert {body[name] for name in nothing} == {None}
    assert body["request_id"] == answer.headers["X-Request-Id"]


def test_other_forms_come_where_asked_for(client: httpx.Client) -> None:
    hostile = "The <script>alert(1)</script> bridge opened in 1932."
    asked = {**ASKED, "source": hostile, "include": ["view", "html", "markdown"]}
    body = client.post("/v1/check", json=asked).json()
    assert body["view"] == shown(report_in(body))
    assert body["html"].startswith("<!doctype html>")
    assert "<script>alert" not in body["html"]
    assert "hallucinated" in body["markdown"].lower()


def test_what_cannot_be_checked_is_said_and_is_no_error(client: httpx.Client) -> None:
    for response, reason in (("", "the response is empty"), ("x" * 6000, "more than the limit")):
        answer = client.post("/v1/check", json={"source": SOURCE, "response": response})
        report = answer.json()["report"]
        assert (answer.status_code, report["verdict"]) == (200, "uncheckable")
        assert reason in report["reason"]
    failing = {"source": SOURCE, "response": "The verifier fails here."}
    report = client.post("/v1/check", json=failing).json()["report"]
    assert report["verdict"] == "uncheckable"


def test_a_batch_keeps_its_order(client: httpx.Client) -> None:
    responses = [f"The bridge opened in {year}." for year in range(1928, 1936)]
    items = [{"source": SOURCE, "response": text} for text in responses]
    body = client.post("/v1/check/batch", json={"items": items}).json()
    found = [report_in(result) for result in body["results"]]
    assert [untimed(report) for report in found] == [
        untimed(local(SOURCE, text)) for text in responses
    ]
    too_many = client.post("/v1/check/batch", json={"items": items * 2})
    assert "items: at most 8, not 16" in refused(too_many, "invalid_request")


def test_a_stream_tells_claims_then_verdicts_then_the_report(client: httpx.Client) -> None:
    answer = client.post("/v1/check/stream", json={**ASKED, "include": ["view"]})
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    kinds = [kind for kind, _ in told]
    assert (kinds[0], kinds[-1]) == ("accepted", "report")
    assert kinds.index("claims") < kinds.index("verdict")
    report = report_in(told[-1][1])
    assert told[-1][1]["view"] == shown(report)
    assert untimed(report) == untimed(local(SOURCE, RESPONSE))
    (claims,) = [data["claims"] for kind, data in told if kind == "claims"]
    assert [claim["text"] for claim in claims] == [claim.text for claim in report.claims]
    assert claims[0]["span"] == {"start": 0, "end": 26}
    last = {data["place"]: data["claim"] for kind, data in told if kind == "verdict"}
    assert [last[place] for place in sorted(last)] == report.to_dict()["claims"]


def test_verdicts_come_before_all_is_done(client: httpx.Client) -> None:
    asked = {"source": SOURCE, "response": "Six lanes cross it. Who sleeps 100 ms is tired."}
    arrived: list[str] = []
    with client.stream("POST", "/v1/check/stream", json=asked) as answer:
        for line in answer.iter_lines():
            if line.startswith("event: "):
                arrived.append(line.removeprefix("event: "))
    assert arrived.index("verdict") < len(arrived) - 2


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        (b"{bad", "invalid_json", "not JSON"),
        (b"\xff\xfe", "invalid_json", "JSON"),
        (b"[" * 50_000, "invalid_json", "JSON"),
        (b"[]", "invalid_request", "body"),
        (b"{}", "invalid_request", "source"),
        (b'{"source": 1, "response": "x"}', "invalid_request", "source"),
        (b'{"source": "x", "response": "y", "extra": 1}', "invalid_request", "extra"),
        (b'{"source": "x", "response": "y", "threshold": NaN}', "invalid_request", "threshold"),
        (b'{"source": "x", "response": "y", "threshold": 2}', "invalid_request", "threshold"),
        (b'{"source": "x", "response": "y", "timeout_seconds": 0}', "invalid_request", "timeout"),
        (b'{"source": "x", "response": "y", "include": ["pdf"]}', "invalid_request", "include"),
        (b'{"source": "x", "response": "y", "extractor": "/etc"}', "unknown_model", "extractor"),
        (b'{"source": "x", "response": "y", "verifier": "hf:a/b"}', "unknown_model", "verifier"),
        (b'{"source": "x", "response": "y' + b"z" * 100_000 + b'"}', "too_large", "100,000"),
    ],
)
def test_bad_requests_get_one_line_in_one_shape(
    client: httpx.Client, body: bytes, code: str, word: str
) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/check", "/v1/check/stream"):
        message = refused(client.post(path, content=body, headers=headers), code)
        assert word in message
        assert "\n" not in message
        assert len(message) < 300


def test_odd_characters_are_taken_or_refused_but_never_a_defect(client: httpx.Client) -> None:
    odd = b'{"source": "The cat \\ud800 sat.\\u0000", "response": "The cat sat."}'
    answer = client.post("/v1/check", content=odd, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 422)
    assert client.post("/v1/check", json={**ASKED, "\ud800"[:0] + "é": 1}).status_code == 422


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


def test_what_the_service_says_of_itself(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    models = client.get("/v1/models").json()
    assert [model["name"] for model in models["extractors"]] == ["auto", "sentences", "broken"]
    session = client.get("/v1/session").json()
    assert (session["auth_required"], session["authenticated"]) == (False, True)
    assert session["limits"]["max_body_bytes"] == 100_000


def test_metrics_count_what_was_done(client: httpx.Client) -> None:
    def value(name: str) -> float:
        for line in client.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return 0.0

    before = value('halldetect_verdicts_total{verdict="hallucinated"}')
    claims = value('halldetect_claims_total{status="contradicted"}')
    pairs = value("halldetect_pairs_judged_total")
    client.post("/v1/check", json=ASKED)
    assert value('halldetect_verdicts_total{verdict="hallucinated"}') == before + 1
    assert value('halldetect_claims_total{status="contradicted"}') == claims + 1
    assert value("halldetect_pairs_judged_total") > pairs
    assert value('halldetect_phase_seconds_count{phase="queue"}') > 0
    assert value("halldetect_worker_up") == 1


def test_a_defect_in_the_worker_shows_nothing_of_itself(client: httpx.Client) -> None:
    answer = client.post("/v1/check", json={**ASKED, "extractor": "broken"})
    message = refused(answer, "internal")
    assert "secret" not in message
    assert "LookupError" not in answer.text


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
    assert client.get(f"{address}/view").json()["view"] == shown(report_in(kept))
    assert client.get("/v1/reports/summary").json()["hallucination_rate"] == 1.0
    assert client.delete(address).status_code == 204
    refused(client.get(address), "not_found")
    refused(client.delete(address), "not_found")


def test_the_published_description_is_that_of_the_answers(client: httpx.Client) -> None:
    published = client.get("/openapi.json").json()
    answer = client.post("/v1/check", json={**ASKED, "include": ["view"]}).json()
    schema = {**published["components"]["schemas"]["CheckResult"]}
    schema["components"] = published["components"]
    jsonschema.validate(answer, schema)
    for path, methods in published["paths"].items():
        for method in methods.values():
            assert "Problem" in json.dumps(method["responses"]["429"]), path
