"""Records as sources: JSON, CSV, YAML, lines of names and values."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span
from halldetect.reading.sources import read_source
from tests.support.source_readings import read_sentences

YAML = """hours:
  Monday: 11:0-17:0
hosts:
- name: db-2
  error: Disk is full. Was restarted.
- name: db-3
tags:
  - a
note: |
  Two lines follow. This is one.
open: true
"""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"hours": {"Monday": "11:0-17:0"}}, ["hours, Monday: 11:00 to 17:00"]),
        (
            {"job": "backup", "hosts": [{"name": "db-2", "last_error": "disk full"}], "retries": 2},
            ["job: backup", "hosts: name db-2; last error disk full.", "retries: 2"],
        ),
        (
            {"attributes": {"OutdoorSeating": False, "WiFi": None, "Music": True}},
            [
                "attributes, Outdoor Seating: no",
                "attributes, WiFi: not given",
                "attributes, Music: yes",
            ],
        ),
        (
            {"reviews": [{"stars": 5, "text": "Good food here. " * 20}, {"stars": 4, "more": []}]},
            [
                "reviews 1, stars: 5",
                *["reviews 1, text: Good food here."] * 20,
                "reviews 2, stars: 4",
                "reviews 2, more: none",
            ],
        ),
        (
            {"tags": ["a", "b"], "pairs": [[1, 2], [3]]},
            ["tags: a, b", "pairs 1: 1, 2", "pairs 2: 3"],
        ),
        ([{"a": 1, "b": "x"}, {"a": 2, "b": ""}], ["a 1; b x.", "a 2; b not given."]),
    ],
)
def test_json_as_statements(value: object, said: list[str]) -> None:
    assert read_sentences(json.dumps(value)) == said
    assert read_sentences(json.dumps(value, indent=2)) == said


def test_json_lines() -> None:
    assert read_sentences('{"a": 1}\n{"a": 2}\n') == ["a 1.", "a 2."]


def test_spans_of_json_with_escapes() -> None:
    text = r'{"said": "He said \"go\" then. \ud83d\ude00 It ended.", "x": "\ud800"}'
    document = read_source(text)
    assert [span.cut(text) for span in document.sentences] == [
        r'"said": "He said \"go\" then.',
        r'\ud83d\ude00 It ended."',
        r'"x": "\ud800"',
    ]
    assert document.readings[1:] == ("said: \U0001f600 It ended.", "x: \ufffd")


def test_yaml_as_statements() -> None:
    assert read_sentences(YAML) == [
        "hours, Monday: 11:00 to 17:00",
        "hosts 1, name: db-2",
        "hosts 1, error: Disk is full.",
        "hosts 1, error: Was restarted.",
        "hosts 2, name: db-3",
        "tags: a",
        "note: Two lines follow.",
        "note: This is one.",
        "open: yes",
    ]
    assert read_source(YAML).sentences[3].cut(YAML) == "Was restarted."


def test_names_and_values() -> None:
    text = "Power: 2 kW. It is adjustable.\nCable: 3 m\nWeight: 1 kg."
    assert read_sentences(text)[:2] == ["Power: 2 kW.", "Power: It is adjustable."]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_as_rows(mark: str) -> None:
    rows = [["item", "unit_price", "note"], ["Tea", "4", '"hot"'], ["Coffee", "5", ""]]
    text = "\n".join(mark.join(row) for row in rows)
    assert read_sentences(text) == [
        "item, unit price, note",
        "Tea: unit price 4; note hot.",
        "Coffee: unit price 5.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "2025-03-01 10:30 the board met. It chose a chair.",
        "Error rates fell. Information was scarce.\nWarnings were rare. Nobody noticed.",
        "Note: the shop is shut. It opens on Monday.\nWe are sorry.",
        "First, we eat.\nThen, we drink.\nLast, we sleep.",
        "- Ann left.\n- Bob stayed.\n- Eve slept.",
        "{ is a brace. It opens a block.",
    ],
)
def test_prose_is_unchanged(text: str) -> None:
    document = read_source(text)
    assert document.readings == ()
    assert len(document.sentences) >= 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON.map(json.dumps) | st.text('ab: -,;\t\n"#|{}[]1', max_size=60))
def test_any_records_are_read_in_order(text: str) -> None:
    document = read_source(text)
    places = document.sentences
    assert all(0 <= span.start < span.end <= len(text) for span in places)
    assert all(a.end <= b.start for a, b in pairwise(places))


def test_label_once_per_value() -> None:
    text = '{"name": "Luna", "review": "Good soup. Slow service.\\nWe came back.", "stars": 4}'
    read = read_source(text)
    whole = "name: Luna\nreview: Good soup. Slow service.\nWe came back.\nstars: 4"
    assert read.readable(Span(0, len(text))) == whole
    later = Span(text.index("Slow"), text.index(', "stars'))
    assert read.readable(later) == "review: Slow service.\nWe came back."
