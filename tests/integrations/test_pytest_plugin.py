"""The pytest plug-in, in runs of pytest of their own."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MODULE = "halldetect.integrations.pytest_plugin"

CONFTEST = """
import pytest
from halldetect import Detector
from tests.support.fakes import OverlapVerifier, SentenceExtractor

@pytest.fixture(scope="session")
def halldetect_detector():
    return Detector(OverlapVerifier())
"""
SOURCE = "The boat leaves at 6. A ticket costs 4 euros."
TESTS = f"""
import pytest

SOURCE = {SOURCE!r}

def test_supported(grounded):
    assert grounded("A ticket costs 4 euros.", SOURCE).ok

def test_contradicted(grounded):
    grounded("The boat leaves at 9.", {{"id": "timetable.md", "text": SOURCE}})

def test_unsupported(grounded):
    grounded("Dogs are welcome on board.", SOURCE, question="May I bring a dog?")

def test_uncheckable(grounded):
    grounded("", SOURCE)

@pytest.mark.halldetect
def test_lenient(grounded):
    grounded("The boat often leaves at 6.", SOURCE, threshold=1.0)

def test_without_checks():
    pass
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_answers.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plug-ins take seconds to load
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", MODULE, *options],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **alone},
        capture_output=True,
        text=True,
        timeout=120,
    )


def cached(folder: Path) -> list[str]:
    """Whether the cache had the report, for each check of a run with --junitxml=junit.xml."""
    items = ET.parse(folder / "junit.xml").iter("property")
    return [item.get("value", "") for item in items if item.get("name") == "halldetect_cached"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def first_run(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run in one process, with properties; its verdicts stay in the cache."""
    return run_pytest(folder, "--junitxml=junit.xml")


def test_a_failure_names_the_claim_and_the_passage(
    first_run: subprocess.CompletedProcess[str], folder: Path
) -> None:
    assert "3 failed, 3 passed" in first_run.stdout, first_run.stdout + first_run.stderr
    assert (
        "contradicted: “The boat leaves at 9.” Source says instead (timetable.md): "
        "“The boat leaves at 6.”"
    ) in first_run.stdout
    assert "unsupported: “Dogs are welcome on board.”" in first_run.stdout
    assert "uncheckable. Could not be checked: the response is empty" in first_run.stdout
    assert "pytest_plugin.py" not in first_run.stdout, "a failure shows the test, not the plug-in"
    assert cached(folder) == ["false"] * 5
    cases = {case.get("name"): case for case in ET.parse(folder / "junit.xml").iter("testcase")}
    properties = {item.get("name"): item.get("value") for item in cases["test_contradicted"].iter()}
    assert properties["halldetect_verdict"] == "hallucinated"
    assert float(properties["halldetect_score"] or "") > 0.5


def test_a_second_run_takes_verdicts_from_the_cache(
    first_run: subprocess.CompletedProcess[str], folder: Path
) -> None:
    # What could not be checked is tried again.
    assert first_run.returncode == 1
    run_pytest(folder, "--junitxml=junit.xml")
    assert cached(folder).count("true") == 4


@pytest.mark.slow
def test_under_xdist_and_without_the_cache_of_pytest(
    first_run: subprocess.CompletedProcess[str], folder: Path
) -> None:
    assert first_run.returncode == 1
    run = run_pytest(
        folder, "-p", "xdist", "-n", "2", "-p", "no:cacheprovider", "--junitxml=junit.xml"
    )
    assert "3 failed, 3 passed" in run.stdout, run.stdout + run.stderr
    assert cached(folder) == ["false"] * 5


def test_a_threshold_for_all_tests_and_no_cache(
    first_run: subprocess.CompletedProcess[str], folder: Path
) -> None:
    assert first_run.returncode == 1
    options = ("--halldetect-threshold=1", "--cache-clear")
    chosen = ("-m", "halldetect", "-k", "contradicted or uncheckable")
    run = run_pytest(folder, *options, *chosen, "--junitxml=junit.xml")
    assert "1 failed, 1 passed, 4 deselected" in run.stdout, run.stdout + run.stderr
    assert cached(folder) == ["false"] * 2
