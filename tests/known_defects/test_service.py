"""The service and its proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from halldetect.cli import build_parser
from halldetect.cli.serve import settings_for
from halldetect.errors import ConfigurationError
from halldetect_serve.database import Database
from halldetect_serve.settings import (
    Limits,
    ServiceSettings,
    StorageSettings,
    UpstreamSettings,
)
from tests.support.known_defects import defect
from tests.support.paths import ROOT
from tests.support.running import Reachable, http_front, local_service
from tests.support.upstreams import Script, upstream, whole

SOURCE = (
    "The last ferry leaves at 6:45. A ticket costs four euros and is not refundable. "
    "The deck has 30 seats."
)
TOOL = {
    "name": "sell",
    "parameters": {
        "properties": {"price": {}, "date": {}, "refundable": {}, "text": {}, "note": {}}
    },
}


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    with upstream() as script:
        yield script


@pytest.fixture(scope="module")
def blocking(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reachable]:
    """A proxy that blocks what its sources do not back."""
    place = tmp_path_factory.mktemp("block") / "serve.db"
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{place}"),
        limits=Limits(rate=0),
        upstream=UpstreamSettings(script.url, "block", timeout=60),
    )
    with http_front(settings) as service:
        yield service


def chat(service: Reachable, **more: Any) -> httpx.Response:
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": "Sell me a ticket for the ferry."}],
        "halldetect": {"sources": [SOURCE]},
    }
    with service.client() as client:
        return client.post("/v1/chat/completions", json={**asked, **more})


def shown(answer: httpx.Response) -> str:
    """Return what the client may show: the choices, without what the check says of them."""
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    parts = [json.loads(line) for line in lines] if lines else [answer.json()]
    return json.dumps([part["choices"] for part in parts], ensure_ascii=False)


@defect("Hardening")
@pytest.mark.parametrize(
    "arguments",
    [
        {"price": 30},
        {"price": 120},
        {"date": "2031-05-17"},
        {"refundable": True},
    ],
    ids=json.dumps,
)
def test_a_wrong_value_of_a_call_is_blocked(
    blocking: Reachable, script: Script, arguments: dict[str, Any]
) -> None:
    """A value is judged with its key: seats are no price, "last" no date, true is a statement."""
    answer = whole([""])
    function = {"name": "sell", "arguments": json.dumps(arguments)}
    calls = [{"id": "c1", "type": "function", "function": function}]
    answer["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": calls}
    script.body = json.dumps(answer).encode()
    try:
        got = chat(blocking, tools=[{"type": "function", "function": TOOL}])
    finally:
        script.body = None
    assert "tool_calls" not in json.loads(shown(got))[0][0]["message"]


@defect("The first hour")
def test_an_answer_without_a_source_is_blocked(blocking: Reachable, script: Script) -> None:
    script.answers = [["The ferry has a swimming pool."]]
    got = chat(blocking, halldetect={"sources": []})
    assert "swimming pool" not in shown(got)


DELETE_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from halldetect_serve.database import Database
from halldetect_serve.report_store import ReportStore
from tests.support.store_checks import LIMITS, finished_report
path = Path(sys.argv[1])
database = Database(f"sqlite:///{path}")
database.create()
store = ReportStore(database, LIMITS)
first, *_ = store.add([finished_report()] * 3)
most = max(file.stat().st_size for file in path.parent.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
store.delete(first)
"""


@defect("Hardening")
def test_reports_can_be_deleted_on_a_full_disk(tmp_path: Path) -> None:
    """No file may grow: what the kernel says then is what a full disk says."""
    command = [sys.executable, "-c", DELETE_ON_A_FULL_DISK, str(tmp_path / "serve.db")]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr.splitlines()[-1]


@defect("The first hour", raises=ConfigurationError)
def test_the_database_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "hist.sqlite"
    arguments = build_parser().parse_args(["serve", "--database", str(path)])
    Database(settings_for(arguments).storage.url).create()
    assert path.exists()


@defect("Hardening", raises=httpx.ReadTimeout)
def test_a_check_after_a_hostile_one_is_answered_soon(tmp_path: Path) -> None:
    """A job that cannot be interrupted ends with its worker; the next check waits three seconds."""
    storage = StorageSettings(f"sqlite:///{tmp_path / 'serve.db'}")
    hostile = {"source": SOURCE, "response": "It never returns.", "timeout_seconds": 0.2}
    small = {"source": SOURCE, "response": "The deck has 30 seats."}
    settings = ServiceSettings(storage, limits=Limits(rate=0))
    with local_service(settings) as service, service.client() as client:
        assert client.post("/v1/check", json=small).status_code == 200  # all is loaded
        assert client.post("/v1/check", json=hostile).status_code == 504
        assert client.post("/v1/check", json=small, timeout=3).status_code == 200
