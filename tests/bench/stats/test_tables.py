"""Tables of results small enough to be worked out by hand."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.errors import ConfigurationError, InputError
from halldetect_bench.predictions import Header, Results, open_predictions
from halldetect_bench.report.blocks import markdown as text_of
from halldetect_bench.report.charts import draw
from halldetect_bench.report.csv_files import csv_files
from halldetect_bench.report.sections import report_blocks
from halldetect_bench.stats.method_labels import method_labels
from halldetect_bench.stats.per_dataset import METRICS
from halldetect_bench.stats.tables import Tables, make_tables
from tests.support.bench_fakes import COST, make_results


def markdown(made: Tables) -> str:
    return text_of(report_blocks(made))


GOLD: list[bool | None] = [True, True, False, False]
# One hallucination is under the threshold, and under one faithful response.
MIXED = make_results("one", "a", [0.9, 0.3, 0.4, 0.1], GOLD)
PERFECT = make_results("one", "b", [0.9, 0.8, 0.2, 0.1], GOLD, {**COST, "seconds": {"verify": 3.0}})


def test_every_figure_by_hand() -> None:
    (found,) = make_tables([MIXED], samples=50).quality
    assert (found.rows, found.answered, found.hallucinated) == (4, 4, 2)
    values = {name: figure.value for name, figure in found.figures.items()}
    assert values == pytest.approx(
        {
            "AUROC": 3 / 4,
            "average precision": (1 + 2 / 3) / 2,
            "precision": 1.0,
            "recall": 1 / 2,
            "F1": 2 / 3,
            "balanced accuracy": 3 / 4,
            "best F1": 4 / 5,
            "ECE": (0.1 + 0.7 + 0.4 + 0.1) / 4,
        }
    )
    for figure in found.figures.values():
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.high


def test_rows_without_an_answer_or_a_label_stay_out() -> None:
    gold: list[bool | None] = [True, True, False, None]
    (found,) = make_tables(
        [make_results("one", "a", [0.9, None, 0.1, 0.5], gold)], samples=20
    ).quality
    assert (found.rows, found.answered, found.hallucinated) == (4, 3, 2)
    assert found.figures["recall"].value == 1.0
    assert found.figures["AUROC"].value == 1.0


def test_what_does_not_exist_is_left_open() -> None:
    made = make_tables([make_results("one", "a", [None, 0.1], [True, False])], samples=20)
    figures = made.quality[0].figures
    assert figures["AUROC"].value is None
    assert figures["precision"].value is None
    assert figures["ECE"].value == pytest.approx(0.1)
    nothing = make_tables([make_results("one", "a", [None], [True])], samples=20)
    assert all(figure.value is None for figure in nothing.quality[0].figures.values())
    assert "–" in markdown(nothing)
    # One dataset has no mean: only its own table and the cost.
    assert markdown(made).count("| a |") == 2


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    (found,) = make_tables(
        [make_results("one", "a", [1.4, 0.1], [True, False])], samples=20
    ).quality
    assert found.figures["ECE"].value is None
    assert found.figures["AUROC"].value == 1.0


def test_the_others_are_compared_with_the_first() -> None:
    made = make_tables([PERFECT, MIXED], order=("a", "b"), samples=200)
    assert made.reference == "a"
    (found,) = made.comparisons
    assert (found.dataset, found.method, found.rows) == ("one", "b", 4)
    gained = found.differences["AUROC"]
    assert gained is not None
    assert gained.value == pytest.approx(1 / 4)
    assert gained.low >= 0
    other = make_tables([PERFECT, MIXED], order=("a", "b"), reference="b", samples=200)
    lost = other.comparisons[0].differences["AUROC"]
    assert lost is not None
    assert lost.value == pytest.approx(-1 / 4)
    with pytest.raises(ConfigurationError, match="no method 'c'"):
        make_tables([MIXED], reference="c")


def test_only_rows_that_both_scored_are_compared() -> None:
    fewer = make_results("one", "b", [0.9, None, 0.2, 0.1], GOLD)
    (found,) = make_tables([MIXED, fewer], order=("a", "b"), samples=50).comparisons
    assert found.rows == 3
    assert found.differences["AUROC"] is not None
    assert found.differences["AUROC"].value == 0.0


def test_means_are_over_the_datasets_that_all_have() -> None:
    made = make_tables(
        [
            MIXED,
            PERFECT,
            make_results("two", "a", [0.9, 0.1], [False, True]),
            make_results("two", "b", [0.9, 0.1], [True, False]),
            make_results("three", "b", [0.1, 0.9], [True, False]),
        ],
        samples=20,
    )
    means = {one.method: one for one in made.means}
    assert means["a"].datasets == means["b"].datasets == 2
    assert means["a"].figures["AUROC"] == ((3 / 4 + 0) / 2, 2)
    assert means["b"].figures["AUROC"] == (1.0, 2)
    assert make_tables([MIXED, make_results("two", "b", [0.9], [True])], samples=20).means == ()


def test_a_method_run_on_few_datasets_does_not_empty_the_means() -> None:
    sets = ("one", "two", "three")
    found = [make_results(name, "a", [0.9, 0.1], [True, False]) for name in sets]
    made = make_tables([*found, make_results("one", "b", [0.9, 0.1], [True, False])], samples=20)
    assert [(one.method, one.datasets) for one in made.means] == [("a", 3)]


def test_cost_is_a_mean_per_response() -> None:
    cheap, dear = make_tables([MIXED, PERFECT], order=("a", "b"), samples=20).costs
    assert cheap.means == {
        "passes": 1, "tokens in": 10, "tokens out": 4, "pairs": 6, "pairs skipped": 2,
        "verifier tokens": 90, "seconds": 0.75,
        "joules": None, "memory MiB": None, "GPU memory MiB": None,
    }  # fmt: skip
    assert dear.means["seconds"] == 3.0


def test_configurations_of_one_method_are_told_apart() -> None:
    def made(scoring: str, model: str, digest: str = "0", name: str = "h") -> Header:
        settings = {"configuration": {"scoring": scoring, "verifier": model}}
        return Header(
            "d", {"name": name, **settings, "verifier": {"name": model, "digest": digest}}
        )

    def told(*headers: Header) -> list[str]:
        found = method_labels(headers)
        return [found[header.digest] for header in headers]

    assert told(made("fed", "x"), made("fed", "x", name="g")) == ["h", "g"]
    assert told(made("fed", "x"), made("ours", "x")) == ["h (scoring fed)", "h (scoring ours)"]
    assert told(made("fed", "x", "1"), made("fed", "y", "2")) == [
        "h (verifier x)",
        "h (verifier y)",
    ]
    assert told(made("fed", "x", "1"), made("fed", "x", "2")) == ["h (digest 1)", "h (digest 2)"]
    assert told(made("fed", "x", "0a" * 32), made("fed", "x", "0b" * 32)) == [
        "h (digest 0a0a0a0a)",
        "h (digest 0b0b0b0b)",
    ]
    assert told(made("fed", "x"), made("ours", "y"), made("fed", "y")) == [
        "h (scoring fed, verifier x)",
        "h (scoring ours, verifier y)",
        "h (scoring fed, verifier y)",
    ]


def test_sheets_hold_what_the_tables_hold() -> None:
    made = make_tables([MIXED, PERFECT], order=("a", "b"), samples=20)
    text = markdown(made)
    assert "0.750 [" in text
    assert "## Differences from a" in text
    widths = {line.count("|") for line in text.split("## one")[1].split("##")[0].splitlines()[2:-1]}
    assert widths == {len(METRICS) + 5}
    sheets = csv_files(made)
    (first, second) = csv.DictReader(io.StringIO(sheets["quality.csv"]))
    assert (first["method"], float(first["AUROC"])) == ("a", 0.75)
    assert float(second["AUROC low"]) == 1.0
    (row,) = csv.DictReader(io.StringIO(sheets["differences.csv"]))
    assert (row["method"], row["less"], float(row["AUROC"])) == ("b", "a", 0.25)
    assert "3.0" in sheets["cost.csv"]
    assert sheets["means.csv"].count("\n") == 3


def test_recall_by_kind_and_agreement_with_scores() -> None:
    kinds = ["number", "number", "negation", None]
    people = [1.0, 2.0, 3.0, 5.0]
    found = make_results("one", "a", [0.9, 0.6, 0.4, 0.1], [True, True, True, False])
    made = make_tables(
        [
            Results(
                found.header,
                tuple(
                    replace(item, kind=kind, gold_score=score)
                    for item, kind, score in zip(found.predictions, kinds, people, strict=True)
                ),
            )
        ],
        samples=20,
    )
    assert made.recalls[0].kinds == {"negation": (0.0, 1), "number": (1.0, 2)}
    (agreed,) = made.agreements
    assert (agreed.rows, agreed.spearman) == (4, pytest.approx(1.0))
    assert agreed.pearson is not None
    assert 0.9 < agreed.pearson < 1
    text, sheets = markdown(made), csv_files(made)
    assert "| one | a | number | 2 | 1.000 |" in text
    assert "| one | a | 4 | 1.000 | 0." in text
    assert "one,a,negation,1,0.0" in sheets["kinds.csv"]
    assert sheets["agreement.csv"].startswith("dataset,method,rows,Spearman,Pearson\none,a,4,")
    plain = make_tables([MIXED], samples=20)
    assert (plain.recalls, plain.agreements) == ((), ())
    assert "kind of error" not in markdown(plain)


def test_figures_are_drawn_for_what_has_curves(tmp_path: Path) -> None:
    found = [
        MIXED,
        PERFECT,
        make_results("x:y", "a", [0.9, 1.4], [True, False]),
        make_results("two", "a", [0.9, 0.1], [True, True]),
        make_results("three", "a", [None], [True], {**COST, "seconds": {}}),
    ]
    made = make_tables(found, samples=20)
    (tmp_path / "again").mkdir()
    paths = draw(found, made, tmp_path)
    assert [path.name for path in paths] == [
        "curves-one.svg", "curves-x-y.svg", "quality-and-time.svg",
    ]  # fmt: skip
    for path, again in zip(paths, draw(found, made, tmp_path / "again"), strict=True):
        assert path.read_bytes() == again.read_bytes()
    with pytest.raises(InputError, match="cannot write"):
        draw(found, made, tmp_path / "missing")


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one in (MIXED, PERFECT):
        with open_predictions(tmp_path, one.header) as book:
            for prediction in one.predictions:
                book.append(prediction)
    out = tmp_path / "deep" / "out"
    command = ["bench", "report", str(tmp_path), "--samples", "20"]
    assert main([*command, "-o", str(out), "--against", "b"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(out / "report.md")
    assert (out / "curves-one.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert (out / "quality-and-time.svg").is_file()
    assert "## Differences from b" in (out / "report.md").read_text(encoding="utf-8")
    assert main([*command, "--no-figures"]) == 0
    assert not list(tmp_path.glob("*.svg"))
    # What the report wrote into the results does not disturb the next one.
    assert main(command) == 0
    assert (tmp_path / "report.md").is_file()
    capsys.readouterr()
    assert main(["bench", "report", str(tmp_path / "none")]) == 2
    assert "bench run" in capsys.readouterr().err
    assert main([*command[:3], "--samples", "0"]) == 2
