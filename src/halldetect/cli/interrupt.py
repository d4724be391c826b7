"""Ctrl-C while native code runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from halldetect.cli.exits import INTERRUPTED
from halldetect.cli.screen import Screen

Result = TypeVar("Result")


def interruptible(work: Callable[[], Result], screen: Screen) -> Result:
    """Do the work in a thread that can be left behind.

    A model generating text swallows KeyboardInterrupt or holds it back for minutes; the main
    thread, doing nothing, gets it at once.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    worker = Thread(target=run, daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(0.2)
    except KeyboardInterrupt:
        screen.wipe()
        print("halldetect: interrupted", file=sys.stderr, flush=True)
        # An orderly exit would wait for the native code, or crash under it.
        os._exit(INTERRUPTED)
    return future.result()
