"""Who may do what, how often, and what of it is written down."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from halldetect.cli import main
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from halldetect_serve.storage import access_tokens as module
from halldetect_serve.storage.access_tokens import TokenStore
from halldetect_serve.storage.database import Database
from halldetect_serve.worker.supervisor import WorkerSupervisor
from tests.support.api_requests import ASKED, refused
from tests.support.running import LocalService, http_front

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auth") / "serve.db"


@pytest.fixture(scope="module")
def guarded(place: Path, supervisor: WorkerSupervisor) -> Iterator[LocalService]:
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{place}", reports=True),
        auth=True,
        limits=Limits(rate=100),
        origins=(ORIGIN,),
    )
    with http_front(settings, supervisor) as running:
        yield running


def token(place: Path, name: str, *scopes: str) -> str:
    database = Database(f"sqlite:///{place}")
    try:
        return TokenStore(database).create(name, scopes)
    finally:
        database.close()


def test_without_a_token_only_the_outside_is_seen(guarded: LocalService) -> None:
    with guarded.client() as client:
        for path in ("/healthz", "/readyz", "/openapi.json"):
            assert client.get(path).status_code == 200
        answer = client.post("/v1/check", json=ASKED)
        assert "needs a token" in refused(answer, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        for path in ("/metrics", "/v1/models", "/v1/reports", "/v1/nothing", "/v1/reports/x.html"):
            refused(client.get(path), "unauthorized")
        refused(client.post("/v1/check", content=b"{bad"), "unauthorized")
        refused(client.request("PATCH", "/v1/reports"), "unauthorized")
        session = client.get("/v1/session").json()
        assert (session["authenticated"], session["scopes"]) == (False, [])


@pytest.mark.parametrize(
    "header",
    ["Bearer wrong", "Bearer", "Basic x", "hd_x", "Bearer \xe9\xe9", "Bearer hd_" + "a" * 5000],
)
def test_wrong_tokens(guarded: LocalService, header: str) -> None:
    headers = [(b"Authorization", header.encode("latin-1"))]
    answer = httpx.get(f"{guarded.url}/v1/models", headers=headers)
    refused(answer, "unauthorized")


def test_scopes(guarded: LocalService, place: Path) -> None:
    with (
        guarded.client(token(place, "reader", "read")) as reader,
        guarded.client(token(place, "checker", "check")) as checker,
        guarded.client(token(place, "admin", "admin")) as admin,
    ):
        assert "'check'" in refused(reader.post("/v1/check", json=ASKED), "forbidden")
        stored = checker.post("/v1/check", json={**ASKED, "store": True}).json()["stored"]
        refused(checker.get(stored["url"]), "forbidden")
        assert reader.get(stored["url"]).status_code == 200
        refused(reader.delete(stored["url"]), "forbidden")
        assert admin.delete(stored["url"]).status_code == 204
        assert admin.post("/v1/check", json=ASKED).status_code == 200
        session = reader.get("/v1/session").json()
        assert (session["token_name"], session["scopes"]) == ("reader", ["read"])


def test_a_revoked_token_is_refused_soon(
    guarded: LocalService, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CACHE_SECONDS", 0.0)
    secret = token(place, "leaving", "read")
    with guarded.client(secret) as client:
        assert client.get("/v1/models").status_code == 200
        assert main(["tokens", "revoke", "leaving", "--database", f"sqlite:///{place}"]) == 0
        refused(client.get("/v1/models"), "unauthorized")


def test_a_token_that_asks_too_often(guarded: LocalService, place: Path) -> None:
    with (
        guarded.client(token(place, "eager", "read")) as eager,
        guarded.client(token(place, "calm", "read")) as calm,
    ):
        answers = [eager.get("/v1/models") for _ in range(12)]
        late = [answer for answer in answers if answer.status_code == 429]
        assert late, "ten at once are all that a hundred a minute allow"
        assert "slow down" in refused(late[0], "rate_limited")
        assert int(late[0].headers["Retry-After"]) >= 1
        assert calm.get("/v1/models").status_code == 200


def test_other_sites_only_where_named(guarded: LocalService) -> None:
    with guarded.client() as client:
        ask = {"Access-Control-Request-Method": "POST", "Origin": ORIGIN}
        allowed = client.options("/v1/check", headers=ask)
        assert allowed.headers["Access-Control-Allow-Origin"] == ORIGIN
        refused_ = client.options("/v1/check", headers={**ask, "Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in refused_.headers


def test_neither_texts_nor_secrets_reach_the_log(
    guarded: LocalService, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = token(place, "quiet", "check")
    log = logging.getLogger("halldetect_serve")
    log.addHandler(caplog.handler)
    try:
        with guarded.client(secret) as client:
            texts = {"source": "Zanzibarquux is a town.", "response": "Zanzibarquux is a city."}
            assert client.post("/v1/check", json=texts).status_code == 200
            client.post("/v1/check", json={**texts, "Zanzibarquux": 1})
            client.get("/v1/Zanzibarquux")
            client.post("/v1/check?text=Zanzibarquux", json=texts)
    finally:
        log.removeHandler(caplog.handler)
    assert "POST /v1/check 200" in caplog.text
    assert "quiet" in caplog.text
    assert "Zanzibarquux" not in caplog.text
    assert secret not in caplog.text


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--database", f"sqlite:///{tmp_path / 'serve.db'}"]
    assert main(["tokens", "create", "ci", "--scope", "admin", *where]) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("hd_")
    assert main(["tokens", "create", "ci", *where]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["tokens", "list", *where]) == 0
    listed = capsys.readouterr().out
    assert "ci  admin" in listed
    assert secret not in listed
    assert main(["tokens", "revoke", "nobody", *where]) == 2
    assert main(["serve", "--host", "0.0.0.0", *where]) == 2
    assert "needs tokens" in capsys.readouterr().err
