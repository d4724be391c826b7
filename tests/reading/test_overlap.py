"""Which words two texts share, and how much each counts."""

from __future__ import annotations

import math

import pytest

from halldetect.paper.windows import source_windows
from halldetect.reading.document import Span
from halldetect.reading.overlap import WordIndex, content_keys, content_words, shared_part
from halldetect.reading.sentences import read_document


def test_content_words_join_inflections() -> None:
    text = "The mayor was elected in 1901, and elections followed."
    found = content_words(text)
    assert [word.key for word in found] == ["mayor", "elect", "1901", "elect", "follo"]
    assert [text[word.start : word.end] for word in found][1:3] == ["elected", "1901"]


def test_text_without_spaces_gives_pairs_of_letters() -> None:
    text = "東京の333年 明日 三"
    found = [(word.key, text[word.start : word.end]) for word in content_words(text)]
    assert found == [(part, part) for part in ("東京", "京の", "333", "年", "明日", "三")]


def test_numbers_are_compared_whole() -> None:
    assert content_keys("It cost 123456.") & content_keys("It cost 123457.") == {"cost"}


def test_shared_part_relates_to_the_first() -> None:
    claim, text = content_keys("Salt and pepper"), content_keys("Pepper, sugar and vinegar")
    assert shared_part(claim, text) == 1 / 2
    assert shared_part(content_keys("of the"), text) == 0.0


def test_rare_words_count_more() -> None:
    texts = ["The elected mayor resigned. The mayor wept.", "A mayor was elected in 1901."]
    documents = [read_document(text) for text in texts]
    windows = [window for window in source_windows(documents) if 16 in window.scales]
    parts = [(window.document, window.span) for window in windows]
    index = WordIndex(documents)
    assert index.shares("The mayor resigned.", parts[:1]) == [1.0]
    first, second, third = index.shares("Elections of a mayor in 1901", parts)
    assert third == 1.0 > first > second > 0.0
    assert index.shares("The queen abdicated", parts) == [0.0] * 3
    assert index.shares("of the", parts) == [1.0] * 3
    # Of the three sentences, all have "mayor", two have "elected" and one has "1901".
    mayor, elected, year = (math.log1p(3 / (count + 0.5)) for count in (3, 2, 1))
    total = mayor + elected + year
    assert (first, second) == pytest.approx(((mayor + elected) / total, mayor / total))


def test_word_counts_in_the_part_where_it_begins() -> None:
    index = WordIndex([read_document("Alpha bravo. Charlie delta.")])
    parts = [(0, Span(0, 6)), (0, Span(0, 7)), (0, Span(6, 7)), (0, Span(7, 27))]
    assert index.shares("bravo", parts) == [0.0, 1.0, 1.0, 0.0]


def test_words_of_other_parts_do_not_count() -> None:
    index = WordIndex([read_document("Alpha bravo."), read_document("Alpha delta. Bravo echo.")])
    alpha, bravo = (1, Span(0, 12)), (1, Span(13, 24))
    assert index.shares("alpha bravo", [alpha, bravo]) == [0.5, 0.5]
    assert index.shares("alpha bravo", [alpha, bravo], [(0, Span(0, 5))]) == [0.0, 1.0]
    assert index.shares("alpha bravo", [alpha, bravo], [(0, Span(0, 12))]) == [1.0, 1.0]


@pytest.mark.parametrize("length", [10, 5_000])
def test_long_texts_are_indexed_as_short_ones(length: int) -> None:
    text = "Alpha bravo. " * length
    index = WordIndex([read_document(text)])
    assert index.shares("alpha zulu", [(0, Span(0, 12))]) == pytest.approx(
        [
            math.log1p(length / (length + 0.5))
            / (math.log1p(length / (length + 0.5)) + math.log1p(2 * length))
        ]
    )
