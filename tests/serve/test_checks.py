"""The routes that check, repair and compare, over a small verifier."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from halldetect import Detector, Report
from halldetect.config import Configuration
from halldetect.errors import ServiceError
from halldetect.render import json_schema
from halldetect_serve.context import resolve_options
from halldetect_serve.schemas import CheckOptions
from halldetect_serve.settings import (
    CheckSettings,
    Limits,
    ServiceSettings,
    StorageSettings,
)
from tests.support.api_requests import (
    ASKED,
    RESPONSE,
    SOURCE,
    events,
    local,
    refused,
    report_in,
    shown,
    untimed,
)
from tests.support.fake_service import ObedientVerifier
from tests.support.running import http_front


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (SOURCE, {}),
        ([SOURCE, "Tolls were dropped in 1990."], {"threshold": 0.9}),
        ([{"id": "a.txt", "text": SOURCE}], {}),
    ],
)
def test_check_equals_library(client: httpx.Client, source: Any, options: dict[str, Any]) -> None:
    answer = client.post("/v1/check", json={"source": source, "response": RESPONSE, **options})
    assert answer.status_code == 200
    body = answer.json()
    jsonschema.validate(body["report"], json_schema())
    assert untimed(report_in(body)) == untimed(local(source, RESPONSE, **options))
    nothing = ("stored", "store_error", "view", "markdown", "html")
    assert {body[name] for name in nothing} == {None}
    assert body["request_id"] == answer.headers["X-Request-Id"]


def test_conversation_gets_one_report(client: httpx.Client) -> None:
    messages = [
        {"role": "user", "content": "My bridge opened in 1932."},
        {"role": "assistant", "content": "Your bridge opened in 1932. I have sent the mail."},
    ]
    asked = {"source": [], "response": json.dumps(messages), "conversation": True}
    report = report_in(client.post("/v1/check", json=asked).json())
    assert [claim.status for claim in report.claims] == ["supported", "unsupported"]
    assert report.response.startswith("[message 1]\nYour bridge")
    broken = client.post("/v1/check", json={**asked, "response": "[3]"}).json()
    assert report_in(broken).reason == "not a conversation: messages[0] must be an object, not int"


def test_missing_statements_and_wrong_words(client: httpx.Client) -> None:
    toll = "Cars and lorries pay four euros of toll at weekends."
    asked = {"source": f"{SOURCE} {toll}", "response": "The bridge opened in 1932 after a strike."}
    asked |= {"question": "What is the toll?"}
    plain = report_in(client.post("/v1/check", json=asked).json())
    more = {**asked, "missing": True, "words": True}
    body = client.post("/v1/check", json={**more, "include": ["view"]}).json()
    found = report_in(body)
    detector = Detector(ObedientVerifier(), max_response=5000)
    wanted = detector.check(**more)  # type: ignore[arg-type]
    assert plain.missing == ()
    assert (found.missing, found.claims) == (wanted.missing, wanted.claims)
    assert [item.text for item in found.missing] == [toll]
    assert "Not in the response" in json.dumps(body["view"], ensure_ascii=False)
    items = {"items": [asked, {**asked, "response": toll}], "missing": True}
    batch = client.post("/v1/check/batch", json=items).json()["results"]
    assert [report_in(result).missing for result in batch] == [found.missing, ()]
    streamed = events(client.post("/v1/check/stream", json=more).text)
    assert report_in(streamed[-1][1]).missing == found.missing
    empty = client.post("/v1/check", json={**more, "source": "", "response": ""}).json()
    assert report_in(empty).missing == ()


def test_other_forms(client: httpx.Client) -> None:
    hostile = "The <script>alert(1)</script> bridge opened in 1932."
    asked = {**ASKED, "source": hostile, "include": ["view", "html", "markdown"]}
    body = client.post("/v1/check", json=asked).json()
    assert body["view"] == shown(report_in(body))
    assert body["html"].startswith("<!doctype html>")
    assert "<script>alert" not in body["html"]
    assert "hallucinated" in body["markdown"].lower()


def test_uncheckable_text_is_not_an_error(client: httpx.Client) -> None:
    for response, reason in (("", "the response is empty"), ("x" * 6000, "more than the limit")):
        answer = client.post("/v1/check", json={"source": SOURCE, "response": response})
        report = answer.json()["report"]
        assert (answer.status_code, report["verdict"]) == (200, "uncheckable")
        assert reason in report["reason"]
    failing = {"source": SOURCE, "response": "The verifier fails here."}
    report = client.post("/v1/check", json=failing).json()["report"]
    assert report["verdict"] == "uncheckable"


def test_batch_order(client: httpx.Client) -> None:
    responses = [f"The bridge opened in {year}." for year in range(1928, 1936)]
    items = [{"source": SOURCE, "response": text} for text in responses]
    body = client.post("/v1/check/batch", json={"items": items}).json()
    found = [report_in(result) for result in body["results"]]
    assert [untimed(report) for report in found] == [
        untimed(local(SOURCE, text)) for text in responses
    ]
    too_many = client.post("/v1/check/batch", json={"items": items * 2})
    assert "items: at most 8, not 16" in refused(too_many, "invalid_request")


def test_stream_order(client: httpx.Client) -> None:
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


def test_verdicts_come_early(client: httpx.Client) -> None:
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
        (b"[]", "invalid_request", "the body must be a JSON object"),
        (b'{"source": [{"id": "a"}], "response": "x"}', "invalid_request", "source.0.text: Field"),
        (b'{"source": "x", "response": "y", "body": 1}', "invalid_request", "body: unknown name"),
        (b"{}", "invalid_request", "source"),
        (b'{"source": 1, "response": "x"}', "invalid_request", "source"),
        (b'{"source": "x", "response": "y", "extra": 1}', "invalid_request", "extra: unknown name"),
        (b'{"source": "x", "responze": "y"}', "invalid_request", "responze: unknown name"),
        (b'{"source": "x", "response": "y", "threshold": NaN}', "invalid_json", "not finite"),
        (b'{"source": "x", "response": "y", "threshold": 2}', "invalid_request", "threshold: "),
        (b'{"source": "x", "response": "y", "timeout_seconds": 0}', "invalid_request", "timeout"),
        (b'{"source": "x", "response": "y", "missing": true}', "invalid_request", "a question"),
        (b'{"source": "x", "response": "y", "words": 1}', "invalid_request", "words"),
        (b'{"source": "x", "response": "y", "include": ["pdf"]}', "invalid_request", "include"),
        (b'{"source": "x", "response": "y", "extractor": "x"}', "invalid_request", "extractor"),
        (b'{"source": "x", "response": "y", "verifier": "hf:a/b"}', "unknown_model", "verifier"),
        (b'{"source": "x", "response": "y' + b"z" * 100_000 + b'"}', "too_large", "100,000"),
    ],
)
def test_bad_requests(client: httpx.Client, body: bytes, code: str, word: str) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/check", "/v1/check/stream"):
        message = refused(client.post(path, content=body, headers=headers), code)
        assert word in message
        assert "\n" not in message
        assert len(message) < 300


def test_body_without_its_content_type(client: httpx.Client) -> None:
    answer = client.post("/v1/check", content=json.dumps(ASKED))
    assert "sent as application/json" in refused(answer, "invalid_request")


def test_odd_characters(client: httpx.Client) -> None:
    odd = b'{"source": "The cat \\ud800 sat.\\u0000", "response": "The cat sat."}'
    answer = client.post("/v1/check", content=odd, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 422)
    assert client.post("/v1/check", json={**ASKED, "\ud800"[:0] + "é": 1}).status_code == 422


def test_worker_defect_shows_no_detail(client: httpx.Client) -> None:
    answer = client.post("/v1/check", json={**ASKED, "verifier": "broken"})
    message = refused(answer, "internal")
    assert "secret" not in message
    assert "LookupError" not in answer.text


def test_named_threshold(client: httpx.Client) -> None:
    """The small verifier has no operating points, and the service says so."""
    answer = client.post("/v1/check", json={**ASKED, "threshold": "recall"})
    error = answer.json()["error"]
    assert answer.status_code == 422
    assert "no operating point 'recall'" in error["message"]
    assert client.post("/v1/check", json={**ASKED, "threshold": "strict"}).status_code == 422


SETTINGS = CheckSettings(
    Configuration(verifier="some-model", threshold=0.3, seed=7), more_verifiers=("base",)
)


def resolve(**chosen: Any) -> Configuration:
    return resolve_options(SETTINGS, CheckOptions.model_validate(chosen))


def test_request_overrides_service() -> None:
    assert resolve() == resolve(verifier="some-model") == SETTINGS.configuration
    assert resolve(threshold=0.9) == SETTINGS.configuration.replaced(threshold=0.9)
    assert resolve(verifier="base").verifier is None
    with pytest.raises(ServiceError, match=r"GET /v1/models") as caught:
        resolve(verifier="hf:a/b")
    assert caught.value.code == "unknown_model"


def test_labels_of_error_types_reach_report_and_views(tmp_path: Path) -> None:
    checks = CheckSettings(Configuration(error_types={"date": "E2 <b>wrong date"}))
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{tmp_path / 'serve.db'}"), checks=checks, limits=Limits(rate=0)
    )
    # A threshold of its own needs a detector of its own, found by its configuration.
    asked = {"source": SOURCE, "response": "The bridge opened in 1923.", "threshold": 0.4}
    with http_front(settings) as service, service.client() as client:
        body = client.post("/v1/check", json={**asked, "include": ["view", "html"]}).json()
    (claim,) = body["report"]["claims"]
    assert (claim["error"]["kind"], claim["error"]["label"]) == ("date", "E2 <b>wrong date")
    assert "E2 <b>wrong date: “1923”" in json.dumps(body["view"], ensure_ascii=False)
    assert "E2 &lt;b&gt;wrong date: “1923”" in body["html"]


WRONG = "The bridge opened in 1923. Six lanes cross it. Zebras sing."


def test_repair(client: httpx.Client) -> None:
    body = {"source": SOURCE, "response": WRONG}
    before = client.post("/v1/check", json=body).json()["report"]
    answer = client.post("/v1/repair", json=body).raise_for_status().json()
    repair, view = answer["repair"], answer["view"]
    assert view[0] == ["h1", {"class": "repaired", "tabindex": "-1"}, "✓ Repaired"]
    before_text = ["section", {"class": "panel repair-text"}, ["h2", {}, "Before"]]
    assert json.dumps(before_text)[:-1] in json.dumps(view)
    assert (repair["outcome"], repair["reason"]) == ("repaired", None)
    assert repair["text"] == "The bridge opened in 1932. Six lanes cross it."
    assert [change["action"] for change in repair["changes"]] == ["changed", "kept", "removed"]
    assert repair["report"]["verdict"] == "faithful"
    assert repair["original"]["verdict"] == before["verdict"] == "hallucinated"
    again = client.post("/v1/check", json=body).json()["report"]
    assert again["verdict"] == "hallucinated", "a repair is not taken for a check"


def test_failed_repair(client: httpx.Client) -> None:
    body = {"source": SOURCE, "response": "Zebras sing."}
    repair = client.post("/v1/repair", json=body).json()["repair"]
    assert (repair["outcome"], repair["text"]) == ("failed", None)
    assert repair["reason"]
    for bad in ({"store": True}, {"max_rounds": 2}, {"response": 5}):
        refused(client.post("/v1/repair", json={**body, **bad}), "invalid_request")


def test_compare(client: httpx.Client) -> None:
    body = {"source": SOURCE, "a": RESPONSE, "b": "The bridge opened in 1932."}
    answer = client.post("/v1/compare", json=body).raise_for_status().json()
    assert answer["better"] == "b"
    assert [pair["relation"] for pair in answer["pairs"]] == ["same", "only_a", "only_a"]
    assert Report.from_dict(answer["a"]).response == RESPONSE
    assert answer["view"][0][0] == "h1"
    assert "No matching sentence in B." in json.dumps(answer["view"])
    refused(client.post("/v1/compare", json={**body, "store": True}), "invalid_request")
    refused(client.post("/v1/compare", json={"source": SOURCE, "a": "x"}), "invalid_request")


def docx_bytes(text: str) -> bytes:
    docx = pytest.importorskip("docx")
    document, file = docx.Document(), io.BytesIO()
    document.add_heading("Fares", 1)
    document.add_paragraph(text)
    document.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.txt", "Tickets cost 4 €.".encode(), "Tickets cost 4 €."),
        ("a.txt", "Der Fährmann wartet.".encode("latin-1"), "Der Fährmann wartet."),
        ("a.txt", "Der Fährmann wartet.".encode("utf-16"), "Der Fährmann wartet."),
        ("a.html", b"<p>Tickets <b>cost</b> four euros.</p>", "Tickets cost four euros."),
        ("a.docx", None, "# Fares\n\nTickets cost four euros."),
    ],
)
def test_files_are_read_as_by_the_command_line(
    client: httpx.Client, name: str, data: bytes | None, text: str
) -> None:
    data = docx_bytes("Tickets cost four euros.") if data is None else data
    answer = client.post("/v1/read", params={"name": name}, content=data)
    assert answer.json() == {"text": text}


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.png", b"\x89PNG\0", "'a.png' is a binary file"),
        ("a.pdf", b"%PDF-1.7 broken", "cannot be read as PDF"),
        ("a.txt", "Кафе".encode("cp1251"), "is not UTF-8 text"),
    ],
)
def test_other_files_are_refused(client: httpx.Client, name: str, data: bytes, why: str) -> None:
    answer = client.post("/v1/read", params={"name": name}, content=data)
    assert why in refused(answer, "invalid_request")
    refused(client.post("/v1/read", content=data), "invalid_request")
