"""Kinds of error: the words of the claim beside those of the source."""

from __future__ import annotations

import pytest

from halldetect.explanation.error_kinds import error_kind
from halldetect.report import ErrorKind
from tests.support.checks_suite import load_checks

TOWER = "The tower of Kell was built in 1875 by Olaf Berg and is 40 metres tall."


@pytest.mark.parametrize(
    ("claim", "source", "kind", "claim_words", "source_words"),
    [
        ("The tower was built in 1885.", TOWER, ErrorKind.DATE, "1885", "1875"),
        ("The tower is 45 metres tall.", TOWER, ErrorKind.NUMBER, "45", "40"),
        ("The tower is 40 feet tall.", TOWER, ErrorKind.UNIT, "feet", "metres"),
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
        (
            "Harlow bought Denholm last year.",
            "Denholm bought Harlow last year.",
            ErrorKind.ROLE,
            "Harlow bought Denholm last year.",
            "Denholm bought Harlow last year.",
        ),
        (
            "Harlow was bought by Denholm.",
            "Harlow bought Denholm for two million.",
            ErrorKind.ROLE,
            "Harlow was bought by Denholm.",
            "Harlow bought Denholm for two million.",
        ),
    ],
)
def test_kinds(
    claim: str, source: str, kind: ErrorKind, claim_words: str, source_words: str
) -> None:
    found = error_kind(claim, source, contradicted=True)
    assert found is not None
    assert (found.kind, found.claim_words, found.source_words) == (kind, claim_words, source_words)


def test_what_the_source_does_not_have_is_invented() -> None:
    found = error_kind("The tower has a rotating restaurant.", TOWER, contradicted=False)
    assert found is not None
    assert found.kind is ErrorKind.INVENTED
    assert "rotating restaurant" in found.claim_words
    assert error_kind("The tower has a rotating restaurant.", TOWER, contradicted=True) is None


@pytest.mark.parametrize("source", ["", "   ", "42", "塔高48米。", "\ud800"])
def test_any_source_will_do(source: str) -> None:
    error_kind("The tower is 45 metres tall.", source, contradicted=True)
    error_kind(source, TOWER, contradicted=False)


def test_kinds_on_the_minimal_pairs_are_mostly_right_where_one_is_given() -> None:
    """Dates, units, names and roles must be right, numbers mostly."""
    expected = {
        "numbers": {"number"},
        "units": {"unit", "number"},
        "dates": {"date"},
        "roles": {"role swapped"},
        "entity_swap": {"name", "role swapped"},
    }
    given = right = 0
    for check in load_checks():
        if check.phenomenon in expected and check.label == "contradiction":
            found = error_kind(check.hypothesis, check.premise, contradicted=True)
            if found is not None and found.kind is not ErrorKind.NEGATION:
                given += 1
                right += found.kind.value in expected[check.phenomenon]
    assert given >= 20
    assert right / given > 0.8
