"""The import contracts of pyproject.toml hold, and cover every module of the core."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.paths import ROOT

# Packages that build on the core, and the two entry points.
EDGES = {"batch", "cli", "integrations"}
ENTRIES = {"__init__", "__main__"}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]


def modules(package: Path) -> set[str]:
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    return folders | {path.stem for path in package.glob("*.py")}


def test_contracts_hold() -> None:
    code = "from importlinter.cli import lint_imports as lint; exit(lint(no_cache=True))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_core_contract_names_every_module() -> None:
    (core,) = (contract for contract in CONTRACTS if contract["id"] == "core")
    found = modules(ROOT / "src" / "halldetect") - EDGES - ENTRIES
    assert set(core["source_modules"]) == {f"halldetect.{name}" for name in found}
    assert set(core["forbidden_modules"]) == {
        "halldetect_bench",
        "halldetect_serve",
        *(f"halldetect.{name}" for name in EDGES),
    }
