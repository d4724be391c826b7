"""The end of a command: exit statuses, errors in one line, and Ctrl-C while native code runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

from halldetect.cli.parser import WRONG_USAGE
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import ConfigurationError, HallDetectError, InputError
from halldetect.report import Verdict
from halldetect.report.phrases import one_line

COULD_NOT_CHECK = 3
ABSTAINED = 4
INTERRUPTED = 130
# The worst verdict first.
OF_VERDICT = {
    Verdict.HALLUCINATED: 1,
    Verdict.UNCHECKABLE: COULD_NOT_CHECK,
    Verdict.ABSTAINED: ABSTAINED,
    Verdict.FAITHFUL: 0,
}
_POLL_SECONDS = 0.2

Result = TypeVar("Result")


def worst_status(verdicts: Iterable[Verdict]) -> int:
    """Return the exit status of the worst verdict, or 0 without verdicts."""
    found = set(verdicts)
    return next((status for verdict, status in OF_VERDICT.items() if verdict in found), 0)


def exit_status(command: Callable[[], int]) -> int:
    """Run a command; turn its errors into one line on standard error and an exit status."""
    try:
        return command()
    except (InputError, ConfigurationError) as error:
        return fail(error, WRONG_USAGE)
    except HallDetectError as error:
        return fail(error, COULD_NOT_CHECK)
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get("HALLDETECT_DEBUG"):
            raise
        described = f"{type(error).__name__}: {error} (HALLDETECT_DEBUG=1 shows where)"
        return fail(f"this is a defect of halldetect: {described}", COULD_NOT_CHECK)


def fail(message: object, status: int) -> int:
    """Print an error in one line on standard error; return the exit status."""
    print(f"halldetect: {one_line(str(message))}", file=sys.stderr, flush=True)
    return status


def interruptible(
    work: Callable[[], Result], display: ProgressDisplay, message: str = "interrupted"
) -> Result:
    """Run the work in a thread; on Ctrl-C, print the message and end the process at once.

    A model that generates text swallows KeyboardInterrupt or delays it for minutes; the main
    thread, which only waits, receives it at once.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        # Not Thread.join: after an interrupt it may report the thread as finished.
        while not future.done():
            wait([future], timeout=_POLL_SECONDS)
        return future.result()
    except KeyboardInterrupt:
        if future.done():  # raised by the work
            raise
        display.clear()
        # An orderly exit would wait for the native code, or crash under it.
        os._exit(fail(message, INTERRUPTED))
