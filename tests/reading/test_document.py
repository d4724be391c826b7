"""The sentences of a document that a span covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span, place_of
from halldetect.reading.sentences import read_document

TEXT = "One is here. Two is there.  Three is gone."


def test_sentences_are_cut_to_the_span() -> None:
    document = read_document(TEXT)
    one, two, three = document.sentences
    assert document.sentences_in(Span(0, len(TEXT))) == (one, two, three)
    assert document.sentences_in(Span(one.start, two.end)) == (one, two)
    assert document.sentences_in(Span(4, two.start + 3)) == (
        Span(4, one.end),
        Span(two.start, two.start + 3),
    )
    assert document.sentences_in(Span(two.end, three.start)) == ()


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_sentences_cover_the_span(first: int, second: int) -> None:
    span = Span(min(first, second), max(first, second))
    inside = read_document(TEXT).sentences_in(span)
    covered = {at for part in inside for at in range(part.start, part.end)}
    assert covered >= {at for at in range(span.start, span.end) if not TEXT[at].isspace()}
    assert all(span.start <= part.start < part.end <= span.end for part in inside)


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        ("six", "Sixteen boats cost six euros.", "six"),
        ("six", "Sixteen boats", "Six"),
        ("six euros", "It costs **six**  *euros*.", "six**  *euros"),
        ("東京", "彼は東京に住む", "東京"),
        ("seven", "Sixteen boats", None),
        (" ", "Sixteen boats", None),
    ],
)
def test_whole_words_are_found_first(words: str, text: str, found: str | None) -> None:
    place = place_of(words, text)
    assert (place and place.cut(text)) == found
