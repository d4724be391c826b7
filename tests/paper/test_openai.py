"""The openai extractor, against scripted servers."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest

from halldetect.errors import ConfigurationError, ExtractionError, MissingExtra
from halldetect.paper import endpoint, prompt
from halldetect.paper.endpoint import OpenAIExtractor
from halldetect.paper.extractors import load_extractor
from halldetect.protocols import Draft

# The library is slow to import: only the process that runs these tests does so.
pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="needs the extra openai")

KEY = "sk-very-secret-0123456789"
TEXT = "The cat sat on the mat and the dog ran to the park."

Reply = tuple[int, dict[str, str], bytes]


def completion(content: object) -> Reply:
    answer = {
        "choices": [{"message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 9},
    }
    return 200, {}, json.dumps(answer).encode()


GOOD = completion("1. The cat sat on the mat.\n2. The dog ran to the park.")
CLAIMS = ("The cat sat on the mat.", "The dog ran to the park.")


class Scripted(ThreadingHTTPServer):
    """Gives the scripted replies in order, the last one for ever, and keeps the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply | Callable[[dict[str, Any]], Reply]] = [GOOD]
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: object) -> None:
        pass  # a client that ran out of patience closes its end


class _Handler(BaseHTTPRequestHandler):
    server: Scripted

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        served = self.server
        served.bodies.append({"path": self.path, **body})
        served.headers.append({name.title(): value for name, value in self.headers.items()})
        reply = served.replies.pop(0) if len(served.replies) > 1 else served.replies[0]
        status, headers, data = reply(body) if callable(reply) else reply
        time.sleep(served.delay)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    for name in list(os.environ):
        if "OPENAI" in name or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    served = Scripted()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    import openai

    slept: list[float] = []
    monkeypatch.setattr(
        openai.OpenAI, "_sleep_for_retry", lambda self, **options: slept.append(1.0)
    )
    return slept


def made(url: str, key: str = "", model: str = "some-model") -> OpenAIExtractor:
    settings = {"HALLDETECT_OPENAI_BASE_URL": url, "HALLDETECT_OPENAI_API_KEY": key}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(name, value)
        return OpenAIExtractor(model)


@pytest.fixture
def extractor(server: Scripted, pauses: list[float]) -> OpenAIExtractor:
    return made(server.url, KEY)


def test_a_draft(extractor: OpenAIExtractor, server: Scripted) -> None:
    assert extractor.draft(TEXT, 10) == Draft(CLAIMS, 1, 50, 9)
    (body,) = server.bodies
    assert body["path"] == "/v1/chat/completions"
    assert body["model"] == "some-model"
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.2, 512, 0)
    assert body["stop"] == ["\n\n"]
    assert body["messages"] == prompt.messages(TEXT, 10)
    assert body["messages"][-1]["content"] == f"<text>\n{TEXT}\n</text>\nList up to 10 claims."
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_nothing_to_read_is_not_sent(extractor: OpenAIExtractor, server: Scripted) -> None:
    assert extractor.draft(" \n<|im_end|>", 10) == Draft(())
    assert server.bodies == []


def test_the_environment_is_enough(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/never")
    monkeypatch.setenv("HALLDETECT_OPENAI_BASE_URL", server.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    extractor = load_extractor("openai:some-model", seed=7)
    assert extractor.draft(TEXT, 1).claims == CLAIMS[:1]
    assert server.bodies[0]["seed"] == 7
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


# Servers that cannot do everything


def test_bare_request_follows_refused_settings(
    extractor: OpenAIExtractor, server: Scripted
) -> None:
    def newer(body: dict[str, Any]) -> Reply:
        if "temperature" in body or "max_tokens" in body:
            return 400, {}, b"Unsupported value: 'temperature' must be 1."
        return GOOD

    server.replies = [newer]
    assert extractor.draft(TEXT, 10).claims == CLAIMS
    assert server.bodies[-1].keys() == {"path", "model", "messages"}
    extractor.draft(TEXT, 10)
    assert len(server.bodies) == 3


def test_a_request_that_is_refused_altogether(extractor: OpenAIExtractor, server: Scripted) -> None:
    server.replies = [(400, {}, b"go away")]
    with pytest.raises(ExtractionError, match="answered 400: go away"):
        extractor.draft(TEXT, 10)
    assert len(server.bodies) == 2
    server.replies = [GOOD]
    extractor.draft(TEXT, 10)
    assert "temperature" in server.bodies[-1], "leaving it out had not helped"


# Servers that fail


@pytest.mark.parametrize("status", [429, 503])
def test_passing_failures_are_tried_again(
    status: int, extractor: OpenAIExtractor, server: Scripted, pauses: list[float]
) -> None:
    server.replies = [(status, {}, b""), (status, {}, b""), GOOD]
    assert extractor.draft(TEXT, 10).claims == CLAIMS
    assert len(pauses) == 2


def test_lasting_failures_are_reported(
    extractor: OpenAIExtractor, server: Scripted, pauses: list[float]
) -> None:
    server.replies = [(500, {}, b"boom")]
    with pytest.raises(ExtractionError, match="answered 500: boom"):
        extractor.draft(TEXT, 10)
    assert len(server.bodies) == 4
    assert len(pauses) == 3


def test_a_slow_server(
    server: Scripted, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.delay = 1.0
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.2)
    monkeypatch.setattr(endpoint, "RETRIES", 1)
    extractor = made(server.url)
    with pytest.raises(ExtractionError, match=r"does not answer \(APITimeoutError\)"):
        extractor.draft(TEXT, 10)
    assert len(pauses) == 1


def test_no_server(pauses: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        extractor = made(url)
        with pytest.raises(ExtractionError, match=r"does not answer \(APIConnectionError\)"):
            extractor.draft(TEXT, 10)
    assert len(pauses) == 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((200, {}, b"<html>"), "no chat completion"),
        ((200, {}, b'{"choices": ['), "no chat completion"),
        ((200, {}, b"\xff\xfe\xfd"), "no chat completion"),
        ((200, {}, b"[]"), "no chat completion"),
        ((200, {}, b"{}"), "no chat completion"),
        ((200, {}, b'{"choices": []}'), "no chat completion"),
        ((200, {}, b'{"choices": [{"message": null}]}'), "no chat completion"),
        (completion(["a"]), "not text"),
        ((301, {"Location": "http://127.0.0.1:1/"}, b""), "answered 301"),
        ((401, {}, b"no"), "answered 401; set HALLDETECT_OPENAI_API_KEY"),
        ((404, {}, b"no"), "answered 404; check the base URL and that it has the model some-model"),
    ],
)
def test_useless_answers(
    reply: Reply, message: str, extractor: OpenAIExtractor, server: Scripted
) -> None:
    server.replies = [reply]
    with pytest.raises(ExtractionError, match=message) as caught:
        extractor.draft(TEXT, 10)
    assert "\n" not in str(caught.value)


# Secrets and settings


def test_the_key_shows_nowhere(
    extractor: OpenAIExtractor, server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [(401, {}, f"Incorrect API key provided: {KEY}".encode())]
    with pytest.raises(ExtractionError) as caught:
        extractor.draft(TEXT, 10)
    shown = [str(caught.value), repr(extractor), json.dumps(extractor.description), caplog.text]
    assert not any(KEY in text for text in shown)
    assert "***" in str(caught.value)


def test_a_password_in_the_address_shows_nowhere(server: Scripted) -> None:
    url = server.url.replace("://", "://me:hush@") + "?token=hush"
    extractor = made(url)
    assert "hush" not in json.dumps(extractor.description)
    extractor.draft(TEXT, 10)
    assert server.bodies[0]["path"] == "/v1/chat/completions?token=hush"
    with pytest.raises(ConfigurationError) as caught:
        made("ftp://me:hush@example.org")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x/v1", "http://", "http://x:99999999/v1"])
def test_bad_addresses(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must look like"):
        made(url)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "[2001:db8::1]", "127.0.0.1.nip.io"])
def test_offline_refuses_other_machines(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    monkeypatch.setenv("HALLDETECT_OPENAI_BASE_URL", f"https://{host}/v1")
    with pytest.raises(ConfigurationError, match="HALLDETECT_OFFLINE forbids"):
        load_extractor("openai:some-model")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_server_on_this_machine_needs_no_proxy(
    host: str, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    url = server.url.replace("127.0.0.1", host)
    extractor = made(url, KEY)
    assert extractor.draft(TEXT, 10).claims == CLAIMS


def test_missing_settings(server: Scripted) -> None:
    with pytest.raises(ConfigurationError, match="HALLDETECT_OPENAI_BASE_URL"):
        OpenAIExtractor("m")
    with pytest.raises(ConfigurationError, match="openai:MODEL"):
        made(server.url, model="")
    with pytest.raises(ConfigurationError, match="API key") as caught:
        made(server.url, "geheim\nX-Evil: 1")
    assert "geheim" not in str(caught.value)


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"halldetect\[openai\]"):
        made("http://127.0.0.1:1/v1")
