"""Figures on bootstrap samples agree with figures on rows that are written out."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect_bench.stats.classification_metrics import auroc
from halldetect_bench.stats.resampling import METRICS, Rows, figure, figures, mean, rows_of
from tests.support.bench_fakes import make_results

# Two hallucinated, three faithful. At 0.5: 0.9 and 0.6 are flagged; one right, one wrong.
GOLD: list[bool | None] = [True, False, True, False, False]
SCORES: list[float | None] = [0.9, 0.6, 0.4, 0.3, 0.1]


def rows(gold: list[bool | None], samples: int = 50, document: str | None = None) -> Rows:
    made = make_results("d", "m", [0.5] * len(gold), gold).predictions
    if document is not None:
        made = tuple(
            type(item)(**{**{name: getattr(item, name) for name in item.__slots__},
                          "document": document[at]})
            for at, item in enumerate(made)
        )  # fmt: skip
    return rows_of("d", made, samples)


def by_id(scores: list[float | None]) -> dict[str, float]:
    return {f"r{at}": score for at, score in enumerate(scores) if score is not None}


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def test_the_first_entry_is_the_data_figure() -> None:
    found = figures(rows(GOLD), by_id(SCORES))
    values = {name: found[name][0] for name in METRICS}
    assert values == pytest.approx(
        {
            "AUROC": 5 / 6,
            "balanced accuracy": (1 / 2 + 2 / 3) / 2,
            "precision": 1 / 2,
            "recall": 1 / 2,
            "F1": 1 / 2,
        }
    )


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=2, max_size=30),
    st.integers(1, 20),
)
def test_every_sample_agrees_with_its_rows_written_out(
    pairs: list[tuple[bool, int]], sample: int
) -> None:
    gold: list[bool | None] = [wrong for wrong, _ in pairs]
    scores = {f"r{at}": score / 9 for at, (_, score) in enumerate(pairs)}
    sampled = rows(gold, samples=20)
    found = figures(sampled, scores)
    drawn = [at for at, times in enumerate(sampled.weights[sample]) for _ in range(int(times))]
    labels = [bool(sampled.gold[at]) for at in drawn]
    values = [scores[sampled.ids[at]] for at in drawn]
    assert len(drawn) == len(pairs)
    flagged = [value >= 0.5 for value in values]
    hits = sum(map(operator.and_, labels, flagged))
    alarms = sum(flagged) - hits
    recall = share(hits, sum(labels))
    specificity = share(len(labels) - sum(labels) - alarms, len(labels) - sum(labels))
    balanced = None if recall is None or specificity is None else (recall + specificity) / 2
    f1 = share(2 * hits, sum(flagged) + sum(labels))
    expected = (auroc(labels, values), balanced, share(hits, sum(flagged)), recall, f1)
    for name, value in zip(METRICS, expected, strict=True):
        here = found[name][sample]
        assert np.isnan(here) if value is None else here == pytest.approx(value)


def test_whole_documents_are_drawn() -> None:
    sampled = rows([True, False, True, False], 30, document="aabb")
    assert (sampled.weights[:, 0] == sampled.weights[:, 1]).all()
    assert (sampled.weights[:, 2] == sampled.weights[:, 3]).all()
    assert set(sampled.weights[1:, 0]) == {0, 1, 2}


def test_rows_of_one_dataset_have_the_same_samples() -> None:
    assert (rows(GOLD).weights == rows(GOLD).weights).all()
    other = rows_of("other", make_results("d", "m", SCORES, GOLD).predictions, 50)
    assert (rows(GOLD).weights != other.weights).any()


def test_an_interval_is_that_of_the_samples() -> None:
    found = figure(np.array([0.5, *np.linspace(0, 1, 1001)]))
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.025, 0.975))
    assert figure(np.array([np.nan, 1.0])).value is None
    only = figure(np.array([0.4, np.nan]))
    assert (only.value, only.low) == (0.4, None)


def test_a_mean_counts_each_dataset_the_same() -> None:
    assert mean([np.array([0.2, 0.0]), np.array([0.4, 1.0])]).tolist() == pytest.approx([0.3, 0.5])


def test_intervals_match_the_binomial_ones() -> None:
    # Of 200 hallucinated rows half are flagged: standard error 0.035.
    sampled = rows([True] * 200 + [False] * 200, samples=2000)
    found = figure(figures(sampled, {f"r{n}": float(n % 2) for n in range(400)})["recall"])
    assert found.value == 0.5
    assert found.low == pytest.approx(0.431, abs=0.012)
    assert found.high == pytest.approx(0.569, abs=0.012)


def test_a_score_at_the_threshold_is_flagged() -> None:
    assert figures(rows([True]), {"r0": 0.5})["recall"][0] == 1


def test_figures_that_do_not_exist_are_nan() -> None:
    nothing_flagged = figures(rows([True, False]), by_id([0.1, 0.2]))
    assert np.isnan(nothing_flagged["precision"][0])
    assert (nothing_flagged["recall"][0], nothing_flagged["F1"][0]) == (0, 0)
    one_class = figures(rows([False, False]), by_id([0.1, 0.2]))
    assert all(np.isnan(one_class[name][0]) for name in METRICS)
