"""The command itself, with the models a user has."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from halldetect import Report
from halldetect.errors import ServiceError
from halldetect.report import demo
from halldetect_serve.client import Choices, Client, Event
from tests.support.running import eventually, serving

pytestmark = pytest.mark.slow


def test_the_demo_over_http_is_the_demo() -> None:
    with serving(real=True) as service, Client(service.url) as client:
        report = client.check(demo.SOURCE, demo.RESPONSE).report
        assert demo.deviations(report) == []
        told = [it for it in client.stream(demo.SOURCE, demo.RESPONSE) if isinstance(it, Event)]
        (claims,) = [event.data["claims"] for event in told if event.name == "claims"]
        assert [claim["text"] for claim in claims] == [claim.text for claim in report.claims]
        last = {it.data["place"]: it.data["claim"] for it in told if it.name == "verdict"}
        states = [last[place]["status"] for place in sorted(last)]
        assert states == [claim.status for claim in report.claims]


def test_a_real_worker_killed_half_way() -> None:
    """Native code does not get to clean up, and need not."""
    with serving(real=True) as service:
        long = " ".join([demo.RESPONSE] * 20)
        with httpx.Client(base_url=service.url, timeout=60) as client:
            with ThreadPoolExecutor(1) as pool:
                body = {"source": demo.SOURCE * 20, "response": long}
                asked = pool.submit(client.post, "/v1/check", json=body)
                eventually(lambda: "halldetect_worker_running 1.0" in client.get("/metrics").text)
                os.kill(service.worker(), signal.SIGKILL)
                assert asked.result(30).json()["error"]["code"] == "worker_failed"
            eventually(lambda: client.get("/readyz").status_code == 200, 60)
            again = client.post(
                "/v1/check", json={"source": demo.SOURCE, "response": demo.RESPONSE}
            ).json()
            assert Report.from_json(json.dumps(again["report"])).verdict == "hallucinated"


def test_unknown_model_is_one_line() -> None:
    with (
        pytest.raises(AssertionError, match=r"ended with [23]: halldetect: [^\n]+\n$"),
        serving("--verifier", "no-such-model", real=True),
    ):
        pass


def test_offered_verifier_that_cannot_be_loaded() -> None:
    with (
        serving("--offer-verifier", "no-such-model", real=True) as it,
        Client(it.url, retries=0) as client,
    ):
        with pytest.raises(ServiceError) as caught:
            client.check(demo.SOURCE, demo.RESPONSE, choices=Choices(verifier="no-such-model"))
        assert caught.value.code in ("model_unavailable", "invalid_request")
        assert client.check(demo.SOURCE, demo.RESPONSE).report.verdict == "hallucinated"
