"""Taking sentences apart: pieces, the claims the guard allows, covers and names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.claims.extraction import extract_claims
from halldetect.claims.extractors.by_rule import (
    ClauseExtractor,
    PronounNames,
    claims_per_sentence,
    finest_claims,
)
from halldetect.claims.extractors.sentence_splits import split_sentence
from halldetect.claims.guard.matching import Passage
from halldetect.text.reading import read_response

BORN = "Ann Cole was born in Leeds on 5 June 1952."
LISTED = "Garrincha started his career in 1953 with Botafogo, a club based in Rio de Janeiro."


def texts(sentence: str) -> list[str]:
    found = split_sentence(sentence)
    return [found.text(claim) for claim in finest_claims(found)]


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        (BORN, ["Ann Cole was born in Leeds", "Ann Cole was born on 5 June 1952."]),
        (
            "The tower was finished in 1902, and is 80 metres tall.",
            ["The tower was finished in 1902", "The tower is 80 metres tall."],
        ),
        (
            "Ann Cole is an American actress, singer, and teacher.",
            ["Ann Cole is an American actress", "Ann Cole is singer", "Ann Cole is teacher."],
        ),
        (
            "She studied law in Oxford and became a judge.",
            ["She studied law in Oxford", "She became a judge."],
        ),
        (
            "Ann Cole moved to Rome; her brother stayed in Leeds.",
            ["Ann Cole moved to Rome", "her brother stayed in Leeds."],
        ),
        # The guard lets one part stand, not the other: then the sentence stands for both.
        ("Ann, who won the race, lives in Rome.", ["Ann, who won the race, lives in Rome."]),
    ],
)
def test_what_can_be_split_is(sentence: str, claims: list[str]) -> None:
    assert texts(sentence) == claims


@pytest.mark.parametrize(
    "sentence",
    [
        "If Ann left Rome in 1990, the firm closed and Bob moved to Leeds.",
        "Ann never left Rome and moved to Leeds.",
        "Bob said that Ann left Rome and moved to Leeds.",
        "Ann denied that she left Rome in 1990 and sold the house.",
        '"Ann left Rome and I stayed," Bob replied.',
        "Either Ann left Rome or Bob moved to Leeds.",
        "Had Ann left Rome in 1990, Bob moved to Leeds.",
        "Is Ann from Rome, and was Bob born in Leeds?",
        "Ann a quitté Rome en 1990 et elle est partie pour Leeds.",
        "",
        "Rome.",
    ],
)
def test_what_must_not_be_split_stays_whole(sentence: str) -> None:
    """Conditions, negations, hearsay, quotations, alternatives, questions, other languages."""
    found = split_sentence(sentence)
    assert [found.text(claim) for claim in found.claims] == [sentence]


@pytest.mark.parametrize(
    ("sentence", "never"),
    [
        ("Ann painted red and blue boats.", "Ann painted red"),
        ("The Blues, led by Ann Cole, left in 1990.", "The Blues, led by Ann Cole"),
        ("While it rained in Rome, the shops closed.", "While it rained in Rome"),
        ("Ann lived in Rome, which was cold and closed in May.", "Ann closed in May."),
        ("Bob fell after Ann hit the wall and killed the dog.", "Bob killed the dog."),
        ("Ann was mayor from 1984 to 2001.", "Ann was mayor to 2001."),
        ("Ann gave a talk on dealing with loss in Rome.", "Ann gave a talk on dealing"),
        ("Ann ate boxes of sweets and a bag of nuts.", "Ann ate boxes of a bag of nuts."),
        ("Ann focused on maps in 1990.", "Ann focused"),
        ("Ann took a degree from Rome in law.", "Ann took a degree in law."),
        ("Ann met James Cole and Eve Holm.", "Ann met James Eve Holm."),
        ("Ann was Bob's aunt and his brother was a cook.", "Ann was his brother was a cook."),
    ],
)
def test_what_would_not_read_like_a_sentence_is_not_listed(sentence: str, never: str) -> None:
    found = split_sentence(sentence)
    assert never not in [found.text(claim) for claim in found.claims]


@pytest.mark.parametrize("sentence", [BORN, LISTED])
def test_every_listed_claim_passes_the_guard(sentence: str) -> None:
    found = split_sentence(sentence)
    assert len(found.claims) > 2
    for claim in found.claims:
        assert Passage(sentence).match(found.text(claim)) is not None


PARTS = st.sampled_from(
    "Ann Bob was is born left won in Rome in 1990 on 5 June and but , ; who which the a doctor "
    "( ) : — not if said first all — with from to by moved sold 3.5 % red house .".split()
)


@given(st.lists(PARTS, min_size=1, max_size=24).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_whatever_the_sentence_claims_pass_and_cover_it(sentence: str) -> None:
    found = split_sentence(sentence)
    passage = Passage(sentence)
    for claim in found.claims[:-1]:
        assert passage.match(found.text(claim)) is not None
    chosen = finest_claims(found)
    assert {piece for claim in chosen for piece in claim} == set(found.whole)
    made = extract_claims(read_response(sentence), ClauseExtractor())
    assert made.dropped == 0
    assert made.restored == 0


@given(st.lists(PARTS, min_size=4, max_size=24).map(" ".join), st.sampled_from([1, 2, 4]))
@settings(max_examples=60, deadline=None)
def test_few_claims_are_complete_too(sentence: str, most: int) -> None:
    found = split_sentence(sentence)
    chosen = finest_claims(found, most)
    assert len(chosen) <= most
    assert {piece for claim in chosen for piece in claim} == set(found.whole)
    assert not any(set(one) < set(other) for one in chosen for other in chosen)


def test_a_name_is_put_where_it_is_clear() -> None:
    names = PronounNames(["Ann Cole studied law.", "She left in 1990.", "Her firm grew."])
    assert names.replace_first("She left", 1) == "Ann Cole left"
    assert names.replace_first("Her firm grew.", 2) == "Ann Cole's firm grew."
    assert names.replace_first("Ann Cole studied law.", 0) == "Ann Cole studied law."
    unclear = PronounNames(["Ann Cole met Eve Holm.", "She left Rome in 1990."])
    assert unclear.replace_first("She left Rome", 1) == "She left Rome"


def test_named_claims_are_marked() -> None:
    made = extract_claims(
        read_response("Ann Cole studied law. She left Rome in 1990."), ClauseExtractor()
    )
    assert [(claim.text, claim.origin) for claim in made.claims] == [
        ("Ann Cole studied law.", "extracted"),
        ("Ann Cole left Rome in 1990", "named"),
    ]
    assert (made.dropped, made.restored) == (0, 0)


def test_shares_leave_one_for_every_sentence() -> None:
    assert list(claims_per_sentence(3, 10)) == [4, 4, 2]
    assert list(claims_per_sentence(1, 4)) == [4]
    assert list(claims_per_sentence(3, 3)) == [1, 1, 1]


def test_list_marks_and_silent_lines_cost_nothing() -> None:
    response = (
        "Summary:\n- Ann was born in Rome in 1990.\n- Who is Bob?\n1. **Bob left Leeds in 1980.**\n"
    )
    made = extract_claims(read_response(response), ClauseExtractor())
    assert (made.dropped, made.restored) == (0, 0)
    assert [claim.text for claim in made.claims] == [
        "Ann was born in Rome",
        "Ann was born in 1990",
        "Bob left Leeds in 1980.",
    ]
