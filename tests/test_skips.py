"""HALLDETECT_NO_SKIP, which keeps a suite that skips from being taken for one that passed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.fixture
def missing():
    pytest.skip("no model here")

def test_needs_a_model(missing):
    pass

@pytest.mark.skipif(True, reason="not today")
def test_marked():
    pass

def test_needs_a_package():
    pytest.importorskip("no_such_package")

def test_needs_hardware():
    pytest.skip("no GPU")

@pytest.mark.xfail
def test_known_to_fail():
    assert False

def test_passes():
    pass
"""
MODULE = """
import pytest

pytest.importorskip("no_such_package", reason="needs the package")

def test_never_seen():
    pass
"""


def outcome(folder: Path, setting: str) -> tuple[int, str]:
    conftest = Path(__file__).parent / "conftest.py"
    (folder / "conftest.py").write_bytes(conftest.read_bytes())
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", "."],
        cwd=folder,
        env={**os.environ, "HALLDETECT_NO_SKIP": setting},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize(
    ("setting", "status", "counts"),
    [("", 0, "1 passed, 4 skipped, 1 xfailed"), ("1", 1, "1 passed, 1 skipped, 1 xfailed")],
)
def test_a_skip_counts_as_failed_unless_the_machine_is_why(
    tmp_path: Path, setting: str, status: int, counts: str
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    found, out = outcome(tmp_path, setting)
    assert (found, counts in out) == (status, True), out
    if setting:
        for name in ("test_needs_a_model", "test_marked", "test_needs_a_package"):
            assert f"{name} _" in out, "each is shown as a failure or an error"
        assert "HALLDETECT_NO_SKIP is set: no model here" in out


def test_a_module_that_skips_itself_counts_too(tmp_path: Path) -> None:
    (tmp_path / "test_module.py").write_text(MODULE)
    (tmp_path / "test_other.py").write_text("def test_passes(): pass")
    assert outcome(tmp_path, "")[0] == 0
    status, out = outcome(tmp_path, "1")
    assert status == 2, out
    assert "HALLDETECT_NO_SKIP is set: needs the package" in out
