"""What holds of an index wherever it is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from halldetect import Detector, Status
from halldetect.cli import main
from halldetect.errors import InputError
from halldetect.knowledge.builder import open_index
from tests.support.paths import ROOT
from tests.support.running import eventually

# Builds an index and kills itself after some documents. By its own hand, since a machine may be too
# fast or too slow for a clock.
_BUILD = """
import os, signal, sys
from pathlib import Path
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.readers import SourceFile

location, rows, moment = sys.argv[1:]

def progress(documents):
    if documents == int(moment):
        os.kill(os.getpid(), signal.SIGKILL)

build_index(location, [SourceFile(Path(rows), "rows.jsonl")], progress=progress)
"""


def check_building_and_checking(url: str, folder: Path) -> None:
    """Index the documents of the tests with the command line, and check against them.

    url     of the index, which is not there yet
    folder  with the documents of tests/knowledge/conftest.py
    """
    assert main(["index", "build", str(folder), "-o", url, "--quiet"]) == 0
    assert main(["index", "info", url]) == 0
    assert main(["check", "Rome is the capital of Italy.", "--knowledge", url]) == 0
    report = Detector(knowledge=url).check([], "Anna Holm designed the bridge. Zebras sing.")
    right, unknown = report.claims
    assert right.status is Status.SUPPORTED
    assert right.proof is not None
    assert report.document_name(right.proof.document) == "bridge.md, characters 0–72"
    assert unknown.reason is not None
    assert unknown.reason.startswith("nothing found")


def check_killed_build_changes_nothing(location: str, folder: Path) -> None:
    """Kill a first build and a later one; the index stays as it was.

    location  of an index in a file or in PostgreSQL, which is not there yet
    folder    for the documents
    """
    rows = folder / "rows.jsonl"
    words = "Long enough that not all pages fit into memory. " * 14

    def write(kind: str) -> None:
        facts = [{"id": at, "text": f"{kind} {at} is true. {words}"} for at in range(3000)]
        rows.write_text("\n".join(map(json.dumps, facts)), encoding="utf-8")

    def run(moment: int) -> int:
        command = [sys.executable, "-c", _BUILD, location, str(rows), str(moment)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        quiet = subprocess.DEVNULL
        return subprocess.run(command, env=environment, stderr=quiet, check=False).returncode

    # A server needs a moment to notice that a writer is gone, and refuses the next until then.
    write("Fact")
    eventually(lambda: run(1) == -signal.SIGKILL)
    with pytest.raises(InputError, match="has no passages"):
        open_index(location)
    eventually(lambda: run(0) == 0)
    write("Rumour")
    eventually(lambda: run(3000) == -signal.SIGKILL)
    with closing(open_index(location)) as index:
        assert index.description["documents"] == 3000
        ((first, *_), others) = index.search(["Fact 999 is true", "Rumour"], 5)
    assert first.text.startswith("Fact 999 is")
    assert others == []
