from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences


def cut(text: str) -> list[str]:
    return [span.cut(text) for span in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\r\n ", []),
        ("One. Two.", ["One.", "Two."]),
        ("One line\nAnother line", ["One line", "Another line"]),
        ("One.\r\n\r\nTwo.\rThree.", ["One.", "Two.", "Three."]),
        ("One.\u2028Two.\u2029Three.\x85Four.", ["One.", "Two.", "Three.", "Four."]),
        ("Dr. Smith paid $3.5 million. He left.", ["Dr. Smith paid $3.5 million.", "He left."]),
        (
            "J. K. Rowling wrote it at 5 p.m. Then we left.",
            ["J. K. Rowling wrote it at 5 p.m.", "Then we left."],
        ),
        # Short words that are also abbreviations.
        ("They slept on the bus. Berlin was far.", ["They slept on the bus.", "Berlin was far."]),
        ("He was ill. A doctor came.", ["He was ill.", "A doctor came."]),
        ('He said "I am here." Then he left.', ['He said "I am here."', "Then he left."]),
        ("He said “Mr. Hall is here.” Then left.", ["He said “Mr. Hall is here.”", "Then left."]),
        ("“Dr. Hall left.” He did.", ["“Dr. Hall left.”", "He did."]),
        ("1. First thing\n2. Second thing", ["1. First thing", "2. Second thing"]),
        ("1. One. Two.", ["1. One.", "Two."]),
        # A rule for the whole line holds in a part without accents.
        (
            "Er kam nach Köln und blieb. Im Lager waren alle müde. Am 15. September 1984 fuhr er.",
            [
                "Er kam nach Köln und blieb.",
                "Im Lager waren alle müde.",
                "Am 15. September 1984 fuhr er.",
            ],
        ),
        (
            "The prof. Adams lecture began. A. Brown left early. Then it ended.",
            ["The prof. Adams lecture began.", "A. Brown left early.", "Then it ended."],
        ),
        ("Ann left. 1. Bob came. 2. He sat.", ["Ann left.", "1. Bob came.", "2. He sat."]),
        ("- First. Second.\n* Third", ["- First.", "Second.", "* Third"]),
        ("Anna: I left. You?\nBob: No.", ["Anna: I left.", "You?", "Bob: No."]),
        ("She came.[1] He left.[2][3]", ["She came.[1]", "He left.[2][3]"]),
        ("She came. [1] He left. [2] [3, 4]", ["She came. [1]", "He left. [2] [3, 4]"]),
        ("[1] She came. [2] He left.", ["[1] She came.", "[2] He left."]),
        ("She came. [He left.] She stayed.", ["She came.", "[He left.]", "She stayed."]),
        (
            "灯塔建于1871年。塔高48米！“好。”他说。",
            ["灯塔建于1871年。", "塔高48米！", "“好。”", "他说。"],
        ),
        ("Cafe\u0301 opened. E\u0301tienne left.", ["Cafe\u0301 opened.", "E\u0301tienne left."]),
        ("It opened 🎉. People came 👩\u200d🚀.", ["It opened 🎉.", "People came 👩\u200d🚀."]),
        ("Foo\u200b. Bar\x00 baz. \ud800 Qux.", ["Foo\u200b.", "Bar\x00 baz.", "\ud800 Qux."]),
        (
            "She died of cancer. Bob left Idaho. Ann met me. Eve won.",
            ["She died of cancer.", "Bob left Idaho.", "Ann met me.", "Eve won."],
        ),
        ("Prof. Smith met Capt. Ahab.", ["Prof. Smith met Capt. Ahab."]),
        (
            "He met prof. Smith. It cost approx. Ten euros.",
            ["He met prof. Smith.", "It cost approx. Ten euros."],
        ),
        (
            "They paid mr. Smith. Italy vs. Norway was dull.",
            ["They paid mr. Smith.", "Italy vs. Norway was dull."],
        ),
        ("...", ["..."]),
        ("1.", ["1."]),
        ("What is 2+3? 5.", ["What is 2+3?", "5."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


PIECES = st.sampled_from(
    [
        ". ", ".", "! ", "? ", "\n", "\r\n", "\r", " ", "\t", "1. ", "- ", "Dr. ", "3.5", "a",
        "。", "؟ ", "[1]", '"', "'", "”", "(", ")", "…", "\x00", "\ud800", "\u200b", "e\u0301",
        "👩\u200d🚀", "\ufeff", "\u2028", "\x1c", "\u3000", "U.S. ", "e.g. ", ", ", "A: ",
        "The ", "**", "Word",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join))


@given(TEXTS)
def test_spans_hold_every_visible_character(text: str) -> None:
    spans = sentences(text)
    covered: set[int] = set()
    end = 0
    for span in spans:
        assert end <= span.start < span.end <= len(text)
        piece = span.cut(text)
        assert piece == piece.strip()
        assert len(piece.splitlines()) == 1
        covered |= set(range(span.start, span.end))
        end = span.end
    assert {at for at, char in enumerate(text) if not char.isspace()} <= covered


@given(TEXTS)
def test_the_same_text_gives_the_same_spans(text: str) -> None:
    assert sentences(text) == sentences(text)


@given(st.lists(st.sampled_from(["Ann left Rome.", "Did Bob win?", "It cost $3.5 million!"])))
def test_sentences_on_lines_or_in_a_row(parts: list[str]) -> None:
    assert cut(" ".join(parts)) == parts
    assert cut("\r\n".join(parts)) == parts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("This is what Dr. Foo found in 3.5 years. " * 5_000, 5_000),
        ("word " * 20_000, 1),
        ("x" * 100_000, 1),
        ("a. " * 33_000, None),
        ("!" * 50_000, 1),
        ("\n" * 1_000_000, 0),
        ("😀. " * 20_000, None),
    ],
    ids=["many", "no-stop", "one-word", "letters", "marks", "empty-lines", "emoji"],
)
def test_large_texts_take_no_more_than_seconds(text: str, count: int | None) -> None:
    begin = time.process_time()
    found = sentences(text)
    assert time.process_time() - begin < 10
    assert count is None or len(found) == count


def test_the_splitter_is_loaded_only_when_used() -> None:
    code = "import sys, halldetect.reading.sentences; sys.exit('nupunkt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_span_cuts() -> None:
    assert Span(2, 5).cut("abcdefg") == "cde"
    assert len(Span(2, 5)) == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It closes at 5 p.m. The gate opens at 6.", 2),
        ("The pool is 10 m. It is deep.", 2),
        ("Use the app. The fee is low.", 2),
        ("Meet at gate B. Helmets are free.", 2),
        ("It closes at 5 p.m. Eastern time.", 1),
        ("She met John B. Smith there.", 1),
    ],
)
def test_full_stops_after_units_and_letters(text: str, count: int) -> None:
    assert len(sentences(text)) == count
