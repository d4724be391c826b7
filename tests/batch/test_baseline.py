"""A run against an earlier one: which rows got worse, and by which claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from halldetect.batch.dataset_report import SHOWN_ROWS, compare_with_baseline
from halldetect.cli import main
from tests.support.batch_files import GOOD, SOURCE, WRONG, rows, write_jsonl


def run(folder: Path, name: str, responses: dict[str, str], *options: str) -> int:
    """Check one row per response, by id, and write the results to `name`."""
    lines = [{"id": id, "source": SOURCE, "response": text} for id, text in responses.items()]
    source = write_jsonl(folder / f"rows-{name}.jsonl", lines)
    return main(["batch", str(source), str(folder / name), *options])


BEFORE = {"same": GOOD, "breaks": GOOD, "mended": WRONG, "gone": GOOD, "more": WRONG, "empty": GOOD}
AFTER = {
    "empty": "",
    "breaks": f"{GOOD} {WRONG}",
    "same": GOOD,
    "mended": GOOD,
    "new": WRONG,
    "more": f"{WRONG} The mill was sold in 1999.",
}


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_worse_rows_are_named(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    assert run(tmp_path, f"old.{ending}", BEFORE) == 0
    old = str(tmp_path / f"old.{ending}")
    capsys.readouterr()
    status = run(tmp_path, "new.jsonl", AFTER, "--baseline", old, "--fail-on", "worse>2")
    assert status == 1
    lines = [line.removeprefix("halldetect: ") for line in capsys.readouterr().err.splitlines()]
    (summary,) = (line for line in lines if "against" in line)
    assert "3 worse, 1 better, 1 unchanged, 1 new, 1 gone" in summary
    assert "rate 0.3333 → 0.6000" in summary
    worse = [line.removeprefix("worse: ") for line in lines if line.startswith("worse: ")]
    assert worse[0].startswith("empty: faithful → uncheckable. ")
    assert worse[1].startswith(f"breaks: faithful → hallucinated. contradicted: “{WRONG}”")
    assert "1790" in worse[1]
    assert "“The mill was sold in 1999.”" in worse[2]  # not the claim that failed before
    assert "failed by worse>2: worse is 3" in lines


def test_finished_runs_are_compared_without_checking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "old.jsonl", BEFORE) == run(tmp_path, "new.jsonl", AFTER) == 0
    options = ["--resume", "--baseline", str(tmp_path / "old.jsonl")]
    assert run(tmp_path, "new.jsonl", AFTER, *options) == 0
    assert "3 worse" in capsys.readouterr().err
    assert run(tmp_path, "new.jsonl", AFTER, *options, "--fail-on", "worse") == 1


def test_rows_with_one_id_pair_in_order(tmp_path: Path) -> None:
    for name, responses in (("old", (GOOD, WRONG)), ("new", (WRONG, WRONG))):
        lines = [{"id": "a", "source": SOURCE, "response": text} for text in responses]
        write_jsonl(tmp_path / f"{name}-in.jsonl", lines)
        files = [str(tmp_path / f"{name}-in.jsonl"), str(tmp_path / f"{name}.jsonl")]
        assert main(["batch", *files]) == 0
    changes, _ = compare_with_baseline(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert dict(changes) == {"worse": 1, "unchanged": 1, "gone": 0}


def test_only_the_first_rows_are_shown(tmp_path: Path) -> None:
    for name, response in (("old", GOOD), ("new", WRONG)):
        write_jsonl(tmp_path / f"{name}-in.jsonl", rows(SHOWN_ROWS + 5, [response]))
        files = [str(tmp_path / f"{name}-in.jsonl"), str(tmp_path / f"{name}.jsonl")]
        assert main(["batch", *files]) == 0
    changes, lines = compare_with_baseline(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert changes["worse"] == SHOWN_ROWS + 5
    assert len(lines) == SHOWN_ROWS + 2
    assert lines[-1] == "worse: 5 more rows"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--baseline", "none.jsonl"], "cannot read 'none.jsonl'"),
        (["--baseline", "rows.jsonl"], "they are not of batch"),
        (["--baseline", "broken.jsonl"], "cannot read results"),
        (["--fail-on", "worse"], "needs --baseline"),
    ],
)
def test_unusable_baseline_is_refused_first(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "rows.jsonl", rows(1))
    (tmp_path / "broken.jsonl").write_text("{", encoding="utf-8")
    assert main(["batch", "rows.jsonl", "out.jsonl", *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
