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
from halldetect_serve.settings import CheckSettings, Limits
from halldetect_serve.worker.detectors import DetectorPoolFactory
from halldetect_serve.worker.process import FAILED, run_worker

log = logging.getLogger("halldetect_serve")
# Seconds before the next start, by the number of starts that failed in a row.
_RESTART_DELAYS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)


class WorkerSupervisor:
    """Starts the worker process, and another one whenever it dies.

    Use it as a context manager: the worker runs inside the `with` block. Its socket lies in a
    folder that only this user can enter.

    Args:
        settings: how texts are checked.
        limits: sizes of the queue and of a batch.
        pool_factory: builds the detectors inside the worker process.
    """

    def __init__(
        self, settings: CheckSettings, limits: Limits, pool_factory: DetectorPoolFactory
    ) -> None:
        self._settings = settings
        self._limits = limits
        self._pool_factory = pool_factory
        self._folder = Path(tempfile.mkdtemp(prefix="halldetect-"))
        self._stopped = Event()
        self._starting = Lock()

    @property
    def socket(self) -> Path:
        """The path of the Unix socket on which the worker listens."""
        return self._folder / "worker.sock"

    @property
    def pid(self) -> int | None:
        """The process id of the current worker."""
        return self._process.pid

    def __enter__(self) -> WorkerSupervisor:
        """Start the worker and wait until it is ready.

        Raises:
            ModelError: if the worker cannot load its models.
        """
        try:
            self._start()
            self._wait_until_ready()
        except BaseException:  # Ctrl-C and SIGTERM too: leave no process and no folder behind
            self._end()
            raise
        self._thread = Thread(target=self._restart_when_it_dies, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker."""
        with self._starting:  # either no other worker is started, or `_end` ends that one
            self._stopped.set()
        self._end()
        self._thread.join(5)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.socket.unlink(missing_ok=True)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=run_worker,
            args=(self.socket, self._settings, self._limits, self._pool_factory, theirs),
            name="halldetect-worker",
            daemon=True,
        )
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        self._connection.close()
        self._process.join(2)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        connection: Connection = self._connection
        wait([connection, self._process.sentinel])
        try:
            state, message = connection.recv() if connection.poll() else (FAILED, "")
        except EOFError:
            state, message = FAILED, ""
        if state == FAILED:
            self._process.join(5)
            raise ModelError(message or "the worker process died while it loaded the models")

    def _restart_when_it_dies(self) -> None:
        failed_starts = 0
        while True:
            self._process.join()
            if self._stopped.is_set():
                return
            status = self._process.exitcode
            log.error("the worker process ended with status %s; starting another", status)
            self._connection.close()
            if self._stopped.wait(_RESTART_DELAYS[min(failed_starts, len(_RESTART_DELAYS) - 1)]):
                return
            with self._starting:
                if self._stopped.is_set():
                    return
                self._start()
            try:
                self._wait_until_ready()
                failed_starts = 0
            except Exception as error:
                if self._stopped.is_set():
                    return
                failed_starts += 1
                log.error("the worker process does not start: %s", error)
