"""The report: what the short one says, the CSV files, the block of the README."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.errors import InputError
from halldetect_bench.predictions import Results, open_predictions
from halldetect_bench.report import (
    BEGIN,
    END,
    MAX_LINES,
    csv_files,
    readme_text,
    summary,
    with_block,
)
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.selection import Settings
from halldetect_bench.stats.tables import Tables
from tests.support.bench_fakes import make_results

GOLD: list[bool | None] = [True, False] * 20
GOOD: list[float | None] = [
    0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)
]
BAD: list[float | None] = [None if score is None else 1 - score for score in GOOD]
BASE = {"name": "base", "digest": "0123456789abcdef"}
FOUND = [
    make_results("qags-cnndm", "halldetect", GOOD, GOLD, verifier=BASE),
    make_results("qags-cnndm", "nli-only", BAD, GOLD, verifier=BASE),
    make_results("wice", "halldetect", BAD, GOLD, verifier=BASE),
    make_results("wice", "nli-only", GOOD, GOLD, verifier=BASE),
]


def tables(results: list[Results], settings: Settings | None = None, **more: object) -> Tables:
    return Tables(Evidence(results, settings, samples=20, **more))  # type: ignore[arg-type]


def text_of(results: list[Results], settings: Settings | None = None) -> str:
    return summary(tables(results, settings))


def test_the_short_report() -> None:
    text = text_of(FOUND, Settings(notes=("A note.",), trained_on={"wice": "its train split"}))
    assert "A note." in text
    assert "Weights: `base` 01234567." in text
    assert "Means over 2 datasets, on the 80 rows that all methods scored." in text
    assert "| halldetect | 0.500 (0.500 to 0.500) | 0.500 |" in text
    assert "|  | qags-cnndm | wice† |" in text
    assert "(wice: its train split)" in text
    assert "| halldetect | 1.000 | 0.000 |" in text
    assert "**What is decomposition worth?** With `base`" in text
    assert "In 1 of 2 comparisons" in text
    assert "| wice | nli-only | +1.000 (+1.000 to +1.000) |" in text


def test_methods_with_all_rows_have_own_columns() -> None:
    fewer = make_results("qags-cnndm", "llm-cot", GOOD[:20], GOLD[:20])
    text = text_of([*FOUND[:2], fewer])
    assert "AUROC, all rows" in text
    line = next(line for line in text.splitlines() if line.startswith("| llm-cot |"))
    assert line.split(" | ")[3:5] == ["–", "–"]


def test_it_says_what_was_left_out() -> None:
    few = make_results("wice", "rouge-l", GOOD[:4], GOLD[:4])
    text = text_of([*FOUND, few], Settings(min_rows=10))
    assert "1 result files are in no table: 1 x fewer than 10 rows." in text


def test_it_stays_short_whatever_there_is() -> None:
    many = [
        make_results(dataset, f"method-{n:02}", GOOD if n else BAD, GOLD, verifier=BASE)
        for n in range(70)
        for dataset in ("a", "b", "c")
    ]
    reasons = [make_results("a", f"few-{n}", GOOD[:n], GOLD[:n]) for n in range(1, 20)]
    alone = {
        machine: [make_results("a", f"method-{n:02}", GOOD, GOLD) for n in range(30)]
        for machine in ("latency-cpu", "latency-gpu")
    }
    made = tables([*many, *reasons], Settings(min_rows=30), latency=alone)
    text = summary(made)
    assert text.count("\n") <= MAX_LINES - 14  # room for the answers
    assert "method-00" in text  # the reference, although it is the worst


def test_the_cost_table_lists_machines_side_by_side() -> None:
    def alone(name: str, seconds: float) -> Results:
        return make_results("a", name, GOOD, GOLD, {"seconds": {"all": seconds}})

    machines = {
        "latency-cpu": [alone("halldetect", 0.5), alone("minicheck-style", 0.25)],
        "latency-gpu": [alone("halldetect", 0.125)],
    }
    text = summary(tables(FOUND, latency=machines))
    assert "latency-cpu, 40 rows of a; latency-gpu, 40 rows of a." in text
    assert "| a | halldetect | 0 | 0.500 | 0.125 |" in text
    assert "| a | minicheck-style | 0 | 0.250 | – |" in text


def test_results_of_earlier_weights_are_called_that() -> None:
    weights = {"base": [str(BASE["digest"])]}
    newer = Settings(weights=weights, shipped={"base": "f" * 64})
    sentence = "newer ones ship now (`base` ffffffff, not 01234567)"
    assert sentence in text_of(FOUND, newer)
    assert sentence in readme_text(tables(FOUND, newer))
    same = Settings(weights=weights, shipped={"base": str(BASE["digest"])})
    assert "earlier weights" not in text_of(FOUND, same)
    assert "earlier weights" not in readme_text(tables(FOUND, same))


def test_the_csv_files_hold_the_numbers() -> None:
    sheets = csv_files(tables(FOUND))
    quality = list(csv.DictReader(io.StringIO(sheets["quality.csv"])))
    first = quality[0]
    assert (first["rows of"], first["dataset"], first["AUROC"]) == ("shared", "mean", "0.5")
    assert {row["dataset"] for row in quality} == {"mean", "qags-cnndm", "wice"}
    gained = list(csv.DictReader(io.StringIO(sheets["differences.csv"])))
    assert [(row["dataset"], row["AUROC"]) for row in gained] == [
        ("mean", "0.0"), ("qags-cnndm", "-1.0"), ("wice", "1.0"),
    ]  # fmt: skip
    # Rows of a batch share their time, so no seconds are given.
    assert {row["seconds"] for row in csv.DictReader(io.StringIO(sheets["cost.csv"]))} == {""}


def test_the_block_of_the_readme() -> None:
    text = readme_text(tables(FOUND))
    assert "Mean of 2 datasets, 80 rows, AUROC and balanced accuracy: 0.500 and 0.500 with" in text
    assert text.endswith("with `base`.")
    made = with_block(f"before\n{BEGIN}\nold\n{END}\nafter", text)
    assert made == f"before\n{BEGIN}\n\n{text} {END}\nafter"
    assert with_block(made, text) == made
    with pytest.raises(InputError, match="no place for the numbers"):
        with_block("nothing", text)


def stored(folder: Path) -> Path:
    for one in FOUND:
        with open_predictions(folder, one.header) as book:
            for item in one.predictions:
                book.append(item)
    return folder


def test_the_command_writes_the_same_bytes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "in")
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    command = ["bench", "report", str(folder), "--samples", "20"]
    assert main([*command, "-o", str(tmp_path / "out"), "--readme", str(readme)]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert written[0].name == "results.md"
    assert "Mean of 2 datasets" in readme.read_text(encoding="utf-8")
    first = [path.read_bytes() for path in written]
    assert main([*command, "-o", str(tmp_path / "out"), "--readme", str(readme)]) == 0
    assert [path.read_bytes() for path in written] == first
    # What the report wrote into the results does not disturb the next one.
    assert main(command) == 0
    assert main([*command, "--against", "nli-only"]) == 0
    assert "## Where nli-only loses" in (folder / "results.md").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["bench", "report", str(tmp_path / "none")]) == 2
    assert "bench run" in capsys.readouterr().err
    assert main([*command[:3], "--samples", "0"]) == 2
