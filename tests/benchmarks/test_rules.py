"""The ablation of families of rules: its rows, its switches, and its page."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from benchmarks import rules
from benchmarks.families import FAMILIES, Family
from benchmarks.speed import fill
from benchmarks.store import stored
from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.report import Verdict
from tests.support.fakes import OverlapVerifier

ONE = rules.Outcome(Verdict.FAITHFUL, 0.2, (("Ann left.", 0.8),))
OTHER = rules.Outcome(Verdict.HALLUCINATED, 0.7, (("Ann left.", 0.3),))


def row(at: int, wrong: bool, public: bool = False) -> rules.Row:
    pair = Pair("Ann left Rome.", "Ann left.")
    return rules.Row("set", str(at), pair, wrong, str(at), public=public)


def target(name: str) -> Any:
    """The object that a dotted name of the package stands for."""
    parts = f"halldetect.{name}".split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_page_is_that_of_the_file() -> None:
    page = rules.PAGE.read_text(encoding="utf-8")
    tables = rules.page(stored(rules.STORED))
    assert fill(page, tables) == page, "run python -m benchmarks.rules --page"
    for family in FAMILIES:
        assert f"| {family.name} |" in tables["families"], "measure it"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_family_is_switched_off_and_on_again(family: Family) -> None:
    before = {name: target(name) for name in family.off}
    with family.switched_off():
        assert all(target(name) is not kept for name, kept in before.items())
    assert {name: target(name) for name in family.off} == before
    assert family.lines > 5


def test_rows_are_of_both_labels_and_of_development() -> None:
    some = [row for row in rules.rows() if not row.public]
    assert {row.wrong for row in some if row.group == "plain"} == {False, True}
    assert sum(row.hidden is not None for row in some) == 100
    assert len({(row.group, row.id) for row in some}) == len(some)


def test_only_rows_that_are_read_otherwise_are_checked_again() -> None:
    (family,) = [one for one in FAMILIES if one.name == "courtesies and questions"]
    polite = replace(row(1, False), pair=Pair("Ann left Rome.", "Ann left. Good morning!"))
    plain = row(0, False)
    detector = Detector(OverlapVerifier())
    before = rules.check(detector, [plain, polite])
    after = rules.without(family, detector, [plain, polite], before)
    assert after[0] is before[0]
    assert [text for text, _ in after[1].claims] == ["Ann left.", "Good morning!"]


def test_what_a_family_buys() -> None:
    some = [row(at, wrong=at % 2 == 0, public=True) for at in range(8)]
    right = [OTHER if one.wrong else ONE for one in some]
    found = rules.compared(some, right, [ONE] * 8)
    assert (found["verdicts"], found["better"], found["touched"]) == (4, 4, 4)
    assert found["points"]["balanced accuracy"][0] == 50.0
    assert found["points"]["AUROC"][0] == 50.0
    assert not np.isnan(found["points"]["AUROC"]).any()
    assert rules.compared(some, right, right)["verdicts"] == 0
