"""Quotations and identifiers: their order, their speakers, how much may differ, known names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from halldetect import Detector, Probabilities
from halldetect.faults.quotations import VerbatimSource
from tests.support.fakes import OverlapVerifier

HOLM = "Holm: We will close the old mill in May, because nobody wants its flour any more."


def state(source: str, claim: str) -> str:
    (found,) = VerbatimSource([source]).quotations(claim)
    return str(found.state)


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("We will close the old mill … nobody wants its flour", "verbatim"),
        ("nobody wants its flour … We will close the old mill", "stitched together"),
        ("We will close … in May … nobody wants its flour", "verbatim"),
        ("We will close … nobody wants its flour … in May", "stitched together"),
        ("close the old mill … close the old mill", "stitched together"),
    ],
)
def test_parts_of_a_quotation_keep_their_order(quoted: str, expected: str) -> None:
    assert state(HOLM, f"Holm said: “{quoted}.”") == expected


def test_parts_of_a_quotation_are_near_each_other() -> None:
    far = f"Holm: We will close the old mill. {'It rained. ' * 100}Nobody wants its flour."
    said = "Holm said: “We will close the old mill … nobody wants its flour.”"
    assert state(far, said) == "stitched together"
    assert state(far.replace("It rained. " * 90, ""), said) == "verbatim"


@pytest.mark.parametrize(
    ("source", "claim", "expected"),
    [
        ("Anna Holm said the mill is old.", "Holm said: “the mill is old”.", "verbatim"),
        ("Holm said the mill is old.", "Anna Holm said: “the mill is old”.", "verbatim"),
        (
            "Anna Dahl said the mill is old.",
            "Anna Holm said: “the mill is old”.",
            "of another speaker",
        ),
    ],
)
def test_a_speaker_may_be_named_in_full_on_either_side(
    source: str, claim: str, expected: str
) -> None:
    assert state(source, claim) == expected


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("we will open the new mill", "changed"),  # four words of six
        ("they may open the new mill", "not found"),  # two words of six
    ],
)
def test_a_quotation_with_three_fifths_of_its_words_is_a_changed_one(
    quoted: str, expected: str
) -> None:
    assert state("We will close the old mill.", f"Holm said that “{quoted}” soon.") == expected


class Sure(OverlapVerifier):
    """Supports every claim."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [Probabilities(0.99, 0.01, 0.0) for _ in pairs]


@pytest.mark.parametrize(("name", "invented"), [("guide.pdf", []), ("prices.pdf", ["prices.pdf"])])
def test_the_name_of_a_document_is_no_invented_identifier(name: str, invented: list[str]) -> None:
    source = [{"id": "guide.pdf", "text": "The pool opens at nine."}]
    report = Detector(Sure()).check(source, f"The pool opens at nine, says {name} about it.")
    assert [word.words for claim in report.claims for word in claim.wrong] == invented
    assert report.ok is (invented == [])
