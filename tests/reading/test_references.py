"""References to the sentence before: names for pronouns, or both sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.references import begins_with_pronoun, readings


def reading(before: str, sentence: str) -> str | None:
    found = readings([before, sentence])[1]
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("before", "sentence", "read"),
    [
        ("The Maron opened in 1994.", "It closed in 2011.", "The Maron closed in 2011."),
        ("Tom Arkwright left Rome.", "His shop closed.", "Tom Arkwright's shop closed."),
        ("The Harriers won 3-1.", "They moved up.", "The Harriers moved up."),
        ("Ida and Marte Roen grew up here.", "They left.", "Ida and Marte Roen left."),
    ],
)
def test_names_replace_pronouns(before: str, sentence: str, read: str) -> None:
    assert reading(before, sentence) == read


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("The council bought a tractor.", "It broke down."),
        ("The river floods the meadows.", "This makes them good for birds."),
        ("He carried the torch on Facebook.", "However, he is ill."),
        ("The boy fell into the pit in Ohio.", "He was hurt."),
        ("Ann Cole left.", "The former mayor of Leeds stayed."),
        ("Mr. Quist left.", "It was the third time."),
        ("The Maron opened.", "It's closed now."),
        ("The Starter plan costs 9 euros.", "The Team plan costs 29 euros."),
        ("Ann Cole signed.", "Neither party may assign this agreement."),
        ("The museum opened in 1998.", "The museum closed a year later."),
        ("Ann Cole left.", "“She never came back,” Bob replied."),
    ],
)
def test_ambiguous_pronouns_stay(before: str, sentence: str) -> None:
    assert reading(before, sentence) is None


@pytest.mark.parametrize(
    ("before", "sentence", "read"),
    [
        ("Kilo Foods grew.", "It sold soup.", "Kilo Foods sold soup."),
        ("Norvik makes glass.", "It grew.", "Norvik grew."),
        ("Mr. Quist left.", "He sold soup.", "Mr. Quist sold soup."),
        ("The horror film was made in May.", "It won.", "The horror film won."),
    ],
)
def test_the_name_ends_before_the_verb(before: str, sentence: str, read: str) -> None:
    assert reading(before, sentence) == read


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("According to Bob, all was lost.", "He left."),
        ("Last week the club won.", "It moved up."),
        ("Prior to May, all was lost.", "She left."),
        ("Born in Bonn, he moved to Rome.", "He left."),
        ("Ann and Bob's shop closed.", "They left."),
        ("Ann and Bob 's son left.", "Their dog stayed."),
        ("Ann Cole's son fell.", "She was hurt."),
        ("Judge: Did Ann see the van?", "Serra: I drove it."),
        ("The passage describes the Maron.", "It opened in 1994."),
        ("The council made a proposal.", "This proposal was withdrawn."),
    ],
)
def test_unlikely_antecedents_are_ignored(before: str, sentence: str) -> None:
    assert reading(before, sentence) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "` It is hard .",
        "'He never came back.",
        "‘ He never came back .",
        "`` he never came back , `` bob replied .",
    ],
)
def test_pronouns_in_quotations_stay(sentence: str) -> None:
    assert reading("Tom Arkwright left Rome.", sentence) is None


def test_an_apostrophe_is_no_quotation() -> None:
    assert reading("Tom Arkwright left.", "He 's in Bonn .") == "Tom Arkwright 's in Bonn ."


@pytest.mark.parametrize(
    "sentence",
    [
        "After his fall, Bob Hale went home.",
        "Known for his calm, warm voice, Hale sang.",
        "When he fell, Bob Hale was alone.",
        "According to his doctor, Hale is well.",
    ],
)
def test_name_after_the_pronoun(sentence: str) -> None:
    assert reading("Tom Arkwright left Rome.", sentence) is None


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("The museum is open on Tuesdays.", "On Mondays as well."),
        ("Vera does not play the piano.", "But Otto does."),
        ("One can take a tram.", "The latter is cheap."),
        ("Edda moved to Basel in 1976.", "Edda met Jan there."),
        ("Ash Lane was resurfaced.", "So was Birch Lane."),
    ],
)
def test_dependent_sentences_follow_the_one_before(before: str, sentence: str) -> None:
    assert reading(before, sentence) == f"{before} {sentence}"


@pytest.mark.parametrize(
    "sentence",
    [
        "The tower is tall.",
        "It rained in May.",
        "It will probably snow in the north.",
        "It was still raining at noon.",
        "It will be sunny and dry.",
        "It is clear that Ann left.",
        "Ann sold her house.",
        "There are two towers.",
        "A day before the match Ann left.",
    ],
)
def test_independent_sentences_stay(sentence: str) -> None:
    assert reading("The Maron opened in 1994.", sentence) is None


def test_names_are_handed_on() -> None:
    found = readings(["Ann Cole left.", "She sold a shop.", "She died."])
    assert [item.text for item in found if item] == ["Ann Cole sold a shop.", "Ann Cole died."]


@pytest.mark.parametrize(
    ("sentence", "begins"),
    [
        ("It closed in 2011.", True),
        ("But they left.", True),
        ("In 1990 she left.", True),
        ("It rained.", False),
        ("It was not immediately clear why Ann left.", False),
        ("It wasn't known where Ann was.", False),
        ("It is unclear .", True),
        ("It was known for its marble.", True),
        ("Ann said it.", False),
    ],
)
def test_sentences_that_begin_with_a_pronoun(sentence: str, begins: bool) -> None:
    assert begins_with_pronoun(sentence) is begins


@given(st.lists(st.text(max_size=80), max_size=4))
def test_any_text_will_do(texts: list[str]) -> None:
    assert len(readings(texts)) == len(texts)
