"""halldetect repair: statuses, forms of output, bad usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halldetect.cli import main
from tests.support.fakes import use_overlap_verifier

SOURCE = "The mill was built in 1790. Today it is a museum."
WRONG = "The mill was built in 1850. Zebras sing."


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with everything real but the weights."""
    use_overlap_verifier(monkeypatch)


def test_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("html", "output")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert main(["repair", SOURCE, WRONG, *options]) == 0
    assert "[-1850-]{+1790+}" in capsys.readouterr().out
    assert "<del>1850</del>" in files["html"].read_text(encoding="utf-8")
    assert files["output"].read_text(encoding="utf-8") == "The mill was built in 1790."


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", SOURCE, WRONG, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "The mill was built in 1790."


def test_a_failed_repair_writes_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "new.txt"
    assert main(["repair", SOURCE, "Zebras sing.", "--output", str(output)]) == 1
    assert "NOT REPAIRED" in capsys.readouterr().out
    assert not output.exists()
    assert main(["repair", SOURCE, ""]) == 3


@pytest.mark.parametrize("options", [["--max-rounds", "0"], ["--paper"]])
def test_wrong_usage(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", SOURCE, WRONG, *options]) == 2
    assert capsys.readouterr().err.count("\n") >= 1
