"""The curve of the cascade on supports that are known."""

from __future__ import annotations

import numpy as np

from benchmarks.cascade import curve, joined, second_supports
from halldetect_bench.predictions import Header, Prediction, Results


def test_wider_limits_ask_the_second_verifier_more_often() -> None:
    rows = [
        (True, np.array([0.95, 0.6]), np.array([0.9, 0.1])),  # only the second finds it
        (True, np.array([0.02]), np.array([0.9])),  # only the first does
        (False, np.array([0.97]), np.array([0.2])),
        (False, np.array([0.45]), np.array([0.8])),
    ]
    first, cascade, second = curve(rows, ((0.5, 0.5), (0.1, 0.9), (0.0, 1.1)))
    assert [point["judged_again"] for point in (first, cascade, second)] == [0.0, 0.5, 1.0]
    assert first["balanced_accuracy"] == 0.5
    assert cascade["balanced_accuracy"] == 1.0
    assert second["balanced_accuracy"] == 0.5


def test_stored_answers_and_predictions_meet_by_their_rows() -> None:
    second, digests = second_supports()
    assert len(digests) == 1
    supports = second["wice", next(row for name, row in second if name == "wice")]
    assert all(0.0 <= value <= 1.0 for value in supports)
    predictions = tuple(
        Prediction(name, "r", "d", None, True, None, 0.5, None, claims)
        for name, claims in (("a", [["s1", 0.25]]), ("b", [["s1", 0.25], ["s2", 0.5]]), ("c", []))
    )
    results = Results(Header("x", {"name": "m"}), predictions)
    rows = joined(results, {("x", "a"): np.array([0.5]), ("x", "b"): np.array([0.5])})
    assert len(rows) == 1  # b has another number of claims, c was never judged
    assert rows[0][1].tolist() == [0.75]
