from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span
from halldetect.reading.sources import read_source
from halldetect.reading.structured import read_json
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


def test_labels_and_values_are_no_dialogue() -> None:
    text = "Power: 2 kW. Adjustable.\nCable: 3 m. Rubber.\nWeight: 1 kg."
    assert read_source(text).readings == ()


def test_json_is_read_in_words() -> None:
    text = '{"job": "backup", "hosts": [{"name": "db-2", "last_error": "disk full"}], "retries": 2}'
    assert read_sentences(text) == [
        "job backup.",
        "hosts: name db-2; last error disk full.",
        "retries 2.",
    ]


def test_plain_text_is_read_as_it_stands() -> None:
    document = read_source("Ann left. Bob stayed.")
    assert document.readings == ()
    assert document.readable(Span(0, 9)) == "Ann left."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_any_json_is_read_in_order(value: object) -> None:
    text = json.dumps(value)
    found = read_json(text)
    for (before, _), (after, _) in zip(found or [], (found or [])[1:], strict=False):
        assert before.end <= after.start


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
