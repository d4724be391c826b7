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
from halldetect.knowledge.builder import build_index, open_index
from halldetect.knowledge.readers import SourceFile
from tests.support.paths import ROOT
from tests.support.running import eventually

# Builds an index and kills itself: after some documents, or when all is written and only the last
# commit is missing. By its own hand, since a machine may be too fast or too slow for a clock.
_BUILD = """
import os, signal, sys
from pathlib import Path
from halldetect.knowledge import builder
from halldetect.knowledge.readers import SourceFile

location, rows, moment = sys.argv[1:]
builder.COMMIT_PASSAGES = 20
record = builder._Build.record

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def record_and_die(self, **facts):
    record(self, **facts)
    if facts["state"] == "complete":
        die()

def progress(documents):
    if moment.isdigit() and documents == int(moment):
        die()

if moment == "last commit":
    builder._Build.record = record_and_die
builder.build_index(location, [SourceFile(Path(rows), "rows.jsonl")], progress=progress)
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


def check_killed_build_resumes(location: str, folder: Path) -> None:
    """Kill a build again and again; the last run completes what is there.

    location  of an index in a file or in PostgreSQL, which is not there yet
    folder    for the documents, and for the same index made in one go
    """
    rows, whole = folder / "rows.jsonl", folder / "whole.index"
    facts = [{"id": at, "text": f"Fact {at} is true."} for at in range(1000)]
    rows.write_text("\n".join(map(json.dumps, facts)), encoding="utf-8")

    def run(moment: str) -> int:
        command = [sys.executable, "-c", _BUILD, location, str(rows), moment]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        quiet = subprocess.DEVNULL
        return subprocess.run(command, env=environment, stderr=quiet, check=False).returncode

    def kill_at(moment: str) -> None:
        # A server needs a moment to notice that a writer is gone, and refuses the next until then.
        eventually(lambda: run(moment) == -signal.SIGKILL)
        with pytest.raises(InputError, match="not complete"):
            open_index(location)

    for moment in ("1", "333", "334", "1000", "last commit"):
        kill_at(moment)
    eventually(lambda: run("never") == 0)
    build_index(whole, [SourceFile(rows, "rows.jsonl")])
    with closing(open_index(location)) as one, closing(open_index(whole)) as other:
        assert one.description["passages"] == other.description["passages"] == 1000
        assert one.description["digest"] == other.description["digest"]
        assert one.search(["Fact 999 is true"], 1) == other.search(["Fact 999 is true"], 1)
    kill_at("1")  # an index that was complete
