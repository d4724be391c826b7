"""The page about the use of a check, and the counts behind it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import worth
from halldetect.scoring import OPERATING_POINTS
from halldetect_bench.datasets.labelled_rows import Row

CUTS = {"default": 0.5, "recall": 0.2, "balanced": 0.5, "precision": 0.9}


def item(wrong: bool, *supports: float, labels: str = "", name: str = "data2txt") -> worth.Item:
    row = {"set": name, "wrong": wrong, "labels": list(labels)}
    claims = [f"Claim {at} of it." for at in range(len(supports))]
    return worth.Item(row, claims, np.array(supports), CUTS)


def test_page_and_plots_are_those_of_the_files() -> None:
    for name, content in worth.written().items():
        stored = (worth.DOCS / name).read_text(encoding="utf-8")
        assert stored == content, f"{name}: run python -m benchmarks.worth"


def test_counts_at_the_default_are_those_of_the_reports() -> None:
    stored = json.loads(worth.RATES.read_text(encoding="utf-8"))
    assert "large" in stored
    for verifier in stored.keys() - {"auto"}:
        responses = worth.report_of(verifier)["responses"]
        for name, one in stored[verifier]["flags"].items():
            found, alarms = one["default"]
            assert found / one["wrong"] == pytest.approx(responses[name]["recall"], abs=1e-4)
            assert alarms / one["right"] == pytest.approx(responses[name]["false_alarms"], abs=1e-4)


def test_flags_are_counted_by_threshold() -> None:
    items = [item(True, 0.9, 0.6), item(True, 0.05), item(False, 0.4), item(False, 0.99)]
    found = worth.flags(items)
    assert (found["wrong"], found["right"]) == (2, 2)
    assert [found[point] for point in ("default", *OPERATING_POINTS)] == [
        [1, 1],
        [2, 1],
        [1, 1],
        [1, 0],
    ]


def test_auto_takes_the_second_verifier_where_the_first_is_unsure() -> None:
    sure, unsure = item(False, 0.999), item(True, 0.5)
    other = [item(False, 0.1), item(True, 0.01)]
    assert worth.cascaded([sure, unsure], other) == [sure, other[1]]
    with pytest.raises(SystemExit, match="same rows"):
        worth.cascaded([sure], other)


def test_shares_by_support_and_length() -> None:
    items = [item(False, 0.95, 0.05, labels="EC"), item(False, 0.2, labels="E")]
    found = worth.by_support(items)
    assert [(one["from"], one["rows"], one["hits"]) for one in found] == [
        (0.0, 1, 1),
        (0.1, 1, 0),
        (0.9, 1, 0),
    ]
    assert all(one["interval"][0] <= one["hits"] <= one["interval"][1] + 1e-9 for one in found)
    assert [(one["from"], one["hits"]) for one in worth.by_length(items)] == [(1, 1), (2, 1)]


def test_graded_score_follows_the_marks() -> None:
    rows = [
        Row("x", str(at), "s", "r", at < 9, score=float(at), document=str(at)) for at in range(30)
    ]
    items = [item(at < 9, 0.1 + at / 40, 0.5) for at in range(30)]
    found = worth.graded(items, rows)
    assert found["graded_score"][0] == 1.0
    assert 0.5 < found["score"][0] < 1.0  # the least support is 0.5 from the 17th on
    with pytest.raises(SystemExit, match="not the rows"):
        worth.graded(items[1:], rows)


def test_minutes_change_the_hours() -> None:
    stored = json.loads(worth.RATES.read_text(encoding="utf-8"))
    two, four = (worth.parts(stored, minutes)["costs"] for minutes in (2, 4))
    assert "| 1000 | 50 | 0 | 33.3 | 20.0 |" in two
    assert "| 1000 | 50 | 0 | 66.7 | 20.0 |" in four


def test_a_verifier_without_stored_answers_has_the_rates_of_its_report() -> None:
    stored = json.loads(worth.RATES.read_text(encoding="utf-8"))
    shown = worth.means({"large": stored["large"]})
    assert [name for name in shown if not name.startswith("large")] == ["base, default"]
    wanted = [worth.report_of("base")["responses"][name]["recall"] for name in worth.RAG]
    assert shown["base, default"][0] == pytest.approx(50 * sum(wanted) / 3, abs=0.01)


def test_plots_are_for_light_and_dark_pages() -> None:
    for name, content in worth.plots(json.loads(worth.RATES.read_text("utf-8"))).items():
        assert ElementTree.fromstring(content) is not None, name
        assert "prefers-color-scheme:dark" in content
