from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span
from halldetect.reading.sources import read_source
from tests.support.source_readings import read_sentences

TABLE = "Sales by item.\n\n| Item | Q1 | Q2 |\n|---|---|---|\n| Tea | 4 | **5** |\n\nAll regions."


def test_a_table_row_is_read_with_its_headers() -> None:
    assert read_sentences(TABLE) == [
        "Sales by item.",
        "Item, Q1, Q2",
        "Tea: Q1 4; Q2 5.",
        "All regions.",
    ]


def test_the_span_of_a_row_is_the_row() -> None:
    document = read_source(TABLE)
    assert document.sentences[2].cut(TABLE) == "| Tea | 4 | **5** |"
    whole = Span(0, len(TABLE))
    assert document.readable(whole) == (
        "Sales by item.\n\nItem, Q1, Q2\nTea: Q1 4; Q2 5.\n\nAll regions."
    )


def test_an_html_table_is_read_like_any_other() -> None:
    text = "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>4 €</td></tr></table>"
    assert read_sentences(text) == ["Item, Price", "Tea: Price 4 €."]


def test_every_sentence_of_a_turn_has_its_speaker() -> None:
    text = "Ann: Who pays?\nBob: I do. You paid last time.\nAnn: Fine."
    assert read_sentences(text) == [
        "Ann: Who pays?",
        "Bob: I do.",
        "Bob: You paid last time.",
        "Ann: Fine.",
    ]


def test_plain_text_is_read_as_it_stands() -> None:
    document = read_source("Ann left. Bob stayed.")
    assert document.readings == ()
    assert document.readable(Span(0, 9)) == "Ann left."


@pytest.mark.parametrize(
    "text", ["", "|", "|\n|-|\n|", "<table><tr><td>", "a|b\n--|--\n", "{", "[]"]
)
def test_broken_tables_are_read_as_they_stand(text: str) -> None:
    assert read_source(text).text == text


@given(st.text(alphabet="ab |-\n:<>tdr/", max_size=60))
def test_sentences_are_in_order_whatever_the_source(text: str) -> None:
    document = read_source(text)
    assert list(document.sentences) == sorted(document.sentences)
    assert not document.readings or len(document.readings) == len(document.sentences)
    for span in document.sentences:
        document.readable(span)
