"""The command `halldetect batch`: statuses, messages and wrong usage."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from halldetect.cli import main
from tests.support.batch_files import (
    ROWS,
    results,
    rows,
    write_jsonl,
)


def test_statuses_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", [*ROWS, ROWS[0], 5]))
    out = tmp_path / "o.jsonl"
    assert main(["batch", source, str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3 faithful, 1 hallucinated, 0 abstained, 1 uncheckable, 1 bad" in captured.err
    assert "the first bad row: row 6: line 6: a row must be" in captured.err
    assert len(results(out)) == 6

    assert main(["batch", source, str(out)]) == 2
    assert "--overwrite begins again" in capsys.readouterr().err
    assert main(["batch", source, str(out), "--resume"]) == 0
    assert "is complete" in capsys.readouterr().err
    cut_off = tmp_path / "cut.jsonl.gz"
    cut_off.write_bytes(gzip.compress(Path(source).read_bytes())[:-9])
    assert main(["batch", str(cut_off), str(out), "--overwrite"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert len(results(out)) == 6  # the old results stay until there are new ones
    assert main(["batch", source, str(out), "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr().err == ""

    nothing = str(write_jsonl(tmp_path / "nothing.jsonl", [{"source": "a"}]))
    assert main(["batch", nothing, str(tmp_path / "n.jsonl")]) == 3
    assert len(results(tmp_path / "n.jsonl")) == 1


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_resume_compares_finished_results_with_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [*ROWS, 5])
    options = [str(tmp_path / f"out.{kind}"), "--resume"]
    assert main(["batch", str(source), *options]) == 0
    assert main(["batch", str(source), *options]) == 0
    assert "is complete" in capsys.readouterr().err
    changed = {**ROWS[1], "source": "Something else."}
    for given in (ROWS, [*ROWS, 5, 5], [ROWS[0], changed, *ROWS[2:], 5], []):
        other = write_jsonl(tmp_path / "other.jsonl", given)
        assert main(["batch", str(other), *options]) == 2
        assert "cannot resume: row " in capsys.readouterr().err


def test_resume_compares_finished_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", ROWS))
    arguments = ["batch", source, str(tmp_path / "out.jsonl"), "--resume"]
    assert main(arguments) == 0
    assert main([*arguments, "--threshold", "0.25"]) == 2
    assert "another configuration" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "out.txt"], "by its ending"),
        (["in.jsonl", "in.jsonl"], "is the input"),
        (["in.jsonl", "no/out.jsonl"], "there is no folder"),
        (["none.jsonl", "out.jsonl"], "no file 'none.jsonl'"),
        (["folder.jsonl", "out.jsonl"], "is a directory"),
        (["in.jsonl", "folder.jsonl"], "is not a file"),
        (["in.jsonl", "x" * 300 + ".jsonl"], "File name too long"),
        (["in.jsonl", "-", "--resume"], "standard output can be neither"),
        (["in.jsonl", "out.jsonl", "--source-column", "response"], "two things"),
        (["in.jsonl", "out.jsonl", "--threshold", "7"], "between 0 and 1"),
        (["in.jsonl", "out.jsonl", "--workers", "2"], "--workers is for --engine ray"),
        (["in.jsonl", "out.jsonl", "--by", "kind"], "--by is for --report"),
        (["in.jsonl", "out.jsonl", "--cache", "in.jsonl"], "cannot use the cache"),
    ],
)
def test_wrong_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "in.jsonl", ROWS)
    (tmp_path / "folder.jsonl").mkdir()
    assert main(["batch", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert message in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.jsonl", "in.jsonl"]


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, name, None)
    source = str(write_jsonl(tmp_path / "in.jsonl", rows(1)))
    assert main(["batch", source, str(tmp_path / "o.jsonl"), "--engine", "ray"]) == 3
    assert "pip install 'halldetect[ray]'" in capsys.readouterr().err
    assert main(["batch", source, "-", "--engine", "ray"]) == 2
    assert "not standard input or output" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--fail-on", "hallucinated"], 1, "failed by hallucinated>0: hallucinated is 1"),
        (["--fail-on", "bad"], 0, ""),
        (["--fail-on", "rate>0.05"], 1, "failed by rate>0.05: rate is 0.3333"),
        (["--fail-on", "rate > 0.9"], 0, ""),
        (["--fail-on", "rate>0.9", "--fail-on", "uncheckable>=1"], 1, "uncheckable>=1"),
    ],
)
def test_conditions_under_which_a_run_fails(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    status: int,
    message: str,
) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", ROWS))
    out = str(tmp_path / "out.jsonl")
    assert main(["batch", source, out, "--quiet", *options]) == status
    assert message in capsys.readouterr().err
    assert main(["batch", source, out, "--resume", *options]) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        *(
            ("--fail-on", text, "not a condition")
            for text in ("rates", "x>1", "rate<1", "rate>x", "")
        ),
        *(("--fail-on", text, "is never met") for text in ("rate>5", "rate>1", "rate>=1.1")),
        *((flag, "0", "1 or more") for flag in ("--batch-size", "--part-rows")),
    ],
)
def test_bad_values_are_refused(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["batch", "in.jsonl", "out.jsonl", option, value])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
