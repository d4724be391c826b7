"""How two recordings of the same rows are compared."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.golden import compare, expected, table
from benchmarks.golden_rows import own_rows


def row(*claims: list[Any], verdict: str = "faithful", wrong: bool = False) -> dict[str, Any]:
    labels = [[0, 100, "wrong" if wrong else "supported"]]
    return {
        "hallucinated": wrong,
        "labels": labels,
        "verdict": verdict,
        "tokens": 10,
        "seconds": 0.5,
        "claims": list(claims),
    }


OLD = [[0, 10], "supported", 0.9, [0, 0, 20]]


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        ([OLD], "same"),
        ([[[0, 10], "supported", 0.91, [0, 0, 20]]], "support"),
        ([[[0, 10], "supported", 0.8, [0, 0, 20]]], "moved"),
        ([[[0, 10], "supported", 0.9, [1, 0, 20]]], "passage"),
        ([[[0, 10], "unsupported", 0.3, [0, 0, 20]]], "worse"),
        ([[[0, 10], "uncheckable", None, None]], "worse"),
        ([[[0, 12], "supported", 0.9, None]], "recut"),
        ([[[0, 5], "supported", 0.9, None], [[5, 10], "contradicted", 0.1, None]], "worse"),
        ([], "removed"),
    ],
)
def test_claim_of_a_faithful_row(new: list[Any], kind: str) -> None:
    result = compare({"a/1": row(OLD)}, {"a/1": row(*new)})
    assert {name: count for name, count in result["claims"].items() if count} == {kind: 1}


def test_flagged_claim_of_a_wrong_row_is_better() -> None:
    flagged = [[0, 10], "unsupported", 0.1, None]
    result = compare(
        {"a/1": row(OLD, wrong=True)}, {"a/1": row(flagged, verdict="hallucinated", wrong=True)}
    )
    assert (result["claims"]["better"], result["verdicts"]) == (1, {"better": 1})
    assert [item["class"] for item in result["differences"]] == ["better", "verdict better"]


def test_added_claim_and_missing_row_are_counted() -> None:
    other = [[20, 30], "supported", 0.9, None]
    result = compare({"a/1": row(OLD), "a/2": row(OLD)}, {"a/1": row(OLD, other)})
    assert result["claims"]["added"] == 1
    assert result["rows_missing"] == ["a/2"]
    assert "in one recording only: 1" in table(result)


def test_sentence_label_comes_before_row_label() -> None:
    labels = [(5, 8, "wrong"), (0, 20, "supported")]
    assert expected([0, 4], labels) == "supported"
    assert expected([4, 9], labels) == "wrong"
    assert expected([30, 40], labels) is None


def test_own_rows_are_fixed() -> None:
    rows = {row.id: row for row in own_rows()}
    assert len(rows) == 314
    assert all(row.labels for row in rows.values())
