"""Facts: numbers, dates and names with their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.facts.recogniser import WordUsage, find_facts


def test_forms_of_facts() -> None:
    text = "Monday, 3 May 1999: Anna Holm gave $4 million (12 percent) to the Bank of Oslo's head."
    assert {fact.text: fact.form for fact in find_facts(text)} == {
        "Monday": "weekday",
        "3 May 1999": "day",
        "Anna Holm": "name",
        "$4 million": "money",
        "12 percent": "percent",
        "Bank of Oslo": "name",
    }


@pytest.mark.parametrize(
    ("text", "key", "unit"),
    [
        ("It weighs 1,200 grams.", "1200", "grams"),
        ("It takes twelve minutes.", "12", "minutes"),
        ("Ninety people came.", "90", ""),
        ("It rose in the 1970s.", "1970s", ""),
        ("It opens at 9:30 am.", "9:30 am", ""),
    ],
)
def test_facts_have_a_key_and_a_unit(text: str, key: str, unit: str) -> None:
    (fact,) = find_facts(text)
    assert (fact.key, fact.unit) == (key, unit)


def test_first_word_is_a_name_by_use_elsewhere() -> None:
    assert find_facts("Rivers left.") == []
    usage = WordUsage(["We met Rivers in York."])
    assert [fact.text for fact in find_facts("Rivers left.", usage)] == ["Rivers"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("In Oslo rain fell.", [(3, "Oslo")]),
        ("The Bank of Oslo and Anna Holm's heirs met.", [(4, "Bank of Oslo"), (21, "Anna Holm")]),
        ("- For Anna Holm and for Bergen.", [(6, "Anna Holm"), (24, "Bergen")]),
    ],
)
def test_a_name_begins_after_a_function_word(text: str, names: list[tuple[int, str]]) -> None:
    assert [(fact.start, fact.text) for fact in find_facts(text)] == names


@given(st.text(max_size=200))
def test_places_are_those_of_the_text(text: str) -> None:
    for fact in find_facts(text):
        assert text[fact.start : fact.end] == fact.text
