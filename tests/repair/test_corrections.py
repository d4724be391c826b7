"""Corrections by rule: the right one is among the proposals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.facts.recogniser import WordUsage
from halldetect.repair.corrections import corrections
from halldetect.repair.outcome import Method
from halldetect.repair.proposals import Proposals


@pytest.mark.parametrize(
    ("sentence", "evidence", "corrected"),
    [
        (
            "The bridge opened in 1923.",
            "The bridge over the Elbe opened in 1932.",
            "The bridge opened in 1932.",
        ),
        (
            "The council did not approve the plan.",
            "On Tuesday the council approved the plan.",
            "The council approved the plan.",
        ),
        ("The shop opened.", "The shop did not open.", "The shop did not open."),
        ("The plan was approved.", "The plan was not approved.", "The plan was not approved."),
        ("The drug isn't safe.", "The drug is safe for all.", "The drug is safe."),
        (
            "Sales rose by five percent in March.",
            "In March, sales rose by 7 percent.",
            "Sales rose by 7 percent in March.",
        ),
        (
            "All of the patients recovered.",
            "Some of the patients recovered.",
            "Some of the patients recovered.",
        ),
        (
            "Anna Holm built the tower in Paris.",
            "The tower in Rome was built by Bertha Klein.",
            "Bertha Klein built the tower in Paris.",
        ),
        (
            "He paid $3 million for it.",
            "It was bought for $5 million.",
            "He paid $5 million for it.",
        ),
        ("It opens on Monday.", "The shop will open on Friday.", "It opens on Friday."),
        ("It is shut on Sundays.", "The shop closes on Mondays.", "It is shut on Mondays."),
        ("Anna Holm, they say, left.", "Anna Holm left.", "Anna Holm left."),
    ],
)
def test_the_correction_is_proposed(sentence: str, evidence: str, corrected: str) -> None:
    assert corrected in corrections(sentence, evidence)


def test_names_are_cut_to_what_sources_have() -> None:
    found = corrections("Andy Cole praised the bridge.", "Cole praised the bridge.")
    assert "Cole praised the bridge." in found


@pytest.mark.parametrize(
    ("sentence", "evidence", "other"),
    [
        ("Refunds take 30 days.", "Goods take 30 days to arrive.", "Goods"),
        ("Refunds take 60 days.", "Goods can be returned within 14 days.", "Goods"),
        ("Refunds take 60 days.", "Goods sent by Anna Holm take 60 days.", "Anna Holm"),
        ("Breakfast is served at 7.", "Dinner is served at 7 by Anna Holm.", "Dinner"),
        ("Breakfast is served at 7.", "Dinner is served at 7 by Anna Holm.", "Anna Holm"),
        ("Net profit rose by 5 percent.", "Gross revenue rose by 5 percent.", "Gross"),
        ("- Visitors pay 5 euros.", "Berta pays 5 euros for coffee.", "Berta"),
        ("Dogs need the new bridge.", "Cats need the new bridge.", "Cats"),
        ("Construction began in May.", "Telden began building in May.", "Telden"),
    ],
)
def test_a_word_opening_sentences_is_not_a_name(sentence: str, evidence: str, other: str) -> None:
    assert not any(other in text for text in corrections(sentence, evidence))


@pytest.mark.parametrize(
    ("sentence", "evidence", "corrected"),
    [
        ("Anna signed the contract.", "Berta signed the contract.", "Berta signed the contract."),
        ("Anna signed it.", "The contract was signed by Berta.", "Berta signed it."),
        ("James left the town.", "In May, Thomas left the town.", "Thomas left the town."),
        ("NATO sent ships.", "Ships were sent by Norway.", "Norway sent ships."),
        ("Norvik sued Telden.", "Brandt sued Telden.", "Brandt sued Telden."),
        ("Anna Holm designed it.", "Bertha Klein designed it.", "Bertha Klein designed it."),
    ],
)
def test_a_name_that_opens_a_sentence(sentence: str, evidence: str, corrected: str) -> None:
    names = "They met Anna, Berta, James, Norvik and Brandt."
    assert corrected in corrections(sentence, evidence, WordUsage([names, evidence]))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("We met Rivers in York. Later, Rivers left.", True),
        ("They crossed two rivers there.", False),
        ("The law that Bill signed pays a bill. He thanked Bill.", True),
        ("We pay one bill a year.", False),
        ("Rivers and Bill", False),  # a title says nothing
    ],
)
def test_how_a_word_is_written_elsewhere(text: str, name: bool) -> None:
    word = "Bill" if "bill" in text.casefold() else "Rivers"
    assert WordUsage([text]).is_name(word) is name


def replacements(response: str, *documents: str) -> list[str]:
    """Return the proposals that repeat one fact."""
    found = Proposals(response, documents).of(Method.REPLACE, response)
    return [item.text for item in found if item.one_fact]


def test_a_sentence_stays_about_the_same() -> None:
    response, source = "Refunds take 30 days.", "Goods take 30 days there. Refunds take 14 days."
    found = replacements(response, source)
    assert "Refunds take 14 days." in found
    assert not any("Goods" in text for text in found)


@pytest.mark.parametrize(("elsewhere", "name"), [
    ("We met Rivers and Anna.", True), ("We met two rivers and Anna.", False)
])  # fmt: skip
def test_the_whole_source_tells_what_is_a_name(elsewhere: str, name: bool) -> None:
    found = replacements("Rivers signed the contract.", elsewhere, "Anna signed the contract.")
    assert ("Anna signed the contract." in found) is name


def test_words_do_not_stand_for_a_number() -> None:
    found = corrections(
        "Spending fell sharply, according to a review.", "Spending fell sharply, to 88 in May."
    )
    assert not any("88" in text for text in found)


@pytest.mark.parametrize(
    ("sentence", "evidence", "torn"),
    [
        (
            "Residents of Celoron called it ugly.",
            "And now even the people in Celoron called it ugly.",
            "And now",
        ),
        (
            "The museum in York was praised by visitors.",
            "The museum in Leeds, which was praised by visitors, is old.",
            "which",
        ),
        (
            "The last shows of the Holm and Klein circus took place.",
            "The shows of the Holm was the last American circus there.",
            "was the last American circus took",
        ),
        (
            "She is to sing songs for the town with him.",
            "She is to be supporting the town with him.",
            "supporting",
        ),
    ],
)
def test_words_of_another_phrase_are_not_taken(sentence: str, evidence: str, torn: str) -> None:
    assert not any(torn in text for text in corrections(sentence, evidence))


def test_a_name_does_not_stand_for_a_day() -> None:
    assert corrections("It is open on Mondays.", "The shop stands in Bergen.") == []


def test_a_name_does_not_stand_for_a_number() -> None:
    assert corrections("The bridge cost 7 marks.", "Anna Holm smiled.") == []


def test_the_same_sentence_needs_no_correction() -> None:
    text = "The bridge opened in 1932 and was not closed."
    assert corrections(text, text) == []


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_texts(sentence: str, evidence: str) -> None:
    for proposed in corrections(sentence, evidence):
        assert proposed != sentence
        assert proposed.strip()


def test_two_wrong_words_are_corrected_together() -> None:
    evidence = "The bridge opened in 1932 and cost 5 million marks."
    assert evidence in corrections("The bridge opened in 1923 and cost 7 million marks.", evidence)
