"""Rewrites stay true, edits do not."""

from __future__ import annotations

import random

from training.large import edits

SOURCE = (
    "In 1994, the Maron theatre was founded by Ilse Brandt. "
    "Ada Moor defeated Tom Keller in the final. "
    "The roof of the theatre holds 40 lamps. More than 300 guests came to Velton on Friday."
)


def test_rewrites_are_labelled_as_following() -> None:
    claim = "In 1994, the Maron theatre was founded by Ilse Brandt."
    made = {item.text: item for item in edits.rewrites(claim, random.Random(2))}
    assert "The Maron theatre was founded by Ilse Brandt." in made
    assert {item.label for item in made.values()} == {"E"}


def test_numbers_are_written_in_words_and_digits() -> None:
    found = edits.rewrites("The roof of the theatre holds 40 lamps.", random.Random(1))
    assert "The roof of the theatre holds forty lamps." in [item.text for item in found]
    found = edits.rewrites("The roof of the theatre holds forty lamps.", random.Random(1))
    assert "The roof of the theatre holds 40 lamps." in [item.text for item in found]


def test_a_changed_number_contradicts_and_a_loose_one_is_left_alone() -> None:
    rng = random.Random(3)
    made = edits.false_claims("The roof holds 40 lamps.", SOURCE, 1, rng, kinds=("number",))
    assert [item.label for item in made] == ["C"]
    assert "40" not in made[0].text
    loose = "More than 300 guests came to Velton."
    assert edits.false_claims(loose, SOURCE, 1, rng, kinds=("number",)) == []


def test_parts_of_two_sentences_do_not_follow() -> None:
    first, second = "Ilse Brandt founded a theatre in 1994.", "Ada Moor joined the board in 2003."
    source = f"{first} {second}"
    made = [edits.recombined(first, second, source, random.Random(seed)) for seed in range(8)]
    texts = {item.text for item in made if item}
    assert texts == {"Ilse Brandt founded a theatre in 2003."}
    assert {item.label for item in made if item} == {"notE"}


def test_a_denial_of_a_wrong_date_is_true() -> None:
    source = "The dam was built in 1931."
    made = [edits.denied(source, source, random.Random(seed)) for seed in range(5)]
    assert all(item and item.label == "E" and "was not built in" in item.text for item in made)
    assert all(item and "1931" not in item.text for item in made)
    assert edits.denied("The dam was built in 1931 and sold.", source, random.Random(1)) is None
