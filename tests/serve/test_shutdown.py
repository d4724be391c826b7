"""Several HTTP processes and a signal to stop at the worst moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import uvicorn

from halldetect_serve.shutdown import PromptMultiprocess


class ProcessStub:
    """An HTTP process; `signal_when_asked` is the moment that cannot be hit from outside."""

    pid = 0
    exitcode = None

    def __init__(self, *, signal_when_asked: bool = False) -> None:
        self.signal_when_asked = signal_when_asked
        self.told: list[str] = []

    def is_alive(self, timeout: float) -> bool:
        if self.signal_when_asked:
            os.kill(os.getpid(), signal.SIGTERM)
        return "terminate" not in self.told  # uvicorn asks through a pipe that this closes

    def terminate(self) -> None:
        self.told.append("terminate")

    def kill(self) -> None:
        self.told.append("kill")

    def join(self) -> None:
        self.told.append("join")


@pytest.fixture
def handlers() -> Iterator[None]:
    """The handlers of signals as they were: the supervisor sets its own."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def supervisor(*processes: ProcessStub) -> PromptMultiprocess:
    made = PromptMultiprocess(uvicorn.Config("nothing:app", workers=2), sockets=[])
    made.processes = list(processes)  # type: ignore[arg-type]
    return made


@pytest.mark.usefixtures("handlers")
def test_a_process_that_is_asked_whether_it_lives_is_not_killed_for_stopping() -> None:
    first, second = ProcessStub(signal_when_asked=True), ProcessStub()
    supervisor(first, second).keep_subprocess_alive()
    assert first.told == second.told == ["terminate"]


@pytest.mark.usefixtures("handlers")
def test_who_is_told_to_stop_is_asked_no_more() -> None:
    process = ProcessStub()
    made = supervisor(process)
    os.kill(os.getpid(), signal.SIGTERM)
    assert process.told == ["terminate"], "at once"
    made.keep_subprocess_alive()
    assert set(process.told) == {"terminate"}
    made.handle_signals()
    assert made.should_exit.is_set()
