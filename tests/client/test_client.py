"""The client against a real service."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from halldetect import Pair
from halldetect.errors import CheckError, InputError, ServiceError
from halldetect.repair.outcome import Repair
from halldetect_serve.client import Checked, Choices, Client, Event
from tests.support.api_requests import RESPONSE, SOURCE, local, untimed
from tests.support.fake_service import AWAKE
from tests.support.running import Reachable, eventually
from tests.support.upstreams import Script, upstream


def test_stream(service: Reachable) -> None:
    with Client(service.url) as client:
        *told, last = client.stream(SOURCE, f"{RESPONSE} Nobody has asked this before.")
    assert isinstance(last, Checked)
    events = [event for event in told if isinstance(event, Event)]
    assert events[0].name == "accepted"
    (claims,) = [event.data["claims"] for event in events if event.name == "claims"]
    assert [claim["text"] for claim in claims] == [claim.text for claim in last.report.claims]
    steps = [event.data for event in events if event.name == "progress"]
    done = {step["phase"] for step in steps if step["done"] == step["of"]}
    assert "verify" in done
    assert steps[0]["seconds_left"] is None, "too soon to say"


def test_client(service: Reachable) -> None:
    with Client(service.url) as client:
        stored = Choices(threshold=0.9, store=True)
        checked = client.check([SOURCE], RESPONSE, question="When?", choices=stored)
        assert untimed(checked.report).replace("When?", "") == untimed(
            local([SOURCE], RESPONSE, threshold=0.9)
        ).replace('"question": null', '"question": ""')
        assert checked.stored is not None
        assert client.report(checked.stored) == checked.report
        assert client.reports(limit=1)["reports"][0]["id"] == checked.stored
        assert client.summary()["total"] >= 1
        client.delete(checked.stored)
        with pytest.raises(ServiceError, match="no such report") as caught:
            client.report(checked.stored)
        assert (caught.value.code, caught.value.status) == ("not_found", 404)
        assert caught.value.request_id
        many = client.check_many([Pair(SOURCE, RESPONSE), Pair(SOURCE, "")])
        assert [str(one.report.verdict) for one in many] == ["hallucinated", "uncheckable"]
        toll = "Cars and lorries pay four euros of toll at weekends."
        asks = Pair(toll, "The bridge opened in 1932.", "What is the toll?")
        more = Choices(missing=True, words=True)
        checked = client.check(toll, asks.response, question=asks.question, choices=more)
        assert [item.text for item in checked.report.missing] == [toll]
        (asked,) = client.check_many([asks], choices=more)
        assert asked.report.missing == checked.report.missing
        assert client.models()["defaults"]["verifier"] == "base"


def test_refusals_of_a_stream(
    service: Reachable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AWAKE, str(tmp_path / "awake"))
    with Client(service.url) as client:
        with pytest.raises(ServiceError, match="verifier") as caught:
            list(client.stream(SOURCE, RESPONSE, choices=Choices(verifier="nothing")))
        assert caught.value.code == "unknown_model"
        hasty = Choices(timeout_seconds=0.05)
        with pytest.raises(ServiceError, match="time is up"):
            list(client.stream(SOURCE, "Somebody sleeps 60000 ms a day.", choices=hasty))
    (tmp_path / "awake").touch()
    eventually(service.idle)


def test_nobody_there() -> None:
    with Client("http://127.0.0.1:9") as client:
        with pytest.raises(ServiceError, match="does not answer") as caught:
            client.models()
        assert caught.value.code == "unreachable"
        with pytest.raises(ServiceError, match="does not answer"):
            list(client.stream(SOURCE, RESPONSE))


def asked(script: Script, retries: int) -> Any:
    with Client(script.url.removesuffix("/v1"), retries=retries) as client:
        return client.check(SOURCE, RESPONSE)


def test_busy_service_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with upstream() as script:
        script.status, script.headers = 429, {"Retry-After": "3"}
        script.body = b'{"error": {"code": "queue_full", "message": "m", "request_id": "r"}}'
        with pytest.raises(ServiceError) as caught:
            asked(script, 2)
        assert (caught.value.code, caught.value.retry_after) == ("queue_full", 3.0)
        assert (pauses, len(script.asked)) == ([3.0, 3.0], 3)
        script.status, script.body = 502, b"<html>"
        with pytest.raises(ServiceError, match="answered 502"):
            asked(script, 2)
        assert len(script.asked) == 4


def test_cut_stream() -> None:
    with upstream() as script:
        script.body = b'event: accepted\ndata: {"queued": 0}\n\n'
        with (
            Client(script.url.removesuffix("/v1")) as client,
            pytest.raises(ServiceError, match="without a report"),
        ):
            list(client.stream(SOURCE, RESPONSE))


def test_the_token_is_sent(service: Reachable) -> None:
    seen: list[httpx.Request] = []
    with Client(service.url, token="hd_x") as client:
        client._http.event_hooks = {"request": [seen.append]}
        client.models()
    assert seen[0].headers["Authorization"] == "Bearer hd_x"


def test_a_repair(service: Reachable) -> None:
    source = "The bridge opened in 1932. Six lanes cross it."
    response = "The bridge opened in 1923. Six lanes cross it. Zebras sing."

    with Client(service.url) as client:
        repair = client.repair(source, response)
        with pytest.raises(ServiceError, match="store: "):
            client.repair(source, response, choices=Choices(store=True))
    assert repair.text == "The bridge opened in 1932. Six lanes cross it."
    assert [str(change.action) for change in repair.changes] == ["changed", "kept", "removed"]
    assert Repair.from_dict(repair.to_dict()) == repair
    broken = {**repair.to_dict(), "text": "Zebras sing."}
    with pytest.raises(CheckError):
        Repair.from_dict(broken)
    for bad in ({}, [], None, {**repair.to_dict(), "outcome": "fine"}):
        with pytest.raises(InputError):
            Repair.from_dict(bad)
