"""Edits for training and for wrong answers of PubMedQA: what each kind does, what none may."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import InputError
from training.perturbation import lexicon
from training.perturbation.perturb import KINDS, perturb

SOURCE = (
    "Late on Tuesday, Maria Keller told reporters that Acme would close its plant in Ohio. "
    "John Baker, who runs Globex, praised Maria Keller for her honesty. The plant in Utah, built "
    "in 1998, employs 340 people and made a profit of $12 million in March 2015. "
    "Baker said the plant in Nevada was older. He may sell some machines."
)


def results(sentence: str, kind: str, source: str = SOURCE, tries: int = 40) -> set[str]:
    found = {perturb(sentence, source, kind, random.Random(seed)) for seed in range(tries)}
    return {text for text in found if text is not None}


@pytest.mark.parametrize(
    ("kind", "sentence", "expected"),
    [
        ("negation", "The plant was closed.", {"The plant was not closed."}),
        ("negation", "The plant was not closed.", {"The plant was closed."}),
        ("negation", "They didn't win.", {"They did win."}),
        ("negation", "Keller can stay.", {"Keller cannot stay."}),
        ("negation", "Keller visited Ohio.", {"Keller did not visit Ohio."}),
        ("negation", "She denied the claim.", {"She did not deny the claim."}),
        ("negation", "She has a car.", {"She does not have a car."}),
        ("negation", "He failed to appear.", {"He managed to appear."}),
        ("comparison", "It cost more than $5.", {"It cost less than $5."}),
        ("comparison", "He left before noon.", {"He left after noon."}),
        ("quantifier", "All of the men left.", {"None of the men left.", "Few of the men left.",
                                                "Only one of the men left."}),
        ("quantifier", "Both Ann and Bob left.", {"Neither Ann nor Bob left."}),
        ("modality", "He may sell it.", {"He will sell it.", "He must sell it."}),
        ("modality", "She hopes to win.", {"She refuses to win.", "She has to win."}),
        ("antonym", "Sales increased.", {"Sales decreased."}),
        ("antonym", "An easy case.", {"A difficult case."}),
    ],
)  # fmt: skip
def test_edits(kind: str, sentence: str, expected: set[str]) -> None:
    assert results(sentence, kind) == expected


def test_an_edit_the_source_itself_states_is_not_made() -> None:
    sentence = "The plant was closed."
    assert results(sentence, "negation", f"{SOURCE} The plant was not closed.") == set()


def test_numbers_keep_their_form() -> None:
    for text in results("The plant employs 12,500 people.", "number"):
        number = text.removeprefix("The plant employs ").removesuffix(" people.")
        assert number != "12,500"
        assert number == f"{int(number.replace(',', '')):,}"
    for text in results("It grew by 85 percent.", "number"):
        assert 2 <= int(text.split()[3]) <= 100
    for text in results("It grew by 3.75 percent.", "number"):
        assert text.split()[3].endswith(".75")


def test_years_and_days_are_dates_and_not_numbers() -> None:
    sentence = "It opened on May 29, 1943."
    assert results(sentence, "number") == set()
    dates = results(sentence, "date")
    assert any(text.startswith("It opened on May 29, ") for text in dates)
    assert any(text.endswith(" 29, 1943.") and "May" not in text for text in dates)
    assert not any("February" in text for text in dates)


def test_a_modal_verb_is_no_month() -> None:
    assert results("Prices may march on.", "date") == set()
    assert results("The protest began in March.", "date")


def test_entities_are_exchanged_for_their_like() -> None:
    found = results("Maria Keller left.", "entity")
    assert found
    assert all("Keller" not in text for text in found)
    assert results("Keller lives in Ohio.", "entity") >= {"Keller lives in Utah."}


def test_units_and_currencies() -> None:
    assert results("It made $12 million.", "unit") <= {
        "It made £12 million.", "It made €12 million.", "It made $12 thousand.",
        "It made $12 billion.", "It made $12 trillion.",
    }  # fmt: skip
    assert results("The 19-year-old left.", "unit") == set()


def test_what_does_not_apply_gives_none() -> None:
    for kind in KINDS:
        assert perturb("Hello there.", "Hello there.", kind, random.Random(0)) is None
        assert perturb("", SOURCE, kind, random.Random(0)) is None


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="there are number"):
        perturb("A.", "A.", "colour", random.Random(0))


@given(st.text(max_size=120), st.text(max_size=120), st.sampled_from(KINDS), st.integers(0, 99))
def test_any_text_is_survived(sentence: str, source: str, kind: str, seed: int) -> None:
    text = perturb(sentence, source, kind, random.Random(seed))
    assert text is None or text != sentence
    assert text == perturb(sentence, source, kind, random.Random(seed))


def test_verb_forms() -> None:
    assert [lexicon.past(verb) for verb in ("deny", "play", "stop", "move", "go")] == [
        "denied", "played", "stopped", "moved", "went",
    ]  # fmt: skip
    assert [lexicon.third_person(verb) for verb in ("deny", "reach", "stay")] == [
        "denies", "reaches", "stays",
    ]  # fmt: skip
    assert [lexicon.gerund(verb) for verb in ("die", "make", "agree", "win")] == [
        "dying", "making", "agreeing", "winning",
    ]  # fmt: skip


def test_a_number_of_any_length_can_be_changed() -> None:
    sentence = f"The key is {10**30 + 7} in full."
    changed = perturb(sentence, sentence, "number", random.Random(1))
    assert changed is not None
    assert changed != sentence
