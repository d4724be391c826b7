"""Keeps the worker process running."""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import tempfile
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Event, Lock, Thread

from halldetect.errors import ModelError
from halldetect.serve.settings import CheckSettings, Limits
from halldetect.serve.worker.detectors import Builder
from halldetect.serve.worker.process import FAILED, work

log = logging.getLogger("halldetect.serve")
_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)


class WorkerSupervisor:
    """Starts the worker, and another whenever it dies, later and later if it dies at once.

    A context: the worker runs inside it. Its socket lies in a folder only this user can enter.
    """

    def __init__(self, checking: CheckSettings, limits: Limits, builder: Builder) -> None:
        self._checking = checking
        self._limits = limits
        self._builder = builder
        self._folder = Path(tempfile.mkdtemp(prefix="halldetect-"))
        self._ended = Event()
        self._starting = Lock()
        self.restarts = 0

    @property
    def socket(self) -> Path:
        return self._folder / "worker.sock"

    def __enter__(self) -> WorkerSupervisor:
        try:
            self._start()
            self._await_ready()
        except BaseException:  # Ctrl-C and SIGTERM too: nothing may stay behind
            self._end()
            raise
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._starting:  # either no further worker is started, or this one ends it
            self._ended.set()
        self._end()
        self._thread.join(5)

    def _end(self) -> None:
        self._lifeline.close()
        self._process.join(2)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.socket.unlink(missing_ok=True)
        self._lifeline, theirs = context.Pipe()
        self._process = context.Process(
            target=work,
            args=(self.socket, self._checking, self._limits, self._builder, theirs),
            name="halldetect-worker",
            daemon=True,
        )
        self._process.start()
        theirs.close()

    def _await_ready(self) -> None:
        """Raises ModelError with the worker's own words if it cannot load its models."""
        lifeline: Connection = self._lifeline
        wait([lifeline, self._process.sentinel])
        try:
            state, line = lifeline.recv() if lifeline.poll() else (FAILED, "")
        except EOFError:
            state, line = FAILED, ""
        if state == FAILED:
            self._process.join(5)
            raise ModelError(line or "the worker process died while it loaded the models")

    def _watch(self) -> None:
        quick = 0
        while True:
            self._process.join()
            if self._ended.is_set():
                return
            self.restarts += 1
            log.error(
                "the worker process ended with status %s; starting another",
                self._process.exitcode,
            )
            self._lifeline.close()
            if self._ended.wait(_PAUSES[min(quick, len(_PAUSES) - 1)]):
                return
            with self._starting:
                if self._ended.is_set():
                    return
                self._start()
            try:
                self._await_ready()
                quick = 0
            except Exception as error:
                if self._ended.is_set():
                    return
                quick += 1
                log.error("the worker process does not start: %s", error)
