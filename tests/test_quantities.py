"""Quantities as values, and what may be computed from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.facts.computations import CUE, computed
from halldetect.facts.quantities import equal, fits, occurs, read_quantities, words_of


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("It has 1,200 seats.", "count", 1200),
        ("It cost $3.5bn.", "dollar", 3.5e9),
        ("It cost 1.2 million euros.", "euro", 1.2e6),
        ("It lasts three quarters of an hour.", "time", 2700),
        ("It lasts one and a half years.", "time", 1.5 * 31557600),
        ("It weighs 9.5 kg.", "mass", 9500),
        ("It covers 12 square kilometres.", "area", 12e6),
        ("It fell by 4.8 %.", "share", 0.048),
        ("It fell by two thirds.", "share", 2 / 3),
        ("A third of it is full.", "share", 1 / 3),
        ("It grew three times.", "times", 3),
        ("It opened on 4 May 2015.", "day", 735722),
        ("It opened in June 2018.", "month", 2018 * 12 + 6),
        ("It opens at 5:30 pm.", "clock", 1050),
        ("One hundred and five came.", "count", 105),
        ("It sleeps two dozen guests.", "count", 24),
        ("It measured -5 °C.", "temperature", -5),
    ],
)
def test_values_and_kinds(text: str, kind: str, value: float) -> None:
    found = read_quantities(text)[0]
    assert (found.kind, found.value) == (kind, pytest.approx(value))


@pytest.mark.parametrize(
    "text",
    ["", "No number.", "a third zone", "multi-billion losses", "one of them", "31 February 1"],
)
def test_texts_without_quantities(text: str) -> None:
    assert [found for found in read_quantities(text) if found.value != 1.0] == []


def test_a_range_shares_its_unit() -> None:
    assert [found.kind for found in read_quantities("Take 5 to 10 mg.")] == ["mass", "mass"]
    kinds = [found.kind for found in read_quantities("12 km in 1990 and 36 km in 2020.")]
    assert kinds.count("length") == 2


@pytest.mark.parametrize(
    ("said", "known", "agree"),
    [
        ("2,500 grams", "2.5 kg", True),
        ("about 5 %", "4.8 %", True),
        ("about 8 %", "4.8 %", False),
        ("more than 1,000 people", "1,012 people", True),
        ("more than 1,100 people", "1,012 people", False),
        ("under eighty", "under eight", False),
        ("3.2 million", "3,214,567", True),
        ("2020", "2018", False),
        ("21-year-old", "aged 21", True),
        ("5 euros", "5 kg", False),
    ],
)
def test_agreement(said: str, known: str, agree: bool) -> None:
    assert equal(read_quantities(said)[0], read_quantities(known)[0]) is agree


def test_numbers_occur_in_any_spelling() -> None:
    (said,) = read_quantities("It has 13,000 members.")
    assert occurs(said, words_of("more than 13, 000 twins"))
    assert occurs(read_quantities("seven dogs")[0], words_of("7 dogs"))
    assert occurs(read_quantities("twenty-five dogs")[0], words_of("25 dogs"))
    assert not occurs(read_quantities("five dogs")[0], words_of("twenty-five dogs"))
    assert not occurs(said, words_of("1,300 twins"))
    below_one = read_quantities("P < 0.050")[0]
    assert occurs(below_one, words_of("P < 0.05"))
    assert not occurs(below_one, words_of("P < 5"))
    assert occurs(read_quantities("0 dogs")[0], words_of("0.0 dogs"))


@pytest.mark.parametrize(
    ("said", "together", "made"),
    [
        ("500 seats", "320 seats and 180 seats", True),
        ("12,400 loaves", "4,150 loaves, 3,850 and 4,400", True),
        ("12 years", "from 2011 to 2023", True),
        ("90 minutes", "from 9:30 to 11:00", True),
        ("three times", "45 litres, not 15 litres", True),
        ("25 %", "from 8 pounds to 10 pounds", True),
        ("570 seats", "320 seats and 180 seats", False),
        ("500", "320 seats and 180 beds", False),
        ("25,500 euros", "30 % of 85,000 euros", False),
        ("40 %", "", False),
    ],
)
def test_what_numbers_of_one_kind_and_unit_give(said: str, together: str, made: bool) -> None:
    (wanted,) = read_quantities(said)
    found = computed(read_quantities(together))
    assert made is any(one.kind == wanted.kind and fits(wanted, one.value) for one in found)


def test_more_numbers_of_one_kind_are_not_combined() -> None:
    text = ", ".join(f"{n} euros" for n in range(11, 26))
    assert list(computed(read_quantities(text))) == []
    assert list(computed(read_quantities(text.rpartition(",")[0])))


@pytest.mark.parametrize(
    ("claim", "computes"),
    [("Both cost 9 euros together.", True), ("The bag costs 9 euros.", False)],
)
def test_words_of_a_computation(claim: str, computes: bool) -> None:
    assert bool(CUE.search(claim)) is computes


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for found in read_quantities(text):
        assert text[found.start : found.end] == found.text
    list(computed(read_quantities(text)))


@pytest.mark.parametrize(
    "text", ["9" * 400, "1/0", "0 % of 0", "10" * 200 + " years after 1 May 9999"]
)
def test_hostile_numbers_raise_nothing(text: str) -> None:
    known = read_quantities(f"{text} {text}")
    list(computed(known))


def test_a_timestamp_has_a_date_and_a_time() -> None:
    found = {(item.kind, item.text) for item in read_quantities('"run": "2026-02-12T01:30:00Z"')}
    assert {("day", "2026-02-12"), ("clock", "01:30")} <= found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 dollars", "5 dollars", True),
        ("5 dollars", "5 euros", False),
        ("50 cents", "50 pence", True),
        ("50 cents", "50 seconds", False),
        ("5", "5 euros", True),
    ],
)
def test_amounts_are_equal_in_one_currency_only(one: str, other: str, same: bool) -> None:
    (first, *_), (second, *_) = read_quantities(one), read_quantities(other)
    assert equal(first, second) is same
    assert equal(second, first) is same


@pytest.mark.parametrize(
    ("known", "same"), [("48 people", True), ("over 48 people", False), ("over 50 people", True)]
)
def test_a_bound_of_the_source_is_not_rounded(known: str, same: bool) -> None:
    assert equal(read_quantities("about 50 people")[0], read_quantities(known)[0]) is same


def test_a_number_of_times_may_be_a_fold() -> None:
    assert [one.kind for one in read_quantities("a 3 fold rise, 3 times as much")] == ["times"] * 2
