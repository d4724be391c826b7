"""The paper's windows: groups, merging, documents apart, truncation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.paper.contrast import judge_claims
from halldetect.paper.windows import GRANULARITIES, group_sentences, source_windows, truncated
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.reading.sentences import read_document
from halldetect.verification.windows import Window
from tests.support.fakes import OverlapVerifier

PIECES = ["The tide was low.", "Dr. Oyelaran paid 3.50 euros!", "Où est-il ?", "\n", "e\u0301tude.",
          "“Yes,” she said.", "- item", "\u200b", "終わり。"]  # fmt: skip
prose = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


@given(st.integers(0, 400), st.integers(1, 64))
def test_groups_are_even_and_cover_every_sentence(count: int, m: int) -> None:
    groups = group_sentences(count, m)
    assert [index for group in groups for index in group] == list(range(count))
    assert len(groups) <= m
    assert {len(group) for group in groups[:-1]} <= {-(-count // m)}
    assert sum(len(group_sentences(count, m)) for m in GRANULARITIES) <= 31


def test_same_run_at_several_scales_is_one_window() -> None:
    text = "One thing. Another thing."
    windows = source_windows([read_document(text)])
    assert [(window.text, window.scales) for window in windows] == [
        (text, (1,)),
        ("One thing.", (2, 4, 8, 16)),
        ("Another thing.", (2, 4, 8, 16)),
    ]
    (only,) = source_windows([read_document("Only this.")])
    assert only.scales == GRANULARITIES
    assert source_windows([read_document(" \n\t ")]) == ()


@settings(max_examples=50)
@given(st.lists(prose | st.text(max_size=100), max_size=3))
def test_windows_are_whole_sentences_of_one_document(texts: list[str]) -> None:
    documents = [read_document(text) for text in texts]
    windows = source_windows(documents)
    for window in windows:
        document = documents[window.document]
        inside = document.sentences_in(window.span)
        assert window.span == Span(inside[0].start, inside[-1].end)
        assert window.span.cut(document.text) == window.text
    for index, document in enumerate(documents):
        for m in GRANULARITIES:
            spans = [w.span for w in windows if w.document == index and m in w.scales]
            covered = [span for run in spans for span in document.sentences_in(run)]
            assert sorted(covered) == sorted(document.sentences)


def test_pronoun_brings_nothing_along() -> None:
    text = "The bridge is old. It opened in 1932."
    assert source_windows([read_document(text)])[-1].text == "It opened in 1932."


@pytest.mark.parametrize("room", [1, 2, 3, 7, 20, 39])
def test_truncated_window_is_the_longest_beginning_that_fits(room: int) -> None:
    words = [chr(97 + at % 26) * (1 + at % 7) for at in range(40)]
    text = " ".join(words)
    window = Window(text, 0, Span(4, 4 + len(text)), scales=(2, 4))
    beginning = " ".join(words[:room])
    cut = truncated(window, OverlapVerifier(), room)
    assert cut == Window(beginning, 0, Span(4, 4 + len(beginning)), scales=(2, 4))
    assert truncated(window, OverlapVerifier(), 40) == window


@pytest.mark.parametrize("room", [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 98])
def test_truncated_window_fills_the_room(room: int) -> None:
    class Letters(OverlapVerifier):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    cut = truncated(Window("x" * 99, 0, Span(0, 99)), Letters(), room)
    assert cut == Window("x" * room, 0, Span(0, room))


def test_windows_cut_to_the_same_beginning_are_one() -> None:
    windows = [
        Window("One two three. Four five.", 0, Span(0, 25), scales=(1,)),
        Window("One two three.", 0, Span(0, 14), scales=(4, 2)),
    ]
    claims = [Claim("One", None), Claim("Two", None, problem="cut off"), Claim("a b c", None)]
    first, second, third = judge_claims(claims, windows, OverlapVerifier(3))
    assert first.windows == (Window("One two", 0, Span(0, 7), scales=(1, 2, 4)),)
    assert (first.tokens, second.windows, second.reason) == (3, (), "cut off")
    assert third.reason == "the claim has 3 tokens; the verifier reads fewer"
