"""Long sentences are cut into clauses; lists and ordinary sentences stay whole."""

from __future__ import annotations

import pytest

from halldetect.reading.claims import read_claims
from halldetect.reading.response import read_response

MANY = (
    "The mill was built in 1790, its wheel turns twice a minute; the barn holds forty sheep, "
    "while the orchard has ninety trees and the farm belongs to a trust that was founded last year."
)


def test_clauses_have_their_own_spans() -> None:
    claims = read_claims(read_response(f"Some history. {MANY}"))
    assert [claim.text for claim in claims][-5:] == [
        "The mill was built in 1790",
        "its wheel turns twice a minute",
        "the barn holds forty sheep",
        "the orchard has ninety trees",
        "the farm belongs to a trust that was founded last year.",
    ]
    text = f"Some history. {MANY}"
    assert [claim.span.cut(text) for claim in claims if claim.span] == [
        claim.text for claim in claims
    ]


def test_verbs_of_several_subjects_make_clauses() -> None:
    sentence = (
        "The two mills make flour in autumn, the old barns hold forty sheep, the small shops sell "
        "bread and cheese, the fees rise each year, and the boats bring coal from the islands."
    )
    assert len(read_claims(read_response(sentence))) == 5


@pytest.mark.parametrize(
    "sentence",
    [
        # three clauses
        "The mill was built in 1790, its wheel turns twice a minute when the river is high, and "
        "the barn behind the main house holds forty sheep and a number of old carts.",
        # a list of places
        "The office identified these priority countries for the second half of the year: Bosnia "
        "and Herzegovina; the Central African Republic; Colombia; Liberia; South Sudan; and Mali.",
        # a list of ingredients
        "To make the stew you will need two cups of chopped leeks, a pound of peeled potatoes, "
        "four cloves of garlic minced, half a pepper sliced, and two stalks of celery chopped.",
        # participles
        "The court sentenced him to five years in prison, ordering him to pay a fine of ninety "
        "thousand dollars, suspended his licence for good, and barred him from all public office.",
        # nouns that could be verbs
        "The paper of the spring session compares the prices of oil, the taxes on wine, the costs "
        "of heating, the wages of teachers, and the rents of small shops in the old town.",
        # verbs of one subject
        "The baker in the old street opens at five each morning, sells bread until noon, makes "
        "cakes for the school, cleans the shop with care, and goes home before the rain.",
    ],
)
def test_other_sentences_stay_whole(sentence: str) -> None:
    assert [claim.text for claim in read_claims(read_response(sentence))] == [sentence]


FOUR = (
    "The ship left at nine, the crew slept below, the captain watched the sea, and the cook made a "
    "stew for everyone on "
)


def test_four_clauses_and_25_words_are_the_least() -> None:
    def parts(sentence: str) -> int:
        return len(read_claims(read_response(sentence)))

    assert parts(f"{FOUR}the ship.") == 4  # 25 words
    assert parts(f"{FOUR}board.") == 1
    assert parts(f"Opened in May, {FOUR[0].lower()}{FOUR[1:]}the ship.") == 1


@pytest.mark.parametrize(
    ("part", "clause"),
    [
        ("the captain watched the river", True),
        ("the captain watched it", True),
        ("the pump whirs all day", True),
        ("the captain saw nothing", True),
        ("the enemy fled", True),
        ("the village of the miller", False),
        ("saying it was late", False),
        ("nearly all were lost", False),
        ("which was never found", False),
    ],
)
def test_part_with_a_subject_and_its_verb_is_a_clause(part: str, clause: bool) -> None:
    others = "The mill was built in the spring of 1790, its old wheel is made of oak from the "
    others += "hills, the barn was sold last year to a neighbour"
    assert len(read_claims(read_response(f"{others}, {part}."))) == (4 if clause else 1)
