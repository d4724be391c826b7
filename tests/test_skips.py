"""HALLDETECT_NO_SKIP, which keeps a suite that skips from being taken for one that passed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
    (folder / "test_some.py").write_text(TESTS)
    (folder / "test_module.py").write_text(MODULE)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", "."),
            "--continue-on-collection-errors",
        ],
        cwd=folder,
        env={
            **os.environ,
            "HALLDETECT_NO_SKIP": setting,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    return run.returncode, run.stdout


def test_a_skip_is_a_skip_by_default(tmp_path: Path) -> None:
    status, out = outcome(tmp_path, "")
    assert (status, "1 passed, 5 skipped, 1 xfailed" in out) == (0, True), out


def test_skips_fail_unless_the_machine_is_why(tmp_path: Path) -> None:
    status, out = outcome(tmp_path, "1")
    assert (status, "1 passed, 1 skipped, 1 xfailed" in out) == (1, True), out
    for name in ("test_needs_a_model", "test_marked", "test_needs_a_package", "test_module.py"):
        assert f"{name} _" in out, "each is shown as a failure or an error"
    assert "HALLDETECT_NO_SKIP is set: no model here" in out
    assert "HALLDETECT_NO_SKIP is set: needs the package" in out
