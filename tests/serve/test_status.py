"""Health, models, metrics and the API description."""

from __future__ import annotations

import json

import httpx
import jsonschema

from halldetect.verification.presets import describe_verifier
from tests.support.api_requests import ASKED


def test_what_the_service_says_of_itself(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    models = client.get("/v1/models").json()
    assert models["verifiers"][0] == {"name": "base", "description": describe_verifier(None)}
    assert [verifier["name"] for verifier in models["verifiers"]] == ["base", "broken"]
    assert models["defaults"] == {"verifier": "base", "threshold": 0.5}
    assert (models["data"], models["upstream_error"]) == ([], None)  # there is no upstream
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


def test_the_published_description_is_that_of_the_answers(client: httpx.Client) -> None:
    published = client.get("/openapi.json").json()
    answer = client.post("/v1/check", json={**ASKED, "include": ["view"]}).json()
    schema = {**published["components"]["schemas"]["CheckResult"]}
    schema["components"] = published["components"]
    jsonschema.validate(answer, schema)
    for path, methods in published["paths"].items():
        for method in methods.values():
            assert "Problem" in json.dumps(method["responses"]["429"]), path
