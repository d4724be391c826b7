"""The curve of the cascade on supports that are known."""

from __future__ import annotations

from typing import Any

from benchmarks.cascade import Judged, by_verifier, curve, joined, timed
from halldetect_bench.predictions import Header, Prediction, Results


def test_wider_limits_ask_the_second_verifier_more_often() -> None:
    rows = [
        Judged(True, (0.95, 0.6), 0.4, 0.9),  # only the second finds it
        Judged(True, (0.02,), 0.98, 0.1),  # only the first does
        Judged(False, (0.97,), 0.03, 0.8),
        Judged(False, (0.45,), 0.55, 0.2),
    ]
    first, cascade, second = curve(rows, ((0.5, 0.5), (0.1, 0.9), (0.0, 1.1)))
    assert [point["judged_again"] for point in (first, cascade, second)] == [0.0, 0.5, 1.0]
    assert first["balanced_accuracy"] == 0.5
    assert cascade["balanced_accuracy"] == 1.0
    assert second["balanced_accuracy"] == 0.5


def predicted(verifier: str, extractor: str = "clauses", **rows: Any) -> Results:
    method = {
        "name": "halldetect",
        "verifier": {"name": verifier},
        "extractor": {"name": extractor},
    }
    predictions = tuple(
        Prediction(name, "r", "d", None, True, None, score, None, claims)
        for name, (score, claims) in rows.items()
    )
    return Results(Header("x", method), predictions)


def test_predictions_of_both_verifiers_meet_by_their_rows() -> None:
    first = predicted("base", a=(0.75, [["s1", 0.75]]), b=(0.5, []), c=(0.2, [["s1", 0.2]]))
    second = predicted("large", a=(0.4, []), b=(0.1, []), c=(None, []))
    # b has no claims, c has no score of the second verifier
    assert joined(first, second) == [Judged(True, (0.25,), 0.75, 0.4)]


def test_claims_of_a_language_model_are_left_out() -> None:
    plain, drafted = predicted("base"), predicted("base", "qwen2.5-coder-1.5b")
    assert by_verifier([plain, drafted]) == {("x", "base"): plain}


def test_seconds_are_those_of_the_verifier_that_was_asked_for() -> None:
    def run(verifier: str, *seconds: float) -> Results:
        method = {"name": "halldetect", "configuration": {"verifier": verifier}}
        costs = [{"seconds": {"all": one}} for one in seconds]
        predictions = tuple(
            Prediction(str(at), "r", "d", None, True, None, 0.5, None, [], cost)
            for at, cost in enumerate(costs)
        )
        return Results(Header("x", method), predictions)

    found = timed([run("base", 1.0, 2.0), run("auto", 1.0, 9.0)])
    assert found == {"x": {"rows": 2, "base": 1.5, "auto": 5.0}}
