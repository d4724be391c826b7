"""Long sources: pages shared by the coarse scales, finer scales, and a cost that is linear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.text.sentences import read_document
from halldetect.windows.pages import cut_pages, finer_scales, fit_windows
from halldetect.windows.scales import GRANULARITIES, Window, source_windows
from halldetect.windows.tokens import SourceTokens


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
