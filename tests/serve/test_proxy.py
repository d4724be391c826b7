"""The guarding proxy in front of a real HTTP server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halldetect.detector import Detector
from halldetect_serve.proxy.answer import Choice, Vocabulary
from halldetect_serve.proxy.chat import GuardedChoice
from halldetect_serve.proxy.messages import ChatRequest
from halldetect_serve.proxy.rag_prompt import SourcePlaces
from halldetect_serve.settings import (
    ACTIONS,
    Limits,
    ServiceSettings,
    StorageSettings,
    UpstreamSettings,
)
from tests.support.api_requests import refused
from tests.support.fake_service import AWAKE
from tests.support.fakes import OverlapVerifier
from tests.support.running import Reachable, eventually, http_front
from tests.support.upstreams import Script, upstream

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it."
GOOD, BAD = "Six lanes cross it.", "It is 400 metres long. Six lanes cross it."
KEY = "sk-upstream-secret"
Proxies = dict[str, Reachable]
TOOL = {"name": "send", "parameters": {"properties": {"to": {}, "body": {}, "text": {}}}}
TOOLS = [{"type": "function", "function": TOOL}]
ASKED = {
    "model": "m",
    "temperature": 0.1,
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "How long is it?"}],
    "halldetect": {"sources": [SOURCE]},
}


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    with upstream() as script:
        yield script


@pytest.fixture(scope="module")
def proxies(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxies]:
    """One service for each action."""
    with ExitStack() as stack:
        found = {}
        for action in ACTIONS:
            place = tmp_path_factory.mktemp(action) / "serve.db"
            settings = ServiceSettings(
                StorageSettings(f"sqlite:///{place}", reports=True),
                limits=Limits(rate=0, queue=4, max_items=4),
                upstream=UpstreamSettings(
                    script.url, action, key=KEY, timeout=60, max_bytes=50_000
                ),
            )
            found[action] = stack.enter_context(http_front(settings))
        yield found


@pytest.fixture(autouse=True)
def forgetful(script: Script) -> None:
    forget(script)


def forget(script: Script) -> None:
    fresh = Script()
    for item in fields(Script):
        if item.name != "url":
            setattr(script, item.name, getattr(fresh, item.name))


def chat(service: Reachable, **more: Any) -> httpx.Response:
    with service.client() as client:
        return client.post("/v1/chat/completions", json={**ASKED, **more})


def streamed(answer: httpx.Response) -> tuple[list[dict[str, Any]], bool]:
    """The chunks, and whether the stream came to its proper end."""
    data = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    done = data[-1] == "[DONE]"
    return [json.loads(item) for item in (data[:-1] if done else data)], done


def said(chunks: list[dict[str, Any]], index: int = 0) -> str:
    deltas = [
        choice["delta"].get("content") or ""
        for chunk in chunks
        for choice in chunk["choices"]
        if choice["index"] == index
    ]
    return "".join(deltas).strip()


def test_an_answer_is_annotated(proxies: Proxies, script: Script) -> None:
    script.answers = [[BAD, GOOD]]
    body = chat(proxies["annotate"]).json()
    assert [choice["message"]["content"] for choice in body["choices"]] == [BAD, GOOD]
    found = body["halldetect"]
    assert (found["mode"], found["error"]) == ("annotate", None)
    bad, good = found["choices"]
    assert (bad["verdict"], bad["action"]) == ("hallucinated", "annotated")
    assert bad["claims"][0]["status"] == "contradicted"
    assert bad["claims"][0]["span"] == {"start": 0, "end": 22}
    assert bad["claims"][0]["passage"] == {
        "text": "It is 503 metres long.",
        "document": 0,
        "span": {"start": 27, "end": 49},
    }
    (words,) = bad["claims"][0]["wrong"]
    assert BAD[words["span"]["start"] : words["span"]["end"]] == words["words"]
    assert (good["verdict"], good["action"]) == ("faithful", "passed")


def test_operator_names_source_places(script: Script, tmp_path: Path) -> None:
    places = SourcePlaces(markers=(("[[KB]]", "[[/KB]]"),), path="metadata.documents.text")
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{tmp_path / 'x.db'}"),
        upstream=UpstreamSettings(script.url, sources=places),
    )
    prompt = {"role": "system", "content": f"Answer from [[KB]]{SOURCE}[[/KB]] only."}
    with http_front(settings) as service:
        for more in (
            {"messages": [prompt, *ASKED["messages"]]},
            {"metadata": {"documents": [{"text": SOURCE}]}},
        ):
            script.answers = [[BAD]]
            (choice,) = chat(service, halldetect=None, **more).json()["halldetect"]["choices"]
            assert choice["verdict"] == "hallucinated"
            assert "503" in choice["claims"][0]["passage"]["text"]
        script.answers = [[BAD]]
        (choice,) = chat(service, halldetect=None, tools=None).json()["halldetect"]["choices"]
        assert choice["verdict"] == "uncheckable"


def test_upstream_sees_nothing_of_ours(proxies: Proxies, script: Script) -> None:
    with proxies["annotate"].client("hd_callers-token") as client:
        client.post("/v1/chat/completions", json=ASKED, headers={"X-Private": "1"})
    assert script.asked == [
        {name: value for name, value in {**ASKED, "stream": False}.items() if name != "halldetect"}
    ]
    assert script.paths == ["/v1/chat/completions"]
    (seen,) = script.seen
    assert seen["authorization"] == f"Bearer {KEY}"
    assert "hd_callers-token" not in json.dumps(seen)
    assert "x-private" not in seen


def test_a_request_cannot_name_an_upstream(proxies: Proxies, script: Script) -> None:
    for more in ({"base_url": "http://127.0.0.1:1"}, {"upstream": "http://127.0.0.1:1"}):
        assert chat(proxies["annotate"], **more).status_code == 200
    inside_ours = {"halldetect": {"sources": [SOURCE], "upstream": "http://127.0.0.1:1"}}
    refused(chat(proxies["annotate"], **inside_ours), "invalid_request")
    assert len(script.asked) == 2, "both went to the one and only"


def test_a_stream_is_annotated_as_it_passes(proxies: Proxies, script: Script) -> None:
    script.answers, script.pause = [[BAD]], 0.02
    with (
        proxies["annotate"].client() as client,
        client.stream("POST", "/v1/chat/completions", json={**ASKED, "stream": True}) as answer,
    ):
        lines = answer.iter_lines()
        first = next(line for line in lines if "It" in line)
        assert "halldetect" not in first, "text comes before the verdict"
        rest = [line for line in lines if line.startswith("data: ")]
    assert rest[-1] == "data: [DONE]"
    last = json.loads(rest[-2][6:])
    assert last["choices"] == []
    assert last["halldetect"]["choices"][0]["verdict"] == "hallucinated"


@pytest.mark.parametrize("stream", [False, True])
def test_bad_answer_is_blocked(proxies: Proxies, script: Script, stream: bool) -> None:
    script.answers = [[BAD, GOOD]]
    answer = chat(proxies["block"], stream=stream, n=2)
    if stream:
        chunks, done = streamed(answer)
        assert done
        texts = [said(chunks, 0), said(chunks, 1)]
        found = chunks[-1]["halldetect"]
        ends = [
            choice.get("finish_reason")
            for chunk in chunks
            for choice in chunk["choices"]
            if choice["index"] == 0
        ]
        assert ends == ["content_filter"]
    else:
        body = answer.json()
        texts = [choice["message"]["content"] for choice in body["choices"]]
        found = body["halldetect"]
        assert body["choices"][0]["finish_reason"] == "content_filter"
    claims = 1 if stream else 2  # a stream ends with the first sentence that fails
    assert [text.strip() for text in texts] == [
        f"This answer was held back: 1 of {claims} claims are not backed by the sources.",
        GOOD,
    ]
    assert "400 metres" not in json.dumps(texts)
    assert [choice["action"] for choice in found["choices"]] == ["blocked", "passed"]


def test_where_the_sources_are_found() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "source", "content": [{"type": "text", "text": "One."}, {"x": 1}]},
        {"role": "tool", "content": "Two."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": None},
    ]
    request = ChatRequest(messages=messages)
    read = request.read(SourcePlaces())
    assert (read.sources, read.question) == (["One.", "Two."], "And?")
    before = json.loads(f"{read.before}null]")[:-1]
    assert (read.documents, [item["role"] for item in before]) == (
        [], ["system", "system", "tool", "user", "assistant"],
    )  # fmt: skip
    named = ChatRequest.model_validate(
        {"messages": messages, "halldetect": {"sources": ["Three."]}}
    )
    assert named.read(SourcePlaces()).sources == ["Three."]
    assert named.read(SourcePlaces()).documents == ["Three."]
    unknown = [{"role": "critic", "content": "Bees fly."}, {"role": "tool", "content": "Two."}]
    read = ChatRequest(messages=unknown).read(SourcePlaces())
    assert (read.documents, read.before) == (["Two."], "[")


def test_no_source_is_never_faithful(proxies: Proxies, script: Script) -> None:
    body = chat(proxies["block"], halldetect=None, tools=None).json()
    (found,) = body["halldetect"]["choices"]
    assert (found["verdict"], found["reason"]) == ("uncheckable", "the source has no text")
    assert (found["action"], body["choices"][0]["message"]["content"]) == ("passed", GOOD)


def test_an_answer_without_text_passes(proxies: Proxies, script: Script) -> None:
    # Words of the request need no check; everything else in a call is judged.
    message = {"role": "assistant", "content": None, "tool_calls": tool_call(to="1932", text=None)}
    script.body = raw_answer({"index": 0, "message": message})
    body = chat(proxies["block"]).json()
    (call,) = body["choices"][0]["message"]["tool_calls"]
    arguments = json.dumps({"to": "1932", "text": None})
    assert call["function"] == {"name": "send", "arguments": arguments}
    assert call["id"] != "t", "the upstream's names of calls are not passed on"
    (found,) = body["halldetect"]["choices"]
    assert (found["verdict"], found["checked_fields"]) == ("faithful", ["tool_calls"])


REQUEST = "My order 77120 is a grey lamp. Please cancel it tomorrow and mail lou@petrel.example."
AGENT: list[dict[str, Any]] = [{"role": "user", "content": REQUEST}]
CANCEL = {"name": "cancel", "parameters": {"properties": {"order_id": {}, "date": {}, "mail": {}}}}
CANCELLED = [
    *AGENT,
    {"role": "assistant", "tool_calls": [
        {"id": "c1", "function": {"name": "cancel", "arguments": '{"order_id": "77120"}'}}
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "cancelled"}'},
]  # fmt: skip
REFUSED = [*CANCELLED[:-1], {**CANCELLED[-1], "content": '{"error": "the order has left"}'}]


def agent_answer(
    service: Reachable, script: Script, messages: list[Any], stream: bool, **message: Any
) -> tuple[dict[str, Any], str]:
    """The annotation of the only choice, and all that the proxy shows."""
    part = {"index": 0, "delta" if stream else "message": {"role": "assistant", **message}}
    script.body = raw_stream(part) if stream else raw_answer(part)
    tools = [{"type": "function", "function": CANCEL}]
    answer = chat(service, messages=messages, tools=tools, stream=stream, halldetect=None)
    (found,) = (streamed(answer)[0][-1] if stream else answer.json())["halldetect"]["choices"]
    shown = streamed(answer)[0][:-1] if stream else answer.json()["choices"]
    return found, json.dumps(shown)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("messages", "text", "reason"),
    [
        (AGENT, "I have cancelled your order.", "no tool result shows this action"),
        (AGENT, "Done.", "no tool result shows this action"),
        (REFUSED, "I have cancelled your order.", "tool cancel reported an error"),
        (CANCELLED, "Your receipt is RC-40418.", "RC-40418 occurs in nothing before"),
        (CANCELLED, "I have cancelled your order.", None),
        (AGENT, "My order 77120 is a grey lamp.", None),
    ],
)
def test_actions_of_an_agent_are_checked(
    proxies: Proxies, script: Script, messages: list[Any], text: str, reason: str, stream: bool
) -> None:
    for action in ("annotate", "block", "repair"):
        found, shown = agent_answer(proxies[action], script, messages, stream, content=text)
        if reason is None:
            assert (found["verdict"], text in shown) == ("faithful", True)
            continue
        assert found["verdict"] == "hallucinated"
        assert reason in str(found["claims"][0]["reason"])
        assert (text in shown) == (action == "annotate")


@pytest.mark.parametrize("stream", [False, True])
def test_a_repair_for_an_agent_is_held_against_its_tools(
    proxies: Proxies, script: Script, stream: bool
) -> None:
    # The words are in a result, so a repair leaves them; but the call failed.
    text = "I have cancelled your order."
    refused = json.dumps({"error": "the order has left", "template": text})
    messages = [*CANCELLED[:-1], {**CANCELLED[-1], "content": refused}]
    found, shown = agent_answer(proxies["repair"], script, messages, stream, content=text)
    assert (found["verdict"], found["action"]) == ("hallucinated", "blocked")
    assert text not in shown
    assert "held back" in shown


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"order_id": "77120"}, None),
        ({"order_id": "77102"}, "this id occurs in nothing before"),
        ({"order_id": ["77120", "77102"]}, "this id occurs in nothing before"),
        ({"order_id": "77120", "date": "2026-03-04"}, None),  # tomorrow
        ({"order_id": "77120", "mail": "lou@petrel.example"}, None),
        ({"order_id": "77120", "mail": "sue@petrel.example"}, "this address occurs in nothing"),
    ],
)
def test_values_in_calls_of_an_agent_are_checked(
    proxies: Proxies, script: Script, arguments: dict[str, Any], wrong: str | None, stream: bool
) -> None:
    function = {"name": "cancel", "arguments": json.dumps(arguments)}
    calls = [{"index": 0, "id": "t", "function": function}]
    found, shown = agent_answer(proxies["block"], script, AGENT, stream, tool_calls=calls)
    assert found["checked_fields"] == ["tool_calls"]
    assert found["verdict"] == ("faithful" if wrong is None else "hallucinated")
    assert ("tool_calls" in shown) == (wrong is None)
    reasons = [claim["reason"] or "" for claim in found["claims"]]
    assert any(wrong in reason for reason in reasons) if wrong else not any(reasons)


def test_proxy_gives_the_report_of_the_conversation(proxies: Proxies, script: Script) -> None:
    text = "I have cancelled your order. Your receipt is RC-40418. The refund takes two days."
    found, _ = agent_answer(proxies["annotate"], script, CANCELLED, False, content=text)
    detector = Detector(OverlapVerifier())
    report = detector.check_conversation(
        [*CANCELLED, {"role": "assistant", "content": text}], start=len(CANCELLED)
    ).turns[0].report  # fmt: skip
    wanted = [(claim.text, claim.status, claim.reason) for claim in report.claims]
    assert [
        (claim["text"], claim["status"], claim["reason"]) for claim in found["claims"]
    ] == wanted


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("send", '{"text": "It_is_400_metres_long"}'),
        ("send", '{"text": 400}'),
        ("send", '{"text": ["It", "is", "400", "metres", "long"]}'),
        ("send", '{"It_is_400_metres_long": 1932}'),
        ("send", '{"to": "1932", "to": "400"}'),
        ("send", '{"to": 1e999}'),
        ("It_is_400_metres_long", "{}"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_calls_carry_nothing_unjudged(
    proxies: Proxies, script: Script, name: str, arguments: str, stream: bool
) -> None:
    calls = [{"index": 0, "id": BAD, "function": {"name": name, "arguments": arguments}}]
    part = {"index": 0, "delta" if stream else "message": {"content": GOOD, "tool_calls": calls}}
    script.body = raw_stream(part) if stream else raw_answer(part)
    answer = chat(proxies["block"], stream=stream)
    parts = streamed(answer)[0][:-1] if stream else [answer.json()]
    shown = json.dumps([part["choices"] for part in parts])  # without their random ids
    assert "400" not in shown
    assert "tool_calls" not in shown


@pytest.mark.parametrize(
    ("status", "headers", "body", "code", "word"),
    [
        (302, {"Location": "http://127.0.0.1:1/"}, b"", "upstream_error", "answered 302"),
        (500, {}, b"a trace", "upstream_error", "answered 500"),
        (401, {}, KEY.encode(), "upstream_error", "answered 401"),
        (400, {}, b"bad model; key " + KEY.encode(), "invalid_request", "bad model; key ***"),
        (429, {"Retry-After": "7"}, b"", "rate_limited", "too often"),
        (200, {}, b"<html>", "upstream_error", "did not send a JSON"),
        (200, {}, b'{"choices": 1}', "upstream_error", "no chat completion"),
        (200, {}, b'{"choices": [1]}', "upstream_error", "no chat completion"),
        (200, {}, b'{"choices": "' + b"x" * 60_000 + b'"}', "upstream_error", "too large"),
    ],
)
def test_an_upstream_that_fails(
    proxies: Proxies,
    script: Script,
    status: int,
    headers: dict[str, str],
    body: bytes,
    code: str,
    word: str,
) -> None:
    script.status, script.headers, script.body = status, headers, body
    answer = chat(proxies["annotate"])
    assert word in refused(answer, code)
    assert KEY not in answer.text
    assert len(script.asked) == 1, "no redirect is followed"
    if code == "rate_limited":
        assert answer.headers["Retry-After"] == "7"
    if status != 200:
        refused(chat(proxies["annotate"], stream=True), code)


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    nowhere = UpstreamSettings("http://127.0.0.1:9/v1", timeout=2)
    settings = ServiceSettings(StorageSettings(f"sqlite:///{tmp_path / 'x.db'}"), upstream=nowhere)
    with http_front(settings) as service:
        assert "ConnectError" in refused(chat(service), "upstream_error")


def listed(service: Reachable) -> tuple[list[dict[str, Any]], str | None]:
    """The models of the upstream, and why they are not known."""
    with service.client() as client:
        answer = client.get("/v1/models")
    assert answer.status_code == 200
    found = answer.json()
    assert found["object"] == "list"
    assert found["verifiers"][0]["name"] == "base"  # what the page needs is always there
    return found["data"], found["upstream_error"]


def test_models_of_upstream(proxies: Proxies, script: Script) -> None:
    script.models = [
        {"id": "small", "object": "model", "created": 7, "owned_by": "us", "path": "/secret"},
        {"id": "bare", "created": None},
    ]
    assert listed(proxies["block"]) == (
        [
            {"id": "small", "object": "model", "created": 7, "owned_by": "us"},
            {"id": "bare", "object": "model", "created": 0, "owned_by": ""},
        ],
        None,
    )
    assert script.paths == ["/v1/models"]
    assert script.seen[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"status": 404}, "answered 404"),
        ({"status": 302, "headers": {"Location": "/v1/other"}}, "answered 302"),
        ({"body": b"<html>"}, "did not send a JSON object"),
        ({"body": b'{"data": {"id": "m"}}'}, "no list of models"),
        ({"body": b" " * 60_000}, "too large"),
        ({"models": [{"id": "m"}, {"name": "n"}]}, "no list of models"),
        ({"models": ["m"]}, "no list of models"),
        ({"models": [{"id": "\ud800"}]}, "did not send a JSON object"),
        ({"pause": 1.0}, "within 0 seconds"),
    ],
)
def test_unlisted_models(
    proxies: Proxies,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, Any],
    message: str,
) -> None:
    if "pause" in answer:
        monkeypatch.setattr("halldetect_serve.proxy.upstream._LIST_SECONDS", 0.1)
    for name, value in answer.items():
        setattr(script, name, value)
    found, why = listed(proxies["annotate"])
    assert found == []
    assert why is not None
    assert message in why
    assert KEY not in why


@pytest.mark.parametrize("stream", [False, True])
def test_failed_check_is_reported(
    proxies: Proxies,
    script: Script,
    stream: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(AWAKE, str(tmp_path / "awake"))
    script.answers = [["Somebody sleeps 60000 ms a day."]]
    late = {"sources": [SOURCE], "timeout_seconds": 0.1}
    annotated, answer = (
        chat(proxies[action], halldetect=late, stream=stream) for action in ("annotate", "block")
    )
    (tmp_path / "awake").touch()
    for action in ("annotate", "block"):
        eventually(proxies[action].idle)
    body = streamed(annotated)[0][-1] if stream else annotated.json()
    assert body["halldetect"]["error"]["code"] == "deadline_exceeded"
    if stream:
        chunks, done = streamed(answer)
        assert (chunks[-1]["error"]["code"], done) == ("deadline_exceeded", False)
    else:
        refused(answer, "deadline_exceeded")
    assert "Somebody" not in answer.text


def test_answers_are_kept_where_asked_for(proxies: Proxies, script: Script) -> None:
    asked = {"sources": [SOURCE], "store": True}
    (choice,) = chat(proxies["annotate"], halldetect=asked).json()["halldetect"]["choices"]
    with proxies["annotate"].client() as client:
        kept = client.get(choice["stored"]["url"]).json()
    assert (kept["response"], kept["question"]) == (GOOD, "How long is it?")


def raw_answer(*choices: dict[str, Any]) -> bytes:
    return json.dumps({"id": "c-1", "choices": list(choices)}).encode()


def raw_stream(*choices: dict[str, Any]) -> bytes:
    lines = [f"data: {json.dumps({'id': 'c-1', 'choices': [choice]})}\n\n" for choice in choices]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


@pytest.mark.parametrize("first", [0, False, None, "absent"])
@pytest.mark.parametrize("action", ["annotate", "block"])
def test_two_choices_with_one_index(
    proxies: Proxies, script: Script, first: object, action: str
) -> None:
    indices: list[dict[str, Any]] = [{} if first == "absent" else {"index": first}, {"index": 0}]
    script.body = raw_answer(
        {**indices[0], "message": {"content": BAD}}, {**indices[1], "message": {"content": GOOD}}
    )
    answer = chat(proxies[action])
    if action == "annotate":  # the answer is passed with the error: nothing is called faithful
        found = answer.json()["halldetect"]
        assert (found["choices"], found["error"]["code"]) == ([], "upstream_error")
    else:
        assert "index" in refused(answer, "upstream_error")
        assert "400 metres" not in answer.text


@pytest.mark.parametrize("index", [False, "0", 0.0, -1, [0]])
def test_bad_index_in_a_stream(proxies: Proxies, script: Script, index: object) -> None:
    good = {"index": 0, "delta": {"content": GOOD}}
    script.body = raw_stream(good, {"index": index, "delta": {"content": BAD}})
    chunks, done = streamed(chat(proxies["block"], stream=True))
    assert (chunks[-1]["error"]["code"], done) == ("upstream_error", False)
    assert "400 metres" not in json.dumps(chunks)


def tool_call(**arguments: Any) -> list[dict[str, Any]]:
    function = {"name": "send", "arguments": json.dumps(arguments)}
    return [{"index": 0, "id": "t", "type": "function", "function": function}]


READ_FIELDS: dict[str, dict[str, Any]] = {
    "refusal": {"content": GOOD, "refusal": BAD},
    "refusal part": {"content": [{"type": "refusal", "refusal": BAD}]},
    "output text": {"content": [{"type": "output_text", "text": BAD}]},
    "second part": {
        "content": [{"type": "text", "text": GOOD}, {"type": "text", "text": BAD}],
    },
    "tool arguments": {"content": None, "tool_calls": tool_call(to="ann", body={"text": [BAD]})},
    "tool arguments, key": {"content": GOOD, "tool_calls": tool_call(**{BAD: 1})},
    "arguments that are no JSON": {
        "tool_calls": [{"id": "t", "function": {"name": "send", "arguments": BAD}}]
    },
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", READ_FIELDS)
def test_every_field_with_text_is_checked(
    proxies: Proxies, script: Script, name: str, stream: bool
) -> None:
    message = {"role": "assistant", **READ_FIELDS[name]}
    body = "delta" if stream else "message"
    choice = {"index": 0, body: message, "finish_reason": "stop"}
    script.body = raw_stream(choice) if stream else raw_answer(choice)
    answer = chat(proxies["block"], stream=stream)
    assert "answer was held back: " in answer.text
    found = streamed(answer)[0][-1] if stream else answer.json()
    (checked,) = found["halldetect"]["choices"]
    assert (checked["verdict"], checked["action"]) == ("hallucinated", "blocked")
    shown = streamed(answer)[0][:-1] if stream else answer.json()["choices"]
    assert "400 metres" not in json.dumps(shown)


def test_all_that_was_shown_is_the_context_of_a_guarded_stream() -> None:
    guard = GuardedChoice(Choice(Vocabulary()))
    guard.held = "# Length\n\n"
    assert guard.release("It is long.") == "# Length\n\nIt is long."
    assert guard.release(" It is old.") == " It is old."
    assert (guard.shown, guard.held) == ("# Length\n\nIt is long. It is old.", "")


@pytest.mark.parametrize("action", ["block", "repair"])
def test_token_counts_come_with_a_guarded_stream(
    proxies: Proxies, script: Script, action: str
) -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    parts = [
        {"choices": [{"index": 0, "delta": {"content": GOOD}}]},
        {"choices": [], "usage": {**usage, "note": BAD}},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None},
    ]
    script.body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode()
    script.body += b"data: [DONE]\n\n"
    chunks, done = streamed(chat(proxies[action], stream=True))
    assert (done, said(chunks)) == (True, GOOD)
    assert chunks[-1]["usage"] == usage
    assert not any("usage" in chunk for chunk in chunks[:-1])


def test_top_level_fields_carry_no_prose(proxies: Proxies, script: Script) -> None:
    message = {"role": "assistant", "content": GOOD}
    choice = {"index": 0, "message": message, "finish_reason": BAD.replace(" ", "_")}
    prose = dict.fromkeys(("id", "model", "system_fingerprint", "usage"), BAD)
    usage = {"total_tokens": 3, "note": BAD}
    script.body = json.dumps({**prose, "usage": usage, "choices": [choice]}).encode()
    answer = chat(proxies["block"])
    assert "400" not in answer.text
    assert answer.json()["usage"] == {"total_tokens": 3}
    assert answer.json()["model"] == "m"


@pytest.mark.parametrize("value", ["NaN", "1e999", '"\\ud800"', '"\\ud800": 1'])
@pytest.mark.parametrize("action", ["annotate", "block"])
def test_odd_json_of_upstream(proxies: Proxies, script: Script, value: str, action: str) -> None:
    field = value if ":" in value else f'"content": {value}'
    script.body = f'{{"choices": [{{"message": {{{field}}}}}]}}'.encode()
    assert "did not send a JSON object" in refused(chat(proxies[action]), "upstream_error")
    script.body = b"data: " + script.body.replace(b"message", b"delta") + b"\n\n"
    chunks, done = streamed(chat(proxies[action], stream=True))
    assert (chunks[-1]["error"]["code"], done) == ("upstream_error", False)


def test_refusal_of_upstream_is_not_quoted(proxies: Proxies, script: Script) -> None:
    script.status, script.body = 400, BAD.encode()
    assert "400 metres" not in refused(chat(proxies["block"]), "invalid_request")


def test_long_prompt_does_not_hold_up_others(proxies: Proxies, script: Script) -> None:
    hostile = [
        *("Hi" + "\n" * 100_000 + "x", "context" + " " * 100_000, "the " * 30_000, "# " * 50_000),
        *("<context>" * 20_000, "<context " * 20_000, "context " * 30_000, "context: x\n" * 2_000),
    ]
    messages = [{"role": "user", "content": text} for text in hostile]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(chat, proxies["annotate"], messages=messages, halldetect=None)
        slowest = 0.0  # in processor time of this process, where the service runs, too
        while not asked.done():
            since = time.process_time()
            assert proxies["annotate"].get("/healthz").status_code == 200
            slowest = max(slowest, time.process_time() - since)
        assert asked.result().status_code == 200
        assert slowest < 3


UNREAD_FIELDS: dict[str, dict[str, Any]] = {
    "reasoning_content": {"reasoning_content": BAD},
    "reasoning": {"reasoning": BAD},
    "content": {"content": [{"type": "text", "text": GOOD}, {"type": "thinking", "thinking": BAD}]},
    "content ": {"content": [{"type": "text", "text": GOOD, "note": BAD}]},
    "audio": {"audio": {"id": "a", "data": "NDAwIG1ldHJlcw==", "transcript": BAD}},
    "function_call": {"function_call": {"name": "send", "arguments": json.dumps({"t": BAD})}},
    "tool_calls": {"tool_calls": [{"id": "t", "custom": {"name": "send", "input": BAD}}]},
    "other": {"It is 400 metres long": 1},
    "role": {"role": BAD},
    "annotations": {"annotations": [{"type": "url_citation", "title": BAD}]},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", UNREAD_FIELDS)
def test_unchecked_fields_are_removed(
    proxies: Proxies, script: Script, name: str, stream: bool
) -> None:
    message = {"role": "assistant", "content": GOOD, **UNREAD_FIELDS[name]}
    body = "delta" if stream else "message"
    choice = {"index": 0, body: message, "logprobs": {"content": [{"token": "400 metres"}]}}
    script.body = raw_stream(choice) if stream else raw_answer(choice)
    for action in ("block", "annotate"):
        answer = chat(proxies[action], stream=stream)
        found = streamed(answer)[0][-1] if stream else answer.json()
        (checked,) = found["halldetect"]["choices"]
        assert checked["verdict"] == "faithful"
        assert checked["unchecked_fields"] == sorted([name.strip(), "logprobs"])
        assert checked["unchecked"] == []
        assert GOOD in answer.text
        removed = "400 metres" not in answer.text and "NDAw" not in answer.text
        assert removed == (action == "block")


def test_unchecked_parts_are_annotated(proxies: Proxies, script: Script) -> None:
    script.answers = [[f"{GOOD} Who sold the old bridge of Kell to the rich baker?"]]
    (found,) = chat(proxies["annotate"]).json()["halldetect"]["choices"]
    assert [part["reason"] for part in found["unchecked"]] == ["a question"]
    assert found["unchecked_fields"] == []


@pytest.mark.parametrize("action", ["block", "repair"])
def test_caller_can_only_be_stricter(proxies: Proxies, script: Script, action: str) -> None:
    script.answers = [[BAD]]
    for weaker in (
        {"threshold": 1.0},
        {"threshold": 0.51},
        {"threshold": "recall"},
        {"verifier": "base"},
    ):
        answer = chat(proxies[action], halldetect={"sources": [SOURCE], **weaker})
        assert next(iter(weaker)) in refused(answer, "invalid_request")
    assert script.asked == [], "refused before the upstream is asked"
    stricter = {"sources": [SOURCE], "threshold": 0.2}
    (found,) = chat(proxies[action], halldetect=stricter).json()["halldetect"]["choices"]
    assert (found["threshold"], found["action"]) == (0.2, f"{action}ed")
    loose = {"sources": [SOURCE], "threshold": 1.0}
    assert chat(proxies["annotate"], halldetect=loose).status_code == 200


def test_repair_mends_the_answer(proxies: Proxies, script: Script) -> None:
    script.answers = [["It is 400 metres long. Six lanes cross it."]]
    answer = chat(proxies["repair"]).json()
    assert (
        answer["choices"][0]["message"]["content"] == "It is 503 metres long. Six lanes cross it."
    )
    assert answer["choices"][0]["finish_reason"] == "stop"
    (choice,) = answer["halldetect"]["choices"]
    assert choice["action"] == "repaired"
    assert choice["verdict"] == "hallucinated"
    assert choice["repair"]["outcome"] == "repaired"
    assert [change["action"] for change in choice["repair"]["changes"]] == ["changed"]


def test_what_cannot_be_repaired_is_blocked(proxies: Proxies, script: Script) -> None:
    script.answers = [["Zebras sing loudly."]]
    for stream in (False, True):
        answer = chat(proxies["repair"], stream=stream)
        assert "Zebras" not in answer.text.partition('"halldetect"')[0]
        assert "held back" in answer.text
        assert '"action":"blocked"' in answer.text.replace(": ", ":")


def test_stream_is_guarded_by_sentence(proxies: Proxies, script: Script) -> None:
    """Supported sentences come while the upstream is still writing; no others come."""
    answer = f"{GOOD} The bridge opened in 1932. It is 400 metres long. {GOOD}"
    script.answers, script.read = [[answer]], Event()
    lines: list[str] = []
    with (
        proxies["block"].client() as client,
        client.stream("POST", "/v1/chat/completions", json={**ASKED, "stream": True}) as stream,
    ):
        for line in stream.iter_lines():
            lines.append(line)
            if GOOD in line:
                script.read.set()
    assert GOOD in next(line for line in lines if '"content"' in line)
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    shown, notice = said(chunks).split("\n\n")
    assert shown == f"{GOOD} The bridge opened in 1932."
    assert notice.startswith("The rest of this answer was held back")
    assert "400 metres" not in json.dumps(chunks[:-1])
    (choice,) = chunks[-1]["halldetect"]["choices"]
    assert (choice["verdict"], choice["action"]) == ("hallucinated", "blocked")


def test_slow_verifier_lets_nothing_through(proxies: Proxies, script: Script) -> None:
    script.answers = [[f"{GOOD} The verifier sleeps 300 ms. {GOOD} {GOOD}"]]
    chunks, _ = streamed(chat(proxies["block"], stream=True))
    assert said(chunks).startswith(f"{GOOD}\n\nThe rest of this answer was held back")
    assert said(chunks).count(GOOD) == 1


@pytest.mark.parametrize("action", ["block", "repair"])
@pytest.mark.parametrize("stream", [False, True])
def test_failing_verifier_lets_nothing_through(
    proxies: Proxies, script: Script, action: str, stream: bool
) -> None:
    script.answers = [[f"{GOOD} The verifier fails here."]]
    answer = chat(proxies[action], stream=stream)
    if stream:
        shown = said(streamed(answer)[0])
    else:
        shown = answer.json()["choices"][0]["message"]["content"]
    assert "verifier fails" not in shown
    assert "held back" in shown or shown == GOOD


def test_a_sentence_of_a_stream_is_mended(proxies: Proxies, script: Script) -> None:
    answer = f"{GOOD} The bridge opened in 1923. Zebras sing. {GOOD}"
    script.answers = [[answer]]
    chunks, done = streamed(chat(proxies["repair"], stream=True))
    assert done
    assert said(chunks).strip() == f"{GOOD} The bridge opened in 1932. {GOOD}"
    (choice,) = chunks[-1]["halldetect"]["choices"]
    assert choice["action"] == "repaired"
    assert [change["action"] for change in choice["repair"]["changes"]] == ["changed", "removed"]


def test_leaving_client_ends_upstream(proxies: Proxies, script: Script) -> None:
    script.answers, script.pause = [[f"{GOOD} " * 200]], 0.02
    with (
        proxies["block"].client() as client,
        client.stream("POST", "/v1/chat/completions", json={**ASKED, "stream": True}) as stream,
    ):
        next(stream.iter_lines())
    eventually(lambda: script.broken == 1)


CANARY = "zebras_pay_nine_euros"
JSON_CANARY = st.recursive(
    st.sampled_from([CANARY, CANARY.replace("_", " ")]),
    lambda inner: st.lists(inner, min_size=1, max_size=2) | st.just({CANARY: 1}),
    max_leaves=3,
)
NAMES = st.sampled_from(["id", "model", "usage", "index_", "logprobs", "reasoning", "x", CANARY])
EXTRA = st.dictionaries(NAMES, JSON_CANARY, max_size=3)
CALL = st.fixed_dictionaries(
    {
        "id": st.just(CANARY),
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["send", CANARY]),
                "arguments": JSON_CANARY.map(json.dumps) | st.sampled_from([CANARY, "{}"]),
            }
        ),
    }
)


@st.composite
def hostile_chunks(draw: st.DrawFn) -> tuple[list[dict[str, Any]], str]:
    """Chunks cut anywhere, with fields that nobody judges, and the text that may be shown."""
    good = draw(st.lists(st.sampled_from(["# Facts\n\n", f"{GOOD} "]), max_size=3))
    bad = draw(st.booleans())
    text = "".join(good) + (f"It is 400 metres long. {GOOD}" if bad else "")
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    chunks = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        delta = {**draw(EXTRA), "content": text[start:end]}
        if draw(st.integers(0, 4)) == 0:
            delta["tool_calls"] = [draw(CALL)]
        reason = draw(st.sampled_from([None, "stop", CANARY]))
        choice = {**draw(EXTRA), "index": 0, "delta": delta, "finish_reason": reason}
        chunks.append({**draw(EXTRA), "choices": [choice]})
        if draw(st.booleans()):
            chunks.append({**draw(EXTRA), "choices": [], "usage": draw(EXTRA)})
    return chunks, "".join(good)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(hostile=hostile_chunks())
def test_block_shows_judged_bytes_only(
    proxies: Proxies, script: Script, hostile: tuple[list[dict[str, Any]], str]
) -> None:
    chunks, allowed = hostile
    forget(script)  # hypothesis prints its state if an example fails
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    script.body = "".join([*lines, "data: [DONE]\n\n"]).encode()
    shown, done = streamed(chat(proxies["block"], stream=True))
    assert done
    for choice in shown[-1]["halldetect"]["choices"]:
        del choice["claims"]  # they quote what was judged
    written = json.dumps(shown)
    assert "zebras" not in written
    assert "400 metres" not in written
    text = said(shown).partition("The rest of this answer")[0].partition("This answer")[0]
    assert allowed.startswith(text.strip())


@pytest.mark.parametrize(
    "mark", ["# Length\n\n", "- ", "* ", "1. ", "2) ", "> ", "| ", "**Length:** ", "Length:\n\n- "]
)
def test_heading_or_list_mark_waits_for_its_sentence(
    proxies: Proxies, script: Script, mark: str
) -> None:
    script.answers = [[f"{GOOD}\n\n{mark}It is 400 metres long."]]
    shown = said(streamed(chat(proxies["block"], stream=True))[0])
    assert shown.startswith(f"{GOOD}\n\nThe rest of this answer was held back")
