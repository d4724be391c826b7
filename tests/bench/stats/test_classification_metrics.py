"""Every figure against a value worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from halldetect.errors import InputError
from halldetect_bench.stats import bootstrap
from halldetect_bench.stats import classification_metrics as metrics

# Two hallucinated, three faithful. At 0.5: 0.9 and 0.6 are flagged; one right, one wrong.
GOLD = [True, False, True, False, False]
SCORES = [0.9, 0.6, 0.4, 0.3, 0.1]


def test_threshold_figures() -> None:
    found = metrics.at_threshold(GOLD, SCORES)
    counts = (found.true_positives, found.false_positives, found.true_negatives)
    assert (*counts, found.false_negatives) == (1, 1, 2, 1)
    assert found.precision == 1 / 2
    assert found.recall == 1 / 2
    assert found.f1 == 1 / 2
    assert found.balanced_accuracy == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_score_at_the_threshold_is_flagged() -> None:
    assert metrics.at_threshold([True], [0.5]).true_positives == 1


def test_figures_that_do_not_exist_are_none() -> None:
    nothing_flagged = metrics.at_threshold([True, False], [0.1, 0.2])
    assert nothing_flagged.precision is None
    assert nothing_flagged.recall == 0
    assert nothing_flagged.f1 == 0
    one_class = metrics.at_threshold([False, False], [0.1, 0.2])
    assert one_class.recall is None
    assert one_class.f1 is None
    assert one_class.balanced_accuracy is None
    assert metrics.auroc([True, True], [0.1, 0.2]) is None


def test_auroc_counts_ordered_pairs() -> None:
    # Of 2 x 3 pairs only (0.4, 0.6) is in the wrong order.
    assert metrics.auroc(GOLD, SCORES) == pytest.approx(5 / 6)
    # One pair is tied: half a pair.
    assert metrics.auroc([True, False, False], [0.5, 0.5, 0.1]) == pytest.approx(1.5 / 2)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=60))
def test_auroc_agrees_with_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    gold, scores = [wrong for wrong, _ in rows], [score / 9 for _, score in rows]
    if all(gold) or not any(gold):
        return
    assert metrics.auroc(gold, scores) == pytest.approx(roc_auc_score(gold, scores))


@pytest.mark.parametrize("scores", [[0.1], [0.1, float("nan")]])
def test_bad_scores_are_refused(scores: list[float]) -> None:
    with pytest.raises(InputError):
        metrics.auroc([True, False], scores)


def share_flagged(_: object, scores: object) -> float:
    values = list(scores)  # type: ignore[call-overload]
    return float(sum(values) / len(values))


def test_interval_matches_the_binomial_one() -> None:
    # The mean of 400 fair coin flips: standard error 0.025, so about 0.5 +- 0.049.
    flips = [float(n % 2) for n in range(400)]
    found = bootstrap.interval(share_flagged, [True] * 400, flips, seed=1, samples=2000)
    assert found is not None
    assert found.value == 0.5
    assert found.low == pytest.approx(0.451, abs=0.006)
    assert found.high == pytest.approx(0.549, abs=0.006)
    assert found == bootstrap.interval(share_flagged, [True] * 400, flips, seed=1, samples=2000)


def test_interval_by_document_is_wider() -> None:
    # 20 documents of 20 identical rows hold the information of 20 rows: error 0.112, not 0.025.
    flips = [float(n // 20 % 2) for n in range(400)]
    documents = [str(n // 20) for n in range(400)]
    found = bootstrap.interval(
        share_flagged, [True] * 400, flips, seed=1, samples=2000, documents=documents
    )
    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.112, abs=0.05)


def test_interval_leaves_out_samples_of_one_class() -> None:
    found = bootstrap.interval(metrics.auroc, [True, False], [0.9, 0.1], seed=0, samples=200)
    assert found is not None
    # Half of the draws of two rows hold the same row twice.
    assert 60 <= found.samples <= 140
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
    assert bootstrap.interval(metrics.auroc, [True], [0.9], seed=0) is None


def test_paired_difference() -> None:
    gold = [n % 2 == 0 for n in range(200)]
    perfect = [0.9 if wrong else 0.1 for wrong in gold]
    chance = [0.1 + (n * 37 % 80) / 100 for n in range(200)]
    better = bootstrap.difference(metrics.auroc, gold, chance, perfect, seed=3, samples=300)
    assert better is not None
    assert better.low > 0
    assert better.p_value == pytest.approx(2 * 1 / 301)
    same = bootstrap.difference(metrics.auroc, gold, chance, chance, seed=3, samples=300)
    assert same is not None
    assert (same.value, same.p_value) == (0.0, 1.0)
