"""Edits for the adversarial set: each kind on an example, and none of the kinds of training."""

from __future__ import annotations

import random

import pytest

from halldetect_bench.datasets.adversarial import HELD_OUT_KINDS, adversarial, held_out_edit
from halldetect_bench.datasets.labelled_rows import Row


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("cause", "The match was off because of rain.", "The match was off despite rain."),
        ("cause", "Despite rain it began.", "Because of rain it began."),
        ("direction", "It rose from 10% to 12%.", "It rose from 12% to 10%."),
        ("direction", "He moved from Rome to Oslo.", "He moved from Oslo to Rome."),
        ("left-out", "Ann Ray and Bo have won.", "Ann Ray, but not Bo, has won."),
        ("escaped", "He was fined in May.", "He narrowly escaped being fined in May."),
        (
            "retracted",
            "The old mill burned down in May.",
            "The report that the old mill burned down in May has been withdrawn as false.",
        ),
        (
            "unknown",
            "Smith left the Labour party in May.",
            "It is still unknown whether Smith left the Labour party in May.",
        ),
    ],
)
def test_each_kind_changes_what_is_said(kind: str, text: str, expected: str) -> None:
    assert held_out_edit(text, kind, random.Random(0)) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("cause", "He was due to meet her."),
        ("direction", "It went from bad to worse."),
        ("left-out", "Bread and Butter taste good."),
        ("escaped", "He was happy."),
        ("retracted", "Why?"),
    ],
)
def test_an_edit_that_cannot_apply_is_skipped(kind: str, text: str) -> None:
    assert held_out_edit(text, kind, random.Random(0)) is None


def test_no_kind_is_one_that_training_has() -> None:
    from training.perturbation.perturb import KINDS

    assert not set(KINDS) & set(HELD_OUT_KINDS)


def test_faithful_rows_stay_and_each_edit_is_labelled() -> None:
    rows = [
        Row("d", "1", "Source.", "He was fined because of noise in May.", False),
        Row("d", "2", "Source.", "He was fined.", True),
    ]
    found = list(adversarial(rows, seed=0))
    assert [(row.id, row.hallucinated, row.kind) for row in found] == [
        ("1", False, None),
        ("1/cause", True, "cause"),
        ("1/escaped", True, "escaped"),
        ("1/retracted", True, "retracted"),
        ("1/unknown", True, "unknown"),
    ]
    assert found == list(adversarial(rows, seed=0))
