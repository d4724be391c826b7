"""The progress display: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import sys

import pytest

from halldetect.cli.exits import fail
from halldetect.cli.progress import ProgressDisplay
from halldetect.machine.clock import duration_text


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("halldetect.cli.progress.monotonic", made)
    return made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressDisplay(quiet=False) as display:
        display.phase("verify", 1, 10)
        assert stream.getvalue() == "", "too early to be read"
        clock.now += 1
        display.phase("verify", 5, 10)
        display.notice("a notice")
        display.update("x" * 90, "", None)
    shown = stream.getvalue().split("\r")
    assert shown[1] == f"{'━' * 14}{'·' * 14} judging claims: 50%\x1b[K"
    assert shown[2] == "\x1b[Khalldetect: a notice\n"
    assert len(shown[3].removesuffix("\x1b[K")) == 59, "cut off at the width"
    assert shown[4] == "\x1b[K", "the bar is removed"


def test_plain_lines_elsewhere_and_nothing_when_quiet(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressDisplay(quiet=False) as display:
        display.phase("verify", 1, 10)
        clock.now += 6
        display.phase("verify", 5, 10)
        display.phase("verify", 6, 10)
    assert capsys.readouterr() == ("", "halldetect: judging claims: 50%, about 8 s left\n")
    with ProgressDisplay(quiet=True) as display:
        clock.now += 60
        display.phase("verify", 5, 10)
        display.download(5, 10, "fetching tiny")
        display.notice("a notice")
    assert capsys.readouterr() == ("", "")


def test_downloads_show_megabytes(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(quiet=False) as display:
        display.download(0, None, "asking the hub for tiny")
        display.download(0, 98_362_432, "fetching tiny from the hub")
        display.download(1_000_000, 98_362_432, "fetching tiny from the hub")
        clock.now += 6
        display.download(49_000_000, 98_362_432, "fetching tiny from the hub")
        clock.now += 6
        display.phase("convert", 400_000_000, 1_351_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "halldetect: asking the hub for tiny",
        "halldetect: fetching tiny from the hub: 98 MB",
        "halldetect: fetching tiny from the hub: 49 MB of 98 MB, about 6 s left",
        "halldetect: converting the verifier: 400 MB of 1,351 MB",
    ]


def test_a_task_that_continues_an_earlier_run(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressDisplay(quiet=False) as display:
        display.update("", "20 rows", 0.2, restart=True)
        display.update("", "30 rows", 0.3, restart=True)
        clock.now += 20
        display.update("", "60 rows, 15 hallucinated", 0.5)
        display.update("", "70 rows", 0.6)
    assert capsys.readouterr().err == ("halldetect: 60 rows, 15 hallucinated, about 50 s left\n")


def test_time_before_a_task_advances_does_not_count(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressDisplay(quiet=False) as display:
        for seconds, done in ((0, 0), (4, 0), (4, 5)):
            clock.now += seconds
            display.phase("verify", done, 10)
    assert capsys.readouterr().err == "halldetect: judging claims: 50%, about 4 s left\n"


def test_end_of_a_task_at_once(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(quiet=False) as display:
        display.update("qags, rouge", "1/2 rows", 0.5)
        display.update("qags, rouge", "2/2 rows", 1.0, at_once=True)
    assert capsys.readouterr().err == "halldetect: qags, rouge: 2/2 rows\n"


def test_durations() -> None:
    assert [duration_text(n) for n in (5, 61, 3_700)] == ["5 s", "1 min 01 s", "1 h 01 min"]


def test_names_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[31m\n::error::b\u202ec"
    with ProgressDisplay(quiet=False) as display:
        display.notice(f"the first bad row: {name}")
    assert fail(f"no row {name}", 2) == 2
    assert capsys.readouterr().err.splitlines() == [
        "halldetect: the first bad row: a␛[31m ::error::b\ufffdc",
        "halldetect: no row a␛[31m ::error::b\ufffdc",
    ]
