"""Which words two texts share, and how much each counts."""

from __future__ import annotations

from halldetect.paper.windows import source_windows
from halldetect.reading.overlap import WordIndex, content_keys, content_words, shared_part
from halldetect.reading.sentences import read_document


def test_content_words_join_inflections() -> None:
    text = "The mayor was elected in 1901, and elections followed."
    found = content_words(text)
    assert [word.key for word in found] == ["mayor", "elect", "1901", "elect", "follo"]
    assert [text[word.start : word.end] for word in found][1:3] == ["elected", "1901"]


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
