"""Who may do what, how often, and what of it is written down."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from halldetect.cli import main
from halldetect.errors import ConfigurationError, InputError
from halldetect_serve import access
from halldetect_serve.access import RateLimiter, TokenTable, create_token, parse_tokens
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from tests.support.api_requests import ASKED, refused
from tests.support.running import Reachable, http_front

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auth") / "tokens"


@pytest.fixture(scope="module")
def guarded(place: Path) -> Iterator[Reachable]:
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{place.with_name('serve.db')}", reports=True),
        auth=True,
        tokens=place,
        limits=Limits(rate=100),
        origins=(ORIGIN,),
    )
    with http_front(settings) as running:
        yield running


@pytest.fixture(autouse=True)
def read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "REREAD_SECONDS", 0.0)


def token(place: Path, name: str, *scopes: str) -> str:
    return create_token(place, name, scopes)


def test_no_token_sees_health_only(guarded: Reachable) -> None:
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
def test_wrong_tokens(guarded: Reachable, header: str) -> None:
    headers = [(b"Authorization", header.encode("latin-1"))]
    answer = httpx.get(f"{guarded.url}/v1/models", headers=headers)
    refused(answer, "unauthorized")


def test_scopes(guarded: Reachable, place: Path) -> None:
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


def test_removed_line_revokes_token(guarded: Reachable, place: Path) -> None:
    secret = token(place, "leaving", "read")
    with guarded.client(secret) as client:
        assert client.get("/v1/models").status_code == 200
        lines = place.read_text().splitlines(keepends=True)
        place.write_text("".join(line for line in lines if not line.startswith("leaving ")))
        refused(client.get("/v1/models"), "unauthorized")


def test_eager_token_is_slowed(guarded: Reachable, place: Path) -> None:
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


def test_cors_only_for_named_sites(guarded: Reachable) -> None:
    with guarded.client() as client:
        ask = {"Access-Control-Request-Method": "POST", "Origin": ORIGIN}
        allowed = client.options("/v1/check", headers=ask)
        assert allowed.headers["Access-Control-Allow-Origin"] == ORIGIN
        refused_ = client.options("/v1/check", headers={**ask, "Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in refused_.headers


def test_log_has_no_texts_or_secrets(
    guarded: Reachable, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = token(place, "quiet", "check")
    caplog.set_level(logging.INFO, "halldetect_serve")
    with guarded.client(secret) as client:
        texts = {"source": "Zanzibarquux is a town.", "response": "Zanzibarquux is a city."}
        assert client.post("/v1/check", json=texts).status_code == 200
        client.post("/v1/check", json={**texts, "Zanzibarquux": 1})
        client.get("/v1/Zanzibarquux")
        client.post("/v1/check?text=Zanzibarquux", json=texts)
    assert "POST /v1/check 200" in caplog.text
    assert "quiet" in caplog.text
    assert "Zanzibarquux" not in caplog.text
    assert secret not in caplog.text


def test_tokens_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens"
    create = ["tokens", "create", "ci", "--scope", "admin", "--tokens", str(file)]
    assert main(create) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("hd_")
    assert secret not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = TokenTable(file).find(secret)
    assert found is not None
    assert (found.name, found.allows("check")) == ("ci", True)
    assert main(create) == 2
    assert "already" in capsys.readouterr().err
    assert main(["serve", "--host", "0.0.0.0", "--database", f"sqlite:///{tmp_path}/x.db"]) == 2
    assert "needs tokens" in capsys.readouterr().err
    with pytest.raises(InputError, match="name is"):
        create_token(file, "a b", ["read"])


def test_tokens_of_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALLDETECT_TOKENS", "# team\nci check secret-of-twenty-letters;a read x")
    with pytest.raises(ConfigurationError, match="line 3 of the tokens: the secret is too short"):
        TokenTable(tmp_path / "none")
    monkeypatch.setenv("HALLDETECT_TOKENS", "ci check,read secret-of-twenty-letters")
    table = TokenTable(tmp_path / "none")
    found = table.find("secret-of-twenty-letters")
    assert found is not None
    assert found.scopes == {"check", "read"}
    assert table.find("secret-of-twenty-letter") is None


@pytest.mark.parametrize(
    "line", ["ci", "ci check", "ci owner sha256:x", "c/i read sha256:x", "a b c d"]
)
def test_bad_token_lines(line: str) -> None:
    with pytest.raises(ConfigurationError, match="line 2") as caught:
        parse_tokens(f"\n{line}")
    assert line not in str(caught.value)


def test_unreadable_file_keeps_last_tokens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens"
    secret = create_token(file, "ci", ["read"])
    table = TokenTable(file)
    assert table.find(secret)
    file.write_text("half a li")
    with caplog.at_level(logging.ERROR, "halldetect_serve"):
        assert table.find(secret)
    file.unlink()
    assert table.find(secret) is None


def test_rate_is_per_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    # Not the clock itself: services of other tests run in threads here and use it.
    monkeypatch.setattr(access, "time", SimpleNamespace(monotonic=lambda: now[0]))
    rate = RateLimiter(60)
    assert [rate.wait_seconds("a") for _ in range(6)] == [0.0] * 6
    assert 0 < rate.wait_seconds("a") <= 1.0
    assert rate.wait_seconds("b") == RateLimiter(0).wait_seconds("a") == 0.0
    for caller in range(10_001):
        rate.wait_seconds(str(caller))
    now[0] = 100.0
    rate.wait_seconds("new")
    assert len(rate._buckets) == 1, "idle callers are dropped"
