"""halldetect calibrate: the file it writes, its use, wrong rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from halldetect.calls import Calls
from halldetect.cli import main
from tests.support.fakes import use_overlap_verifier

SOURCE = "The mill was built in 1790. Today it is a museum. Children pay nothing."
RIGHT = {"source": SOURCE, "response": "In 1790 the mill was built.", "hallucinated": False}
WRONG = {"source": SOURCE, "response": "Zebras sing loudly.", "hallucinated": True}


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with everything real but the weights."""
    use_overlap_verifier(monkeypatch)


def labelled(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_written_threshold_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.json"
    rows = labelled(tmp_path, [RIGHT] * 19 + [WRONG] * 2 + [{**RIGHT, "response": ""}])
    assert main(["calibrate", rows, str(cut)]) == 0
    out = capsys.readouterr().out
    assert "19 faithful, 2 hallucinated" in out
    assert "2 of 2 hallucinated" in out
    assert "1 responses that could not be checked" in out
    assert out.endswith("cut.json ...\n")
    assert main(["check", SOURCE, WRONG["response"], "--threshold", str(cut), "--json"]) == 1
    assert (
        json.loads(capsys.readouterr().out)["threshold"] == json.loads(cut.read_text())["threshold"]
    )


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([RIGHT] * 3, [], "needs at least 19 labelled"),
        ([{**RIGHT, "hallucinated": "no"}], [], "row 1: hallucinated must be true or false"),
        ([{"source": SOURCE, "hallucinated": False}], [], "row 1: 'response' is missing"),
        ([RIGHT] * 19, ["--risk", "2"], "the risk must lie between"),
        ([RIGHT] * 19, ["--verifier", "auto"], "two verifiers"),
        ([], [], "needs at least 19 labelled"),
    ],
)
def test_wrong_rows_and_options_are_refused_before_the_work(
    rows: list[dict[str, Any]],
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(Calls, "check_many")
    cut = tmp_path / "cut.json"
    assert main(["calibrate", labelled(tmp_path, rows), str(cut), *options]) == 2
    assert message in capsys.readouterr().err
    assert not cut.exists()


def test_output_needs_its_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", labelled(tmp_path, [RIGHT]), str(tmp_path / "cut")]) == 2
    assert "must end in .json" in capsys.readouterr().err
    assert main(["calibrate", labelled(tmp_path, [RIGHT]), str(tmp_path / "no" / "cut.json")]) == 2
    assert "there is no folder" in capsys.readouterr().err
