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


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Dogs pay. ~~Dogs travel free.~~ Cats pay.", ["Dogs pay.", "Cats pay."]),
        ("The fee is ~~5~~ 6 euros.", ["The fee is 6 euros."]),
        ("The fee is <del>5</del> 6 euros.", ["The fee is 6 euros."]),
        ("<!-- Dogs travel free. --> Cats pay.", ["Cats pay."]),
        ("Cats pay. <p style='display: none'>Dogs travel free.</p>", ["Cats pay."]),
        ("Cats pay. <span hidden>Dogs travel free.</span>", ["Cats pay."]),
        ("Myth: Dogs travel free. Fact: Dogs pay.", ["Fact: Dogs pay."]),
        ("Item | Price\n--- | ---\n~~Tea~~ | 4\n", ["Item, Price", "Price 4"]),
    ],
)
def test_hidden_and_struck_text_is_not_read(text: str, read: list[str]) -> None:
    assert read_sentences(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "The following statements are false. Dogs travel free. Cats pay.\n\nBirds fly.",
        "The following statements are false:\n\n- Dogs travel free.\n\n- Cats pay.\n\nBirds fly.",
        "Common myths about animals:\nDogs travel free.\n\nBirds fly.",
    ],
)
def test_denied_statements_are_not_read(text: str) -> None:
    assert read_sentences(text)[1:] == ["Birds fly."]


@pytest.mark.parametrize(
    "text",
    [
        "What went wrong: the pump leaked.",
        "The height is ~5 m.",
        "<b>Dogs pay.</b>",
        "<div style='overflow: hidden'>Dogs pay.</div>",
        "The first report was wrong.",
        "~~Dogs pay.",
    ],
)
def test_visible_text_is_read(text: str) -> None:
    assert read_sentences(text) == [text]


def test_a_source_that_is_hidden_whole_has_no_sentence() -> None:
    assert read_source("<!-- Dogs travel free. -->").sentences == ()


def test_a_short_source_is_read_once() -> None:
    short, long = "Bees fly. Ants walk.", "Bees fly. Ants walk. " * 300
    assert read_source(short) is read_source(short)
    assert read_source(long) is not read_source(long)  # would fill the memory
    assert read_source(long) == read_source(long)
