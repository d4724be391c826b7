"""Every figure against a value worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halldetect.errors import InputError
from halldetect_bench.stats import classification_metrics as metrics

# Two hallucinated, three faithful. At 0.5: 0.9 and 0.6 are flagged; one right, one wrong.
GOLD = [True, False, True, False, False]
SCORES = [0.9, 0.6, 0.4, 0.3, 0.1]


def test_auroc_of_one_class_does_not_exist() -> None:
    assert metrics.auroc([True, True], [0.1, 0.2]) is None


def test_auroc_counts_ordered_pairs() -> None:
    # Of 2 x 3 pairs only (0.4, 0.6) is in the wrong order.
    assert metrics.auroc(GOLD, SCORES) == pytest.approx(5 / 6)
    # One pair is tied: half a pair.
    assert metrics.auroc([True, False, False], [0.5, 0.5, 0.1]) == pytest.approx(1.5 / 2)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=60))
def test_auroc_agrees_with_a_count_of_all_pairs(rows: list[tuple[bool, int]]) -> None:
    wrong, right = ([score for one, score in rows if one is kind] for kind in (True, False))
    assume(wrong and right)
    pairs = [(high > low) + (high == low) / 2 for high in wrong for low in right]
    found = metrics.auroc([one for one, _ in rows], [score / 9 for _, score in rows])
    assert found == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize("scores", [[0.1], [0.1, float("nan")]])
def test_bad_scores_are_refused(scores: list[float]) -> None:
    with pytest.raises(InputError):
        metrics.auroc([True, False], scores)
