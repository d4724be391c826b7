"""Kinds of error: the words of the claim beside those of the source."""

from __future__ import annotations

import json

import pytest

from benchmarks.error_kinds import kind_of, minimal_pairs
from halldetect.faults.error_kinds import error_kind
from halldetect.report import ErrorKind
from tests.support.paths import ROOT

TOWER = "The tower of Kell was built in 1875 by Olaf Berg and is 40 metres tall."


@pytest.mark.parametrize(
    ("claim", "source", "kind", "claim_words", "source_words"),
    [
        ("The tower was built in 1885.", TOWER, ErrorKind.DATE, "1885", "1875"),
        ("The tower is 45 metres tall.", TOWER, ErrorKind.NUMBER, "45", "40"),
        (
            "The tower was built by Hans Moe.",
            TOWER,
            ErrorKind.NAME,
            "Hans Moe",
            "Olaf Berg",
        ),
        (
            "The tower was not built in 1875.",
            "The tower was built in 1875.",
            ErrorKind.NEGATION,
            "not",
            "",
        ),
        (
            "Sales rose in the north last year.",
            "Sales fell in the north last year.",
            ErrorKind.NEGATION,
            "rose",
            "fell",
        ),
    ],
)
def test_kinds(
    claim: str, source: str, kind: ErrorKind, claim_words: str, source_words: str
) -> None:
    found = error_kind(claim, source, contradicted=True)
    assert found is not None
    assert (found.kind, found.claim_words, found.source_words) == (kind, claim_words, source_words)


def test_a_rounded_number_is_no_other_number() -> None:
    source = "Oslo has 709,037 people."
    assert error_kind("Oslo has about 709,000 people.", source, contradicted=True) is None
    assert error_kind("Oslo has about 809,000 people.", source, contradicted=True) is not None


def test_words_that_the_source_lacks_are_invented() -> None:
    found = error_kind("The tower has a rotating restaurant.", TOWER, contradicted=False)
    assert found is not None
    assert found.kind is ErrorKind.INVENTED
    assert "rotating restaurant" in found.claim_words
    assert error_kind("The tower has a rotating restaurant.", TOWER, contradicted=True) is None


@pytest.mark.parametrize("source", ["", "   ", "42", "塔高48米。", "\ud800"])
def test_any_text_is_accepted(source: str) -> None:
    error_kind("The tower is 45 metres tall.", source, contradicted=True)
    error_kind(source, TOWER, contradicted=False)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The mayor left no memo for the council.", "The mayor left a memo for the new council."),
        ("Berg spoke against the tower of Kell.", "Berg spoke for the tower of Kell."),
        ("The guide was 44 years old.", "The 44-year-old guide of the tower was old."),
        ("The tower rose because of Berg.", "The tower of Berg rose."),
    ],
)
def test_unreliable_differences_get_no_kind(claim: str, source: str) -> None:
    assert error_kind(claim, source, contradicted=True) is None


def test_fact_elsewhere_in_source_is_not_an_error() -> None:
    claim, passage = "The tower was built by Hans Moe.", "The tower was built by Olaf Berg."
    found = error_kind(claim, passage, contradicted=False)
    assert found is not None
    assert (found.kind, found.claim_words) == (ErrorKind.NAME, "Hans Moe")
    source = f"{passage} Hans Moe paid for it."
    assert error_kind(claim, passage, contradicted=False, source=source) is None


def test_kinds_of_minimal_pairs_are_right() -> None:
    """At most one error of each kind is wrong."""
    given: dict[ErrorKind, list[bool]] = {}
    for case in minimal_pairs():
        found = kind_of(case)
        if found is not None:
            given.setdefault(found, []).append(found in case.fitting)
    right = [fits for kinds in given.values() for fits in kinds]
    assert len(right) >= 12
    assert sum(right) / len(right) >= 0.85
    for kinds in given.values():
        assert kinds.count(False) <= 1


def test_every_kind_is_right_in_four_of_five_labelled_cases() -> None:
    sets = json.loads((ROOT / "benchmarks" / "results" / "error_kinds.json").read_text())["rules"]
    counts: dict[str, list[tuple[int, int]]] = {}
    for found in sets.values():
        for kind, (right, given) in found["by_rule"]["precision_by_kind"].items():
            counts.setdefault(kind, []).append((right, given))
    exact = {ErrorKind.QUOTATION, ErrorKind.IDENTIFIER}  # compared letter by letter
    assert set(counts) == {str(kind) for kind in set(ErrorKind) - exact}
    for kind, pairs in counts.items():
        right, given = (sum(numbers) for numbers in zip(*pairs, strict=True))
        assert right >= 0.8 * given, kind
