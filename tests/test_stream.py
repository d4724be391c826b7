"""Guarding a stream: what is passed on was judged, whatever the stream and the models do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Probabilities, Status
from halldetect.errors import ConfigurationError, InputError
from halldetect.stream import MAX_SENTENCE, StreamAction, StreamGuard, complete_sentences
from tests.support.fakes import OverlapVerifier

SOURCE = "The bridge over the river opened in 1932. Anna Holm designed the bridge."
GOOD = "Anna Holm designed the bridge."
WRONG = "The bridge opened in 1923."
TEXT = f"Hello! {GOOD} {WRONG} It is by Dr. Holm. {GOOD}\n"


@pytest.fixture
def detector() -> Detector:
    return Detector(verifier=OverlapVerifier())


def characters(text: str) -> Iterator[str]:
    yield from text


def test_sentences_come_when_they_are_complete(detector: Detector) -> None:
    guard = detector.stream(SOURCE)
    assert guard.feed("Anna Holm designed") == []
    assert guard.feed(" the bridge. ") == []
    (first,) = guard.feed("The bridge")
    assert first.text == first.original == GOOD
    assert first.action is StreamAction.PASSED
    assert [claim.status for claim in first.claims] == [Status.SUPPORTED]
    assert guard.feed(" opened in 1932") == []
    (second,) = guard.feed(".\n")
    assert second.text == " The bridge opened in 1932."
    (end,) = guard.close()
    assert end.text == "\n"


@pytest.mark.parametrize(
    ("on_failure", "shown", "action"),
    [
        ("pass", f"Hello! {GOOD} {WRONG} {GOOD}", StreamAction.FLAGGED),
        ("hold", f"Hello! {GOOD} {GOOD}", StreamAction.HELD),
        ("repair", f"Hello! {GOOD} The bridge opened in 1932. {GOOD}", StreamAction.REPAIRED),
        ("stop", f"Hello! {GOOD}", StreamAction.STOPPED),
    ],
)
def test_what_is_done(
    detector: Detector, on_failure: str, shown: str, action: StreamAction
) -> None:
    guard = detector.stream(SOURCE, on_failure=on_failure)
    outcomes = list(guard.run(characters(f"Hello! {GOOD} {WRONG} {GOOD}")))
    assert "".join(item.text for item in outcomes) == shown
    (failed,) = (item for item in outcomes if item.action is not StreamAction.PASSED)
    assert failed.action is action
    assert failed.original == f" {WRONG}"
    assert failed.reason
    assert guard.stopped == (on_failure == "stop")


@settings(max_examples=20)
@given(st.lists(st.integers(0, len(TEXT)), max_size=12))
def test_how_it_is_cut_makes_no_difference(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    chunks = [TEXT[start:end] for start, end in pairwise(edges)]
    detector = Detector(verifier=OverlapVerifier())
    outcomes = list(detector.stream(SOURCE).run(chunks))
    whole = list(detector.stream(SOURCE).run([TEXT]))
    assert "".join(item.original for item in outcomes) == TEXT
    assert [(item.text, item.action) for item in outcomes] == [
        (item.text, item.action) for item in whole
    ]


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_nothing_is_lost(chunks: list[str]) -> None:
    guard = Detector(verifier=OverlapVerifier()).stream(SOURCE, on_failure="pass")
    outcomes = list(guard.run(chunks))
    assert "".join(item.original for item in outcomes) == "".join(chunks)


class FailingVerifier(OverlapVerifier):
    """Always fails."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        raise RuntimeError("out of memory")


@pytest.mark.parametrize("on_failure", ["hold", "repair", "stop"])
def test_what_cannot_be_judged_is_not_passed_on(on_failure: str) -> None:
    guard = Detector(verifier=FailingVerifier()).stream(SOURCE, on_failure=on_failure)
    text = "Hello! The bridge was designed by Anna Holm. It opened in 1932."
    outcomes = list(guard.run(characters(text)))
    assert "".join(item.text for item in outcomes) == "Hello!"
    assert "out of memory" in str(outcomes[1].reason)


def test_an_empty_source(detector: Detector) -> None:
    outcomes = list(detector.stream("").run([GOOD]))
    assert [item.text for item in outcomes] == [""]
    assert outcomes[0].reason == "the source has no text"


def test_a_sentence_without_an_end(detector: Detector) -> None:
    guard = detector.stream(SOURCE)
    outcomes = guard.feed("zebra " * 2000)
    assert outcomes
    assert all(len(item.original) <= MAX_SENTENCE for item in outcomes)
    assert all(item.action is StreamAction.HELD for item in outcomes)
    assert complete_sentences("x" * 3 * MAX_SENTENCE)[:2] == [MAX_SENTENCE, 2 * MAX_SENTENCE]


def test_nothing_is_read_ahead(detector: Detector) -> None:
    taken: list[str] = []

    def chunks() -> Iterator[str]:
        for chunk in (f"{GOOD} ", "The bridge ", "opened ", "in 1932. "):
            taken.append(chunk)
            yield chunk

    stream = detector.stream(SOURCE).run(chunks())
    assert next(stream).text == GOOD
    assert taken == [f"{GOOD} ", "The bridge "]


def test_the_stream_is_closed_with_its_reader(detector: Detector) -> None:
    closed = False

    def chunks() -> Iterator[str]:
        nonlocal closed
        try:
            while True:
                yield f"{GOOD} "
        finally:
            closed = True

    stream = detector.stream(SOURCE).run(chunks())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert closed
    closed = False
    assert list(detector.stream("Zebras.", on_failure="stop").run(chunks()))[-1].text == ""
    assert closed


class Connection:
    """Chunks of a client that keeps its connection until it is told to close it."""

    def __init__(self, *chunks: str) -> None:
        self._chunks = iter(chunks)
        self.closed = False

    def __iter__(self) -> Iterator[str]:
        return self._chunks

    def close(self) -> None:
        self.closed = True


def test_the_connection_is_closed_at_the_end(detector: Detector) -> None:
    whole = Connection(GOOD)
    assert [item.text for item in detector.stream(SOURCE).run(whole)] == [GOOD]
    assert whole.closed
    stopped = Connection(f"{WRONG} ", f"{GOOD} ", GOOD)
    assert [item.text for item in detector.stream(SOURCE, on_failure="stop").run(stopped)] == [""]
    assert stopped.closed


def test_nothing_follows_a_stop(detector: Detector) -> None:
    guard = detector.stream(SOURCE, on_failure="stop")
    assert [item.action for item in guard.feed(f"{WRONG} {GOOD} {GOOD}\n")] == [
        StreamAction.STOPPED
    ]
    assert guard.stopped
    assert guard.feed(f"{GOOD}\n") == []
    assert guard.close() == []


def test_asynchronous_streams(detector: Detector) -> None:
    closed = False

    async def chunks() -> AsyncIterator[str]:
        nonlocal closed
        try:
            for char in f"{GOOD} {WRONG} {GOOD}":
                yield char
        finally:
            closed = True

    async def collect() -> str:
        guard = detector.stream(SOURCE, on_failure="repair")
        return "".join([item.text async for item in guard.run_async(chunks())])

    assert asyncio.run(collect()) == f"{GOOD} The bridge opened in 1932. {GOOD}"
    assert closed


def test_bad_arguments(detector: Detector) -> None:
    with pytest.raises(ConfigurationError, match="unknown action"):
        detector.stream(SOURCE, on_failure="ignore")
    with pytest.raises(InputError, match="text"):
        detector.stream(SOURCE).feed(b"bytes")  # type: ignore[arg-type]


class NamesTheBridge(OverlapVerifier):
    """Supports what names the bridge, and nothing else."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.append(list(pairs))
        return [
            Probabilities(0.9, 0.1, 0.0) if "bridge" in said.lower() else Probabilities(0.1, 0.9, 0)
            for _, said in pairs
        ]


def test_a_sentence_is_read_after_those_that_were_shown() -> None:
    detector = Detector(verifier=NamesTheBridge())
    outcomes = list(detector.stream(SOURCE).run(["The bridge is long. It opened in 1932."]))
    assert [item.action for item in outcomes] == [StreamAction.PASSED] * 2
    alone = list(detector.stream(SOURCE).run(["It opened in 1932."]))
    assert [item.action for item in alone] == [StreamAction.HELD]


@pytest.mark.parametrize(
    ("mended", "action"),
    [
        ("The bridge opened in 1932.", StreamAction.REPAIRED),
        ("The bridge opened in 1950.", StreamAction.HELD),
        ("", StreamAction.HELD),
        (None, StreamAction.HELD),
    ],
)
def test_a_repaired_sentence_is_judged_before_it_is_passed_on(
    detector: Detector, mended: str | None, action: StreamAction
) -> None:
    def repair(*_: object, **__: object) -> Any:
        return SimpleNamespace(text=mended)

    guard = StreamGuard(detector.check_many, repair, SOURCE, "repair")
    (first, second) = guard.run([f"{GOOD} {WRONG}"])
    assert (first.text, second.action) == (GOOD, action)
    assert second.text == (f" {mended}" if action is StreamAction.REPAIRED else "")
