"""The windows of a source: counts, merging, documents apart, offsets for any text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Span
from halldetect.reading.sentences import read_document, sentences
from halldetect.verification.scales import GRANULARITIES, Window, group_sentences, source_windows

counts = st.integers(0, 400)
scales = st.lists(st.integers(1, 64), min_size=1, max_size=6, unique=True).map(sorted)
prose = st.lists(
    st.sampled_from(
        [
            "The tide was low.",
            "Dr. Oyelaran paid 3.50 euros!",
            "Où est-il ?",
            "\n",
            "\r\n",
            " ",
            "👩‍🔬 e\u0301tude.",
            "“Yes,” she said.",
            "- item",
            "\u200b",
            "終わり。",
            "\t",
            "¿Qué?",
        ]
    ),
    max_size=40,
).map(" ".join)


def test_eight_sentences_make_23_windows_before_merging() -> None:
    assert sum(len(group_sentences(8, m)) for m in GRANULARITIES) == 1 + 2 + 4 + 8 + 8


def windows_of(texts: Sequence[str], *scales: Sequence[int]) -> tuple[Window, ...]:
    return source_windows([read_document(text) for text in texts], *scales)


@given(counts)
def test_at_most_31_windows_for_any_source(count: int) -> None:
    assert sum(len(group_sentences(count, m)) for m in GRANULARITIES) <= 31


@given(counts, st.integers(1, 64))
def test_groups_cover_every_sentence_once_in_order_and_are_even(count: int, m: int) -> None:
    groups = group_sentences(count, m)
    assert [index for group in groups for index in group] == list(range(count))
    assert len(groups) <= m
    assert {len(group) for group in groups[:-1]} <= {-(-count // m)}
    assert all(len(group) <= -(-count // m) for group in groups)


def test_repeats_are_merged_and_keep_all_their_scales() -> None:
    text = "One thing. Another thing."
    windows = windows_of([text])
    assert [window.text for window in windows] == [text, "One thing.", "Another thing."]
    assert [window.scales for window in windows] == [(1,), (2, 4, 8, 16), (2, 4, 8, 16)]


def test_one_sentence_is_one_window_of_every_scale() -> None:
    (window,) = windows_of(["Only this."])
    assert window.scales == GRANULARITIES


@pytest.mark.parametrize("text", ["", "   \n\t "])
def test_no_text_no_windows(text: str) -> None:
    assert windows_of([text]) == ()
    assert windows_of([]) == ()


def test_documents_are_kept_apart() -> None:
    first, second = "Red is a colour. So is blue.", "Water is wet."
    windows = windows_of([first, second])
    assert {window.document for window in windows} == {0, 1}
    assert [window.text for window in windows if window.document == 1] == [second]
    assert not any("blue" in window.text and "Water" in window.text for window in windows)


@given(prose | st.text(max_size=300), scales)
def test_windows_cut_back_to_their_text_and_join_whole_sentences(
    text: str, granularities: list[int]
) -> None:
    found = sentences(text)
    windows = windows_of([text], granularities)
    seen = {(window.span.start, window.span.end) for window in windows}
    assert len(seen) == len(windows)
    for window in windows:
        assert window.span.cut(text) == window.text
        inside = read_document(text).sentences_in(window.span)
        assert window.span == Span(inside[0].start, inside[-1].end)
        assert set(inside) <= set(found)
        assert set(window.scales) <= set(granularities)
    for m in granularities:
        at_m = [window for window in windows if m in window.scales]
        document = read_document(text)
        covered = [span for window in at_m for span in document.sentences_in(window.span)]
        assert sorted(covered) == sorted(found)


@given(st.lists(prose, max_size=4))
def test_every_window_points_into_its_own_document(documents: list[str]) -> None:
    for window in windows_of(documents):
        assert window.span.cut(documents[window.document]) == window.text
