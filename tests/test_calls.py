"""Checks that are awaited, that come one after another, and that take records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from threading import Event, get_ident
from typing import Any

import pytest

from halldetect import Detector, Pair, Report
from halldetect.calls import BLOCK
from halldetect.errors import InputError
from halldetect.render import html
from halldetect.report import Probabilities
from tests.support.fakes import OverlapVerifier

SOURCE = "The kiosk at the lake opens in April. It sells maps and tea."
GOOD, WRONG = "The kiosk sells maps and tea.", "The kiosk at the lake opens in June."
PAIRS = [Pair(SOURCE, f"{GOOD} Ticket {number} is free.") for number in range(150)]


class Gate(OverlapVerifier):
    """Judges only while the gate is open, and notes the thread of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.begun = Event(), Event()
        self.threads: list[int] = []

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.threads.append(get_ident())
        self.begun.set()
        assert self.open.wait(30)
        return super().judge(pairs)


def untimed(report: Report) -> Report:
    return replace(report, cost=replace(report.cost, seconds={}))


def test_the_loop_goes_on_while_a_check_is_awaited() -> None:
    gate = Gate()

    async def checked() -> Report:
        task = asyncio.create_task(Detector(gate).acheck(SOURCE, GOOD, threshold=0.4))
        while not gate.begun.is_set():
            await asyncio.sleep(0.001)
        assert not task.done()
        gate.open.set()
        return await task

    report = asyncio.run(checked())
    assert get_ident() not in gate.threads
    assert untimed(report) == untimed(Detector(gate).check(SOURCE, GOOD, threshold=0.4))


def test_awaited_checks_run_one_at_a_time_and_keep_their_order() -> None:
    gate = Gate()
    gate.open.set()
    detector = Detector(gate)

    async def checked() -> Any:
        return await asyncio.gather(
            detector.acheck(SOURCE, WRONG),
            detector.acheck_many(PAIRS),
            detector.acheck({"source": SOURCE, "response": GOOD}),
        )

    wrong, many, good = asyncio.run(checked())
    assert (wrong.response, good.response) == (WRONG, GOOD)
    assert [report.response for report in many] == [pair.response for pair in PAIRS]
    assert len(set(gate.threads)) == 1


def test_no_block_begins_after_a_cancellation() -> None:
    gate = Gate()
    read: list[int] = []

    def pairs() -> Iterator[Pair]:
        for number, pair in enumerate(PAIRS):
            read.append(number)
            yield pair

    async def cancelled() -> None:
        detector = Detector(gate)
        running = asyncio.create_task(detector.acheck_many(pairs()))
        while not gate.begun.is_set():
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(detector.acheck(SOURCE, WRONG))
        await asyncio.sleep(0)
        for task in (running, waiting):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        gate.open.set()
        calls = await asyncio.to_thread(_when_still, gate)
        report = await detector.acheck(SOURCE, GOOD)
        assert report.response == GOOD
        assert len(gate.threads) > calls

    asyncio.run(cancelled())
    assert read == [0]  # the first block is one pair


def _when_still(gate: Gate) -> int:
    """Return the number of calls once none has come for a while."""
    count = -1
    while count != len(gate.threads):
        count = len(gate.threads)
        time.sleep(0.2)
    return count


def test_errors_reach_the_caller_who_awaits() -> None:
    detector = Detector(OverlapVerifier())
    with pytest.raises(InputError, match="response must be text"):
        asyncio.run(detector.acheck(SOURCE, 5))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="takes pairs"):
        asyncio.run(detector.acheck_many("ab"))  # type: ignore[arg-type]
    assert asyncio.run(detector.acheck_many([])) == []


def test_reports_come_while_pairs_are_still_read() -> None:
    read: list[int] = []

    def pairs() -> Iterator[Pair]:
        for number, pair in enumerate(PAIRS):
            read.append(number)
            yield pair

    reports = Detector(OverlapVerifier()).check_iter(pairs())
    made = [next(reports)]
    assert len(read) == 1
    made.append(next(reports))
    assert len(read) == 3
    made += reports
    assert [report.response for report in made] == [pair.response for pair in PAIRS]
    known = Detector(OverlapVerifier()).check_many(PAIRS)
    assert [untimed(report) for report in made] == [untimed(report) for report in known]


def test_events_of_an_iteration_name_the_pair() -> None:
    numbers: list[int] = []
    detector = Detector(OverlapVerifier())
    pairs = PAIRS[: BLOCK // 8]
    reports = [*detector.check_iter(pairs, observe=lambda event: numbers.append(event.pair))]
    assert len(reports) == len(pairs)
    assert sorted(set(numbers)) == [*range(len(pairs))]


def test_a_record_is_a_pair() -> None:
    detector = Detector(OverlapVerifier())
    question = "What does the kiosk sell?"
    record = {"id": 7, "source": SOURCE, "response": "Maps and tea.", "question": question}
    expected = untimed(detector.check(SOURCE, "Maps and tea.", question=question))
    assert expected.question == question
    assert untimed(detector.check(record)) == expected
    assert [untimed(report) for report in detector.check_many([record, record])] == [expected] * 2
    assert detector.check(record, question="What is sold?").question == "What is sold?"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (({"source": SOURCE},), "a record needs source and response"),
        (({"text": SOURCE},), "a record needs source and response"),
        ((SOURCE,), "response must be text, not NoneType"),
        (({"source": SOURCE, "response": None},), "response must be text, not NoneType"),
    ],
)
def test_what_is_no_record_is_refused(given: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Detector(OverlapVerifier()).check(*given)


def test_many_are_not_one_record() -> None:
    record: Any = {"source": SOURCE, "response": GOOD}
    with pytest.raises(InputError, match="takes pairs of source and response, not dict"):
        Detector(OverlapVerifier()).check_many(record)


def test_a_notebook_shows_the_page_of_a_report_in_a_frame() -> None:
    report = Detector(OverlapVerifier()).check(SOURCE, f"{WRONG} <b onload='x'>\"")
    frames: list[dict[str, str | None]] = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag == "iframe"
            frames.append(dict(attrs))

    Frames().feed(report._repr_html_())
    (frame,) = frames
    assert frame["srcdoc"] == html(report)
    assert frame["sandbox"] == "allow-scripts"
