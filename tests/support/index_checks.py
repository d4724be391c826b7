"""What holds of an index wherever it is kept."""

from __future__ import annotations

from pathlib import Path

from halldetect import Detector, Status
from halldetect.cli import main


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
    assert right.evidence is not None
    assert report.document_name(right.evidence.document) == "bridge.md, characters 0–72"
    assert unknown.reason is not None
    assert unknown.reason.startswith("nothing found")
