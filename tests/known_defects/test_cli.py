"""The commands: errors instead of tracebacks, one voice about `large`, quiet pipes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.cli.progress import ProgressDisplay
from halldetect_bench.predictions import open_predictions
from tests.support.bench_fakes import make_results
from tests.support.known_defects import defect
from tests.support.paths import ROOT


@pytest.mark.parametrize("messages", [["system"], ["messages"], [["system"]], [7]])
def test_messages_of_another_form_are_refused_in_a_line(
    messages: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """D9"""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages))
    assert main(["check", "--quiet", "--messages", str(path)]) == 2
    assert "messages[0] must be an object" in capsys.readouterr().err


def test_a_report_of_methods_without_a_common_row_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold: list[bool | None] = [True, False] * 20
    scores: list[float | None] = [0.9, 0.1] * 20
    for name, part in (("halldetect", slice(0, 20)), ("nli-only", slice(20, 40))):
        made = make_results("mine", name, scores, gold)
        with open_predictions(tmp_path, made.header) as file:
            for item in made.predictions[part]:
                file.append(item)
    assert main(["bench", "report", str(tmp_path)]) == 2
    assert "no row was scored by all of halldetect, nli-only" in capsys.readouterr().err


@defect("The first hour")
def test_no_progress_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error of a script stays empty unless `--progress` asks for it."""
    with ProgressDisplay(quiet=False) as display:
        display._last_line -= 60  # a minute of work ago
        display.phase("verify", 0, 10)
    assert capsys.readouterr().err == ""


@defect("The first hour")
def test_doctor_says_one_thing_about_large(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is "not usable" without its base model, so its files are not just "verified"."""
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "store"))
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verifiers"]["large"].startswith("not usable")
    assert "verified" not in found["models"]["large"]


def test_our_verifier_in_the_way_of_minicheck_is_named_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    names = {line[0] for line in lines if line}
    assert "minicheck-style" in names


@defect("The first hour")
def test_the_readme_lists_every_extra_that_it_needs() -> None:
    """`--paper` needs `llm`, and a server that writes claims needs `openai`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^The default needs no download\. Extras.*$", readme, re.MULTILINE)
    assert {"`llm`", "`openai`"} <= set(re.findall(r"`[\w-]+`", listed))


@defect("The first hour")
def test_the_quickstart_prints_what_the_readme_calls_it() -> None:
    """A price that differs from the source's is contradicted on every page."""
    page = (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^(\w+): “A ticket costs six euros.”", page, re.MULTILINE)
    assert line == "contradicted"
