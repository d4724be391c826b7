"""Long sources: pages shared by the coarse scales, finer scales, and a cost that is linear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Document, Span
from halldetect.reading.sentences import read_document
from halldetect.verification.pages import (
    cut_pages,
    cut_sentence,
    finer_scales,
    fit_windows,
    truncate_windows,
)
from halldetect.verification.scales import GRANULARITIES, Window, source_windows
from halldetect.verification.tokens import SourceTokens


class Words:
    """A word is a token."""

    max_tokens = 448
    description: dict[str, object] = {}  # noqa: RUF012

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\S+", text)) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[object]:
        raise AssertionError("nothing is judged here")


def book(sentences: int, words: int = 12) -> str:
    body = " ".join("word" for _ in range(words - 3))
    return " ".join(f"Sentence {number} has {body}." for number in range(sentences))


def divided(text: str, room: int = 448, finer: bool = True) -> tuple[Window, ...]:
    documents = [read_document(text)]
    tokens = SourceTokens(Words(), documents)  # type: ignore[arg-type]
    return fit_windows(source_windows(documents), documents, tokens, room, finer=finer)


def tokens(windows: Sequence[Window]) -> int:
    return sum(Words().count_tokens([window.text for window in windows]))


def test_a_source_that_fits_keeps_its_windows() -> None:
    text = book(30)
    assert divided(text) == source_windows([read_document(text)])


def test_scales_that_are_too_coarse_share_one_set_of_even_pages() -> None:
    text = book(120)  # 1440 tokens: the windows of m = 1 and 2 are too long
    found = divided(text)
    pages = [window for window in found if 1 in window.scales]
    assert all(window.scales == (1, 2) or 4 in window.scales for window in pages)
    assert [window for window in found if 2 in window.scales] == pages
    assert len(pages) == 4
    sizes = Words().count_tokens([window.text for window in pages])
    assert max(sizes) - min(sizes) <= 12
    assert {window.scales for window in found} >= {(8,), (16,)}


def test_one_endless_sentence_does_not_take_the_fine_windows_of_the_others_away() -> None:
    text = f"{book(20)} {'and ' * 900}end. {book(20)}"
    found = divided(text)
    assert all(size <= 448 for size in Words().count_tokens([window.text for window in found]))
    fine = [window for window in found if window.scales == (16,)]
    assert len(fine) >= 12


def test_finer_scales_follow_where_the_finest_windows_are_long() -> None:
    text = book(3000)
    found = divided(text)
    scales = {scale for window in found for scale in window.scales}
    assert scales == {*GRANULARITIES, 128, 256, 512, 1024, 2048}
    finest = [window for window in found if 2048 in window.scales]
    assert max(Words().count_tokens([window.text for window in finest])) <= 24
    assert {1, 2, 4, 8, 16} == set.intersection(
        *(set(window.scales) for window in found if 1 in window.scales)
    )
    assert {scale for window in divided(text, finer=False) for scale in window.scales} == set(
        GRANULARITIES
    )


def test_few_scales_asked_for_stay_few() -> None:
    text = book(3000)
    documents = [read_document(text)]
    counted = SourceTokens(Words(), documents)  # type: ignore[arg-type]
    found = fit_windows(source_windows(documents, (1, 4)), documents, counted, 448, finer=True)
    assert {window.scales for window in found} == {(1, 4)}
    assert finer_scales(counted, 0, documents[0], 4, 448) == []


@pytest.mark.parametrize("sentences", [100, 1000, 4000])
def test_a_source_of_any_length_is_read_about_as_often_as_one_that_fits(sentences: int) -> None:
    text = book(sentences)
    found = divided(text)
    whole = Words().count_tokens([text])[0]
    assert 3 * whole <= tokens(found) <= 6.5 * whole
    assert all(size <= 448 for size in Words().count_tokens([window.text for window in found]))


lengths = st.lists(st.integers(1, 60), min_size=1, max_size=40)


@given(lengths, st.integers(5, 80))
def test_pages_fit_cover_everything_in_order_and_are_as_few_as_can_be(
    words: list[int], room: int
) -> None:
    text = " ".join("Oh " + "my " * (count - 1) + "god." for count in words)
    document = read_document(text)
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    pages = cut_pages(counted, 0, document, room)
    cuts = [page.cut(text) for page in pages]
    assert " ".join(cuts) == text.strip()
    sizes = Words().count_tokens(cuts)
    assert max(sizes) <= room
    longest = max(counted.count(0, document.sentences))
    if longest <= room:  # nothing had to be cut, so whole sentences were filled in greedily
        filled = taken = 0
        for size in counted.count(0, document.sentences):
            if not filled or taken + size > room:
                filled, taken = filled + 1, 0
            taken += size
        assert len(pages) == filled


@given(lengths, st.integers(10, 80), st.booleans())
def test_every_scale_covers_the_source_with_exact_offsets(
    words: list[int], room: int, finer: bool
) -> None:
    text = "\n".join("Oh " + "my " * (count - 1) + "god." for count in words)
    found = divided(text, room, finer)
    assert len({window.span for window in found}) == len(found)
    for scale in {scale for window in found for scale in window.scales}:
        covered = {
            at
            for window in found
            if scale in window.scales
            for at in range(window.span.start, window.span.end)
        }
        assert covered >= {at for at, char in enumerate(text) if not char.isspace()}
    for window in found:
        assert window.span.cut(text) == window.text
        assert Words().count_tokens([window.text])[0] <= room


@given(
    st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=60),
    st.integers(min_value=16, max_value=120),
)
def test_overlapping_pages_fit_and_share_sentences(lengths: list[int], room: int) -> None:
    text = " ".join(" ".join(["Word"] * (size - 1) + ["end."]) for size in lengths)
    document = read_document(text)
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    pages = cut_pages(counted, 0, document, room, overlap=True)
    assert pages[0].start == document.sentences[0].start
    assert pages[-1].end == document.sentences[-1].end
    assert max(counted.count(0, pages)) <= room
    for before, after in pairwise(pages):
        assert before.start < after.start
        assert before.end < after.end
        assert not text[before.end : after.start].strip()


def test_two_neighbouring_sentences_share_a_page() -> None:
    document = read_document(book(400))
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    pages = cut_pages(counted, 0, document, 448, overlap=True)
    assert len(pages) > 5
    for first, second in pairwise(document.sentences):
        assert any(page.start <= first.start and second.end <= page.end for page in pages)


class Letters(Words):
    """A character is a token."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


def letters_of(document: Document) -> SourceTokens:
    return SourceTokens(Letters(), [document])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "room", "parts"),
    [
        ("abcd", 4, ["abcd"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ("abcdefghi", 3, ["ab", "cd", "ef", "ghi"]),
        ("aaaa bbbb cccc dddd", 9, ["aaaa bbbb", "cccc dddd"]),
        ("ab cdefgh", 6, ["ab", "cdefgh"]),
        ("abcdef gh", 6, ["abcdef", "gh"]),
        ("aaa   bbb", 5, ["aaa ", "bbb"]),
        ("a", 0, ["a"]),
    ],
)
def test_a_long_sentence_is_halved_at_the_space_nearest_its_middle(
    sentence: str, room: int, parts: list[str]
) -> None:
    for before in ("", "Ah. "):  # where the sentence stands makes no difference
        document = Document(before + sentence, (Span(len(before), len(before + sentence)),))
        (span,) = document.sentences
        found = cut_sentence(letters_of(document), 0, document, span, room)
        assert [part.cut(document.text) for part in found] == parts


@pytest.mark.parametrize("room", [1, 2, 3, 7, 20, 39])
def test_a_truncated_window_is_the_longest_beginning_that_fits(room: int) -> None:
    words = [chr(97 + at % 26) * (1 + at % 7) for at in range(40)]
    text = " ".join(words)
    document = read_document(f"Ah. {text}.")
    window = Window(f"{text}.", 0, Span(4, 5 + len(text)), (2, 4))
    short = Window("Ah.", 0, Span(0, 3), (4,))
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    kept, cut = truncate_windows([short, window], Words(), counted, room)  # type: ignore[arg-type]
    beginning = " ".join(words[:room])
    assert kept == short
    assert cut == Window(beginning, 0, Span(4, 4 + len(beginning)), (2, 4))
    assert truncate_windows([window], Words(), counted, 40) == (window,)  # type: ignore[arg-type]


def test_windows_that_are_cut_to_the_same_beginning_are_one() -> None:
    document = read_document("One two three. Four five six.")
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    windows = [
        Window(document.text, 0, Span(0, 29), (1,)),
        Window("One two three.", 0, Span(0, 14), (4, 2)),
    ]
    (cut,) = truncate_windows(windows, Words(), counted, 2)  # type: ignore[arg-type]
    assert cut == Window("One two", 0, Span(0, 7), (1, 2, 4))


def test_the_pages_that_a_long_window_overlaps_replace_it_in_its_document() -> None:
    documents = [read_document(book(4, 4)), read_document(book(8, 4))]
    counted = SourceTokens(Words(), documents)  # type: ignore[arg-type]
    found = fit_windows(source_windows(documents, (1, 2)), documents, counted, 12, finer=False)
    by_document = [[w for w in found if w.document == at] for at in (0, 1)]
    sentences = [[s.start for s in document.sentences] for document in documents]
    # 16 tokens make two pages, as even as can be; 32 make three, and the middle one is at both
    # ends of the windows of half the document.
    first, second = sentences
    assert [(w.span.start, w.scales) for w in by_document[0]] == [
        (first[0], (1, 2)),
        (first[2], (1, 2)),
    ]
    assert [(w.span.start, w.scales) for w in by_document[1]] == [
        (second[0], (1, 2)),
        (second[3], (1, 2)),
        (second[6], (1, 2)),
    ]
    for window in found:
        assert window.text == window.span.cut(documents[window.document].text)


def test_finer_scales_by_hand() -> None:
    document = read_document(book(64, 10))
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    # 640 tokens: windows of 40 at 16 groups, 20 at 32, 10 at 64.
    assert finer_scales(counted, 0, document, 16, 80) == []
    assert finer_scales(counted, 0, document, 16, 79) == [32, 64]
    assert finer_scales(counted, 0, document, 8, 60) == []
    assert finer_scales(counted, 0, document, 32, 30) == [64]
    assert finer_scales(counted, 0, document, 64, 15) == []
    # Windows that would not fit are left out, and it goes on to those that do.
    assert finer_scales(counted, 0, document, 16, 19) == [64]
    assert finer_scales(counted, 0, document, 16, 20) == [32, 64]


def test_what_stands_between_sentences_counts_too() -> None:
    text = "Aaaa.     Bbbb.     Cccc.     Dddd."
    document = Document(text, tuple(Span(at, at + 5) for at in (0, 10, 20, 30)))
    # By their sentences alone two would fit on a page.
    pages = cut_pages(letters_of(document), 0, document, 12)
    assert [page.cut(text) for page in pages] == ["Aaaa.", "Bbbb.", "Cccc.", "Dddd."]
    pages = cut_pages(letters_of(document), 0, document, 15)
    assert [page.cut(text) for page in pages] == ["Aaaa.     Bbbb.", "Cccc.     Dddd."]


def test_a_page_begins_with_sentences_of_the_page_before() -> None:
    document = read_document(book(60, 4))
    counted = SourceTokens(Words(), [document])  # type: ignore[arg-type]
    plain = cut_pages(counted, 0, document, 90)
    pages = cut_pages(counted, 0, document, 96, overlap=True)
    starts = [span.start for span in document.sentences]
    assert [page.end for page in pages] == [page.end for page in plain]
    # 20 sentences a page, and room for three more and the rest.
    assert [starts.index(page.start) for page in plain] == [0, 20, 40]
    assert [starts.index(page.start) for page in pages] == [0, 17, 37]
    narrow = cut_pages(counted, 0, document, 44, overlap=True)
    assert starts.index(narrow[1].start) == len(document.sentences_in(narrow[0])) - 1
