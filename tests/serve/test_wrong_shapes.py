"""Any JSON value in any field of a request is accepted, or refused with the name of the field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings, UpstreamSettings
from tests.support.running import http_front
from tests.support.upstreams import upstream

ITEM = {"source": "The ferry is free.", "response": "The ferry costs money.", "question": "Free?"}
OPTIONS = {"threshold": 0.5, "verifier": None, "store": False, "timeout_seconds": 60}
CALL = {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Context: The ferry is free.", "name": "source"},
        {"role": "user", "content": [{"type": "text", "text": "What does the ferry cost?"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "It is free.", "tool_call_id": "a", "name": "find"},
    ],
    "tools": [{"type": "function", "function": {"name": "find", "parameters": {}}}],
    "stream": False,
    "halldetect": {**OPTIONS, "sources": ["The ferry is free."]},
}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/check": {**ITEM, **OPTIONS, "include": ["markdown"], "conversation": False},
    "/v1/check/stream": {**ITEM, **OPTIONS, "include": ["markdown"], "conversation": False},
    "/v1/check/batch": {"items": [ITEM], **OPTIONS},
    "/v1/repair": {**ITEM, **OPTIONS},
    "/v1/compare": {"source": [{"id": "a", "text": "b"}], "a": "It is.", "b": "So.", **OPTIONS},
    "/v1/chat/completions": CHAT,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "text", "role", "content", "name", "type", "function", "a"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a body."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in inside:
        yield (*path, key)
        if isinstance(below, (dict, list)):
            yield from places(below, (*path, key))


def changed(body: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a body with another value at a path."""
    body = deepcopy(body)
    *before, last = path
    inner: Any = body
    for key in before:
        inner = inner[key]
    inner[last] = value
    return body


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    place: Path = tmp_path_factory.mktemp("shapes") / "serve.db"
    with upstream() as script:
        wanted = ServiceSettings(
            StorageSettings(f"sqlite:///{place}", reports=True),
            limits=Limits(rate=0, queue=1000),
            upstream=UpstreamSettings(script.url),
        )
        with http_front(wanted) as front, front.client() as client:
            yield client


def send(client: httpx.Client, route: str, path: tuple[Any, ...], value: Any) -> None:
    content = json.dumps(changed(BODIES[route], path, value))
    answer = client.post(route, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500 or answer.status_code == 504, (path, value, answer.text)
    if answer.status_code == 422:
        message = answer.json()["error"]["message"]
        assert any(str(key) in message for key in path if isinstance(key, str)), (path, message)


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
@pytest.mark.parametrize("path", [("model",), ("temperature",), ("tools", 0, "type")])
def test_numbers_that_are_not_finite_are_not_passed_on(
    client: httpx.Client, path: tuple[Any, ...], value: float
) -> None:
    content = json.dumps(changed(CHAT, path, value))
    kind = {"Content-Type": "application/json"}
    answer = client.post("/v1/chat/completions", content=content, headers=kind)
    assert answer.status_code == 400, answer.text
    assert "not finite" in answer.json()["error"]["message"]


def test_a_lone_surrogate_is_passed_on(client: httpx.Client) -> None:
    content = json.dumps(changed(CHAT, ("temperature",), "\ud800"))
    kind = {"Content-Type": "application/json"}
    assert client.post("/v1/chat/completions", content=content, headers=kind).status_code == 200


@pytest.mark.parametrize("route", BODIES)
def test_any_value_in_any_field(client: httpx.Client, route: str) -> None:
    @settings(
        max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(path=st.sampled_from(list(places(BODIES[route]))), value=VALUES)
    def try_one(path: tuple[Any, ...], value: Any) -> None:
        send(client, route, path, value)

    try_one()


@pytest.mark.parametrize("value", [None, 3, "a", [], {}, [3], {"a": []}])
def test_wrong_shapes_of_every_field(client: httpx.Client, value: Any) -> None:
    for route, body in BODIES.items():
        if route != "/v1/check/stream":  # its requests are those of /v1/check
            for path in places(body):
                send(client, route, path, value)
