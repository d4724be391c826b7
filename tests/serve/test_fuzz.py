"""Requests made up from the published description, and requests that break it on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from halldetect_serve.access import create_token
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings, UpstreamSettings
from tests.support.running import http_front
from tests.support.upstreams import upstream

schemathesis = pytest.importorskip("schemathesis", reason="needs the extra fuzz")
pytestmark = pytest.mark.slow
checks = pytest.importorskip("schemathesis.specs.openapi.checks")


POSITIVE, NEGATIVE = schemathesis.GenerationMode


@contextmanager
def described(place: Path, *, auth: bool) -> Iterator[tuple[Any, dict[str, str]]]:
    """The description of a running service, and the headers that let one in."""
    limits = Limits(rate=0, queue=1000, max_items=64)
    with upstream() as script:
        wanted = ServiceSettings(
            StorageSettings(f"sqlite:///{place}", reports=True),
            auth=auth,
            tokens=place.with_name("tokens"),
            limits=limits,
            upstream=UpstreamSettings(script.url),
        )
        with http_front(wanted) as service:
            headers = {}
            if auth:
                secret = create_token(wanted.tokens, "fuzz", ["admin"])
                headers = {"Authorization": f"Bearer {secret}"}
            yield schemathesis.openapi.from_url(f"{service.url}/openapi.json"), headers


@pytest.mark.parametrize(("mode", "auth"), [(POSITIVE, True), (NEGATIVE, False)])
def test_every_answer_is_as_described(tmp_path: Path, mode: Any, auth: bool) -> None:
    """No 500, no answer the description does not know, no misfit that is let through.

    Misfits are tried where no token is needed: a missing one would count as a misfit, too.
    """
    with described(tmp_path / "serve.db", auth=auth) as (schema, headers):
        check_operations(schema, headers, mode)


def check_operations(schema: Any, headers: dict[str, str], mode: Any) -> None:
    seen: set[str] = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        seen.add(f"{operation.method.upper()} {operation.path}")
        try:
            cases = operation.as_strategy(generation_mode=mode)
            fuzz(cases, headers)
        except Unsatisfiable:  # nothing of a request without input can be wrong
            assert mode is NEGATIVE
    assert len(seen) > 10


def refused(options: object, text: str) -> bool:
    """Return True for a refusal that no schema tells.

    A named threshold belongs to a verifier, and `missing` needs a question.
    """
    if not isinstance(options, dict):
        return False
    named = isinstance(options.get("threshold"), str) and "threshold" in text
    return named or (options.get("missing") is True and "missing: needs a question" in text)


def fuzz(cases: Any, headers: dict[str, str]) -> None:
    @settings(
        max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        answer = case.call(headers=headers, timeout=30)
        body = case.body if isinstance(case.body, dict) else {}
        chosen = body.get("halldetect") or body
        if answer.status_code == 504:
            assert chosen["timeout_seconds"] < 5, "time is up only for a short timeout"
        elif answer.status_code != 422 or not refused(chosen, answer.text):
            # In a query everything is text, so a filter that takes any text has no misfit.
            free = case.operation.path.startswith("/v1/reports")
            excluded = [checks.negative_data_rejection] if free else []
            # These need a condition, or a file that can be read, which no schema can say.
            if answer.request.method == "DELETE" or case.operation.path == "/v1/read":
                excluded.append(checks.positive_data_acceptance)
            case.validate_response(answer, headers=headers, excluded_checks=excluded)

    ask()
