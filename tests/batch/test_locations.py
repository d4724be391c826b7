"""Which files the arguments name: several, patterns, URLs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from halldetect.batch.formats import expand_inputs
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from halldetect.batch.results import read_results
from halldetect.errors import InputError
from tests.support.batch_files import (
    GOOD,
    SOURCE,
    Stopped,
    detector,
    results,
    rows,
    stop_after,
    untimed,
    write_jsonl,
)


def test_files_and_patterns_are_read_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a", "c"):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"source": SOURCE, "response": GOOD}] * 2 + [5])
    run_local(detector(), Job(("c.jsonl", "[ab].jsonl"), "out.jsonl"))
    found = results(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == [
        f"{file}.jsonl:{row}" for file in "cab" for row in (1, 2, 3)
    ]
    assert found[2]["reason"].startswith("line 3: ")
    # A pattern names its files however few they are today.
    run_local(detector(), Job("c*.jsonl", "one.jsonl"))
    assert results(tmp_path / "one.jsonl")[0]["id"] == "c.jsonl:1"


def test_a_run_over_several_files_is_resumable(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_jsonl(tmp_path / f"{name}.jsonl", rows(40))
    source = str(tmp_path / "?.jsonl")
    job = Job(source, str(tmp_path / "out.jsonl"))
    with pytest.raises(Stopped):
        run_local(detector(), job, progress=stop_after(2))
    outcome = run_local(detector(), replace(job, resume=True))
    assert (outcome.counts.rows, outcome.rows_before) == (120, 40)
    run_local(detector(), Job(source, str(tmp_path / "whole")[:-5] + "whole.jsonl"))
    assert untimed(tmp_path / "out.jsonl") == untimed(tmp_path / "whole.jsonl")


def test_impossible_inputs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "[a].jsonl", rows(1))
    assert expand_inputs(["[a].jsonl"]) == ("[a].jsonl",)  # the file itself, not a pattern
    (tmp_path / "[a].jsonl").unlink()
    write_jsonl(tmp_path / "a.jsonl", [])
    (tmp_path / "b.csv").write_text("source,text\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no file matches 'x\*.jsonl'"):
        expand_inputs(["x*.jsonl"])
    with pytest.raises(InputError, match="named twice"):
        expand_inputs(["a.jsonl", "*.jsonl"])
    with pytest.raises(InputError, match="one of several"):
        expand_inputs(["-", "a.jsonl"])
    with pytest.raises(InputError, match="no column 'response'"):
        run_local(detector(), Job(("a.jsonl", "b.csv"), "out.jsonl"))
    with pytest.raises(InputError, match="is the input"):
        Job("*.jsonl", "a.jsonl", overwrite=True)
    with pytest.raises(InputError, match=r"\.parquet for a folder"):
        Job("a.jsonl", "s3://bucket/out.csv", in_parts=True)
    assert not list(tmp_path.glob("*.parts*"))


def test_urls_are_read_through_pyarrow(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    write_jsonl(tmp_path / "deep" / "a.jsonl", rows(2))
    write_jsonl(tmp_path / "deep" / "er" / "b.jsonl", rows(3))
    run_local(detector(), Job(f"file://{tmp_path}/deep/a.jsonl", str(tmp_path / "one.jsonl")))
    assert [row["id"] for row in results(tmp_path / "one.jsonl")] == [0, 1]
    assert expand_inputs([f"file://{tmp_path}/**/*.jsonl"]) == tuple(
        f"file://{tmp_path}/{name}" for name in ("deep/a.jsonl", "deep/er/b.jsonl", "one.jsonl")
    )
    assert expand_inputs([f"file://{tmp_path}/*/[ab].jsonl"]) == (
        f"file://{tmp_path}/deep/a.jsonl",
    )
    folder = tmp_path / "parts.jsonl"
    run_local(detector(), Job(str(tmp_path / "deep" / "a.jsonl"), f"file://{folder}"))
    assert [row["id"] for row in read_results(folder)] == [0, 1]
    assert (folder / "_done.json").is_file()
    with pytest.raises(InputError, match=r"cannot read 'file://.*none.jsonl'"):
        run_local(
            detector(), Job(f"file://{tmp_path}/none.jsonl", str(tmp_path / "none-out.jsonl"))
        )
    with pytest.raises(InputError, match=r"cannot reach 'nonsense://x\.jsonl'"):
        run_local(detector(), Job("nonsense://x.jsonl", str(tmp_path / "none-out.jsonl")))
