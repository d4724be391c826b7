"""The report of a dataset: what it counts, and that hostile text stays text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from halldetect.batch.dataset_report import summarise, write_report
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from halldetect.batch.results import read_results, wilson_interval
from halldetect.cli import main
from tests.support.batch_files import (
    GOOD,
    SOURCE,
    WRONG,
    detector,
    rows,
    write_jsonl,
)

HOSTILE = '<script>alert(1)</script> & "quoted" | \u202ereversed'


def test_summary_counts_every_row(tmp_path: Path) -> None:
    given_rows = [*rows(30), {"source": SOURCE}, {"source": SOURCE, "response": ""}]
    source = str(write_jsonl(tmp_path / "in.jsonl", given_rows))
    run_local(detector(), Job(source, str(tmp_path / "out.jsonl")))
    summary = summarise(read_results(tmp_path / "out.jsonl"), ["kind"])
    assert dict(summary.counts.by_kind) == {
        "faithful": 15, "hallucinated": 15, "bad": 1, "uncheckable": 1
    }  # fmt: skip
    assert summary.counts.rate == 0.5
    assert summary.counts.interval == pytest.approx((0.3315, 0.6685), abs=1e-3)
    assert summary.scores.total() == 30
    assert summary.claims.total() == 30
    assert {value: counts.rows for value, counts in summary.groups["kind"].items()} == {
        "0": 10, "1": 10, "2": 10, "(none)": 2
    }  # fmt: skip
    scores = [result["score"] for _, result in summary.worst]
    assert scores == sorted(scores, reverse=True)
    assert summary.reasons == {"'response' is missing": 1, "the response is empty": 1}
    assert wilson_interval(0, 0) is None
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)


def test_hostile_text_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given_rows = [
        {"id": HOSTILE, "source": SOURCE, "response": f"{WRONG} {HOSTILE}", HOSTILE: HOSTILE},
        {"id": "../../etc/passwd", "source": SOURCE, "response": GOOD, HOSTILE: "plain"},
    ]
    source = str(write_jsonl(tmp_path / "in.jsonl", given_rows))
    folder = tmp_path / "report"
    arguments = ["batch", source, str(tmp_path / "out.jsonl"), "--report", str(folder)]
    assert main(arguments) == 0
    assert "the report is in" in capsys.readouterr().err
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "default-src &#39;none&#39;" in page
    for loaded in ("<script", "src=", "url(", "@import", "http:", "https:", "\u202e", " style="):
        assert loaded not in page
    assert "&lt;script&gt;alert(1)" in page
    assert sorted(file.name for file in (folder / "rows").iterdir()) == [
        "000000001.html", "000000002.html"
    ]  # fmt: skip
    for target in re.findall(r'href="([^"]+)"', page):
        assert (folder / target).is_file()
    # The results are there: the report can be had again, and by any column.
    again = [*arguments, "--resume", "--by", "none"]
    assert main(again) == 2
    assert "no row has a column 'none'" in capsys.readouterr().err
    assert main([*arguments, "--resume", "--by", HOSTILE]) == 0


def test_report_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows(3)))
    folder = str(tmp_path / "report")
    assert main(["batch", source, "-", "--report", folder]) == 2
    assert "--report needs results in a file" in capsys.readouterr().err
    other = tmp_path / "mine"
    other.mkdir()
    target = str(tmp_path / "o.jsonl")
    for name in ("thesis.txt", "index.html"):
        (other / name).touch()
        assert main(["batch", source, target, "--report", str(other)]) == 2
        assert "holds other files" in capsys.readouterr().err
    assert not Path(target).exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_report_of_each_format(tmp_path: Path, ending: str) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", [*rows(6), 5]))
    run_local(detector(), Job(source, str(tmp_path / f"out.{ending}")))
    summary = write_report(tmp_path / f"out.{ending}", tmp_path / "report")
    assert summary.counts.by_kind == {"faithful": 3, "hallucinated": 3, "bad": 1}
    for file in (tmp_path / "report" / "rows").iterdir():
        assert "HallDetect report" in file.read_text(encoding="utf-8")


def test_report_of_nothing(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", [5]))
    run_local(detector(), Job(source, str(tmp_path / "out.jsonl")))
    write_report(tmp_path / "out.jsonl", tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "Nothing could be checked" in page
