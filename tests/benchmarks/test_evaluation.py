"""The runs of the evaluation, and names of weights in packed results."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import evaluation, pack
from halldetect.cli import build_parser
from halldetect.machine.integrity import digest_of
from halldetect_bench.predictions import Header, Results


def options(**changed: Any) -> Any:
    given = {"base": "base", "large": True, "llm": "m.gguf", "embedder": "e"}
    return SimpleNamespace(**{**given, "shared_rows": 9, **changed})


def test_every_run_is_a_command() -> None:
    found = list(evaluation.all_runs(options()))
    assert {run.dataset for run in found} <= set(evaluation.DATASETS)
    parser = build_parser()
    for run in {run.options: run for run in found}.values():
        parser.parse_args(run.command(["-o", "out"])[3:])
    plain = list(evaluation.all_runs(options(llm=None, embedder=None, large=False)))
    assert not any("--llm" in run.options or "large" in run.options for run in plain)


def test_runs_stop_when_the_time_is_up() -> None:
    said: list[str] = []
    fast = [sys.executable, "-c", "pass", "x", "fast"]
    wrong = [sys.executable, "-c", "raise SystemExit('no model')", "x", "wrong"]
    slow = [sys.executable, "-c", "import time; time.sleep(60)", "x", "slow"]
    assert evaluation.run_all([fast, wrong], 60, 1, said.append) == 1
    assert evaluation.run_all([slow, fast], 0.2, 1, said.append) == 0
    assert said == ["FAILED: wrong: no model", "stopped: slow", "left out: fast"]


def test_weights_are_renamed_in_every_description() -> None:
    verifier = {"name": "hf:x", "folder_digest": "old", "device": "cuda"}
    method: dict[str, Any] = {"name": "m", "verifier": verifier, "layers": [{"by": verifier}]}
    (found,) = pack.named([Results(Header("d", method), ())], {"old": {"name": "base", "x": 1}})
    renamed = {**verifier, "name": "base", "x": 1}
    assert found.header.method == {"name": "m", "verifier": renamed, "layers": [{"by": renamed}]}


def test_settings_of_a_report_name_the_weights(tmp_path: Path) -> None:
    for name, file in (("base", "model.onnx"), ("large", "adapter.lora8")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(name)
    settings = tmp_path / "settings.toml"
    settings.write_text('[weights]\nbase = ["1"]\nlarge = ["2"]\n[shipped]\nbase = "3"\n')
    pack.write_weights(settings, tmp_path)
    one = digest_of(tmp_path / "base" / "model.onnx")
    two = digest_of(tmp_path / "large" / "adapter.lora8")
    assert settings.read_text() == (
        f'[weights]\nbase = ["{one}"]\nlarge = ["{two}"]\n[shipped]\nbase = "{one}"\n'
    )
    settings.write_text("min_rows = 9\n")
    with pytest.raises(ValueError, match="no line for the weights of base"):
        pack.write_weights(settings, tmp_path)
