"""The examples of docs/integrations.md and docs/cookbook.md run, and the table is true."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.integrations.version_table import ROW, with_measured_rows
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
COOKBOOK = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE + COOKBOOK, re.DOTALL | re.MULTILINE)


def modules() -> set[str]:
    shared = {"__init__", "checker"}
    folder = ROOT / "src" / "halldetect" / "integrations"
    return {path.stem for path in folder.glob("*.py")} - shared


def test_the_table_lists_modules_and_versions() -> None:
    assert {row[3] for row in ROW.finditer(PAGE)} == modules()
    written = with_measured_rows(PAGE)
    assert written == PAGE, "run python -m tests.integrations.version_table"


def example(block: str) -> Any:
    """An example as a parameter; the same process runs the other tests of its framework."""
    named = re.search(r"halldetect\.integrations\.(\w+)", block)
    return pytest.param(block, marks=pytest.mark.xdist_group(named[1])) if named else block


@pytest.mark.integrations
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("block", [example(block) for block in BLOCKS if "def test_" not in block])
def test_an_example_runs(
    block: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    monkeypatch.chdir(str(tmp_path))
    exec(compile(block, "docs/integrations.md", "exec"), {})
