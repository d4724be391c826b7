"""Runs that are stopped, torn and taken up again; the command that starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from halldetect.cli import build_parser, main
from halldetect.cli.options import configuration_for
from halldetect.config import Configuration
from halldetect.errors import InputError, ModelError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.halldetect_method import HallDetect
from halldetect_bench.methods.method import Scored
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.predictions import (
    Prediction,
    header_of,
    open_predictions,
    prediction_of,
    read,
)
from halldetect_bench.registry import METHODS
from halldetect_bench.results_folder import read_all
from halldetect_bench.runner import run, sample
from tests.support.bench_fakes import DOOR_ROWS as ROWS
from tests.support.bench_fakes import CountingMethod
from tests.support.fakes import use_overlap_verifier
from tests.support.paths import ROOT


def unmeasured(path: Path) -> list[Prediction]:
    """What a file holds, without what a second run would measure otherwise."""
    return [replace(item, resources={}) for item in read(path).predictions]


def ids(path: Path) -> list[str]:
    return [item.id for item in read(path).predictions]


def test_a_line_holds_truth_score_and_cost(tmp_path: Path) -> None:
    ran = run("d", ROWS[:3], CountingMethod(), tmp_path)
    header, predictions = read(ran.path).header, read(ran.path).predictions
    assert (ran.new, ran.kept) == (3, 0)
    assert header.method == {"name": "counting"}
    assert ran.path == tmp_path / "d" / f"counting-{header.digest}.jsonl"
    assert [(item.id, item.gold, item.score) for item in predictions] == [
        ("r0", True, 0.0), ("r1", False, 0.01), ("r2", True, 0.02),
    ]  # fmt: skip
    assert predictions[0].cost["pairs_judged"] == 2
    assert predictions[0].claims == [["a", 0.1]]
    assert predictions[2].document == "2"


def test_rows_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    run("d", ROWS[:5], CountingMethod(), tmp_path)
    again = CountingMethod()
    ran = run("d", ROWS[:8], again, tmp_path, batch=2)
    assert again.asked == ["r5", "r6", "r7"]
    assert (ran.new, ran.kept) == (3, 5)
    assert ids(ran.path) == [f"r{n}" for n in range(8)]


@pytest.mark.parametrize("cut", [1, 2, 30, 150, 100_000])
def test_a_torn_last_line_is_dropped(cut: int, tmp_path: Path) -> None:
    path = run("d", ROWS[:6], CountingMethod(), tmp_path).path
    whole, before = path.read_bytes(), unmeasured(path)
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    ran = run("d", ROWS[:6], CountingMethod(), tmp_path)
    assert ran.new >= 1
    assert unmeasured(path) == before
    assert path.read_bytes().endswith(b"\n")


def test_data_that_changed_are_refused(tmp_path: Path) -> None:
    run("d", ROWS[:2], CountingMethod(), tmp_path)
    changed = Row("d", "r1", "Another source.", "There are 1.", False, document="1")
    with pytest.raises(InputError, match="row r1 has changed"):
        run("d", [ROWS[0], changed], CountingMethod(), tmp_path)


def test_a_damaged_file_is_refused_not_mended(tmp_path: Path) -> None:
    path = run("d", ROWS[:3], CountingMethod(), tmp_path).path
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{}", *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="line 2"):
        run("d", ROWS[:3], CountingMethod(), tmp_path)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    header = header_of("d", CountingMethod().description)
    with open_predictions(tmp_path, header), pytest.raises(InputError, match="another run"):
        run("d", ROWS[:1], CountingMethod(), tmp_path)
    assert run("d", ROWS[:1], CountingMethod(), tmp_path).new == 1


def test_a_file_says_nothing_of_this_machine(tmp_path: Path) -> None:
    model = tmp_path / "some" / "model.gguf"
    model.parent.mkdir()
    model.touch()
    settings = {"model": {"name": f"gguf:{model}", "at": [str(model)]}, "hub": "hf:a/b"}
    header = header_of(f"jsonl:{tmp_path}/rows.jsonl", {"name": "m", **settings})
    assert header.method["model"] == {"name": "gguf:model.gguf", "at": ["model.gguf"]}
    assert header.method["hub"] == "hf:a/b"
    assert header.dataset == "jsonl:rows"
    assert header.path.parent == Path("jsonl-rows")


def test_odd_characters_survive(tmp_path: Path) -> None:
    row = Row("d", "a\u2028b", "S\ud800.", "R\n\x85.", True, document="d")
    scored = Scored(None, "no\u2028answer", (("\ud800", None),))
    with open_predictions(tmp_path, header_of("d", {"name": "m"})) as book:
        book.append(prediction_of(row, scored))
    (found,) = read_all(tmp_path)[0].predictions
    assert (found.id, found.score, found.reason) == (row.id, None, scored.reason)


def test_a_failing_method_stops_and_keeps_finished_rows(tmp_path: Path) -> None:
    class Failing(CountingMethod):
        def score_many(self, rows: Sequence[Row]) -> list[Scored]:
            if rows[0].id == "r2":
                raise ModelError("out of memory")
            return super().score_many(rows)

    with pytest.raises(ModelError):
        run("d", ROWS[:4], Failing(), tmp_path)
    later = CountingMethod()
    assert run("d", ROWS[:4], later, tmp_path).kept == 2
    assert later.asked == ["r2", "r3"]


def test_a_sample_is_seeded_and_grows(tmp_path: Path) -> None:
    small, large = sample(ROWS, 5, 3), sample(ROWS, 20, 3)
    assert small == sample(ROWS, 5, 3) != sample(ROWS, 5, 4)
    assert len(small) == 5
    assert {row.id for row in small} < {row.id for row in large}
    assert large == sorted(large, key=ROWS.index)
    assert sample(ROWS, 99, 0) == sample(ROWS, None, 0) == ROWS
    with pytest.raises(InputError, match="at least 1"):
        sample(ROWS, 0, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], Configuration()),
        (["--extractor", "sentences", "--seed", "7"], Configuration(seed=7)),
        (["--threads", "2"], Configuration(threads=2)),
    ],
)
def test_the_detector_gets_the_command_line_options(
    given: list[str], expected: Configuration
) -> None:
    needed = ["--dataset", "d", "--method", "halldetect", "-o", "out"]
    arguments = build_parser().parse_args(["bench", "run", *needed, *given])
    models = RunModels(RunOptions(configuration_for(arguments)))
    method = METHODS["halldetect"].build(models)
    assert isinstance(method, HallDetect)
    assert method.detector.configuration == expected


SLOW = """
import time
from pathlib import Path
from tests.support.bench_fakes import DOOR_ROWS, CountingMethod
from halldetect_bench.runner import run

class Slow(CountingMethod):
    def score_many(self, rows):
        time.sleep(0.05)
        return super().score_many(rows)

run("d", DOOR_ROWS, Slow(), Path({folder!r}))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_killed_repeatedly_no_row_is_lost_or_repeated(tmp_path: Path) -> None:
    script = SLOW.format(folder=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    path = tmp_path / header_of("d", CountingMethod().description).path
    for _ in range(2):
        before = path.stat().st_size if path.exists() else 0
        worker = subprocess.Popen([sys.executable, "-c", script], env=environment)
        deadline = time.monotonic() + 120
        while not path.exists() or path.stat().st_size < before + 900:
            assert worker.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.wait() == -signal.SIGKILL
    done = len(ids(path))
    assert 2 <= done < len(ROWS)
    last = CountingMethod()
    run("d", ROWS, last, tmp_path)
    assert len(last.asked) == len(ROWS) - done
    assert ids(path) == [row.id for row in ROWS]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    lines = [
        {"source": "The mill is old. It has a wheel.", "response": text, "hallucinated": wrong}
        for text, wrong in [("The mill is old.", 0), ("It has a clock.", 1), ("", 1)]
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_the_command_runs_every_method_on_every_dataset(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_overlap_verifier(monkeypatch)
    command = ["bench", "run", "--dataset", f"jsonl:{data}", "-o", str(tmp_path / "out")]
    command += ["--method", "halldetect,minicheck-style", "--method", "rouge-l,minicheck-style"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out.count("2 new, 0 already there") == 3
    assert "2/2 rows" in err
    assert "1 records dropped (1 x empty response)" in err
    assert main([*command, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out.count("0 new, 2 already there") == 3
    assert err == ""
    assert len(read_all(tmp_path / "out")) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--method": "oracle"}, "no method named 'oracle'"),
        ({"--dataset": "nowhere"}, "no dataset named 'nowhere'"),
        ({"--limit": "0"}, "--limit must be at least 1"),
        ({"--context": "3"}, "--context must be at least 512"),
        ({"--batch": "0"}, "--batch must be at least 1"),
        ({"-o": "/dev/null/x"}, "cannot write"),
    ],
)
def test_mistakes_get_one_line(
    change: dict[str, str], message: str, data: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    options = {"--dataset": f"jsonl:{data}", "--method": "rouge-l", "-o": str(tmp_path / "out")}
    assert main(["bench", "run", *(x for pair in {**options, **change}.items() for x in pair)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_a_model_that_is_not_there(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "run", "--dataset", f"jsonl:{data}", "-o", str(tmp_path), "--quiet"]
    assert main([*command, "--method", "llm-cot", "--llm", "no/model.gguf"]) == 3
    assert capsys.readouterr().err == "halldetect: there is no model file no/model.gguf\n"
