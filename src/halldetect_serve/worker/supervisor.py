"""Keeps the worker process running and forwards its messages."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from halldetect.errors import ModelError
from halldetect_serve.settings import CheckSettings
from halldetect_serve.worker.process import FAILED, DetectorPoolFactory, run_worker
from halldetect_serve.worker.scheduler import Scheduler

log = logging.getLogger("halldetect_serve")
# Seconds before the next start, by the number of failed starts in a row.
_RESTART_DELAYS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)


class WorkerSupervisor:
    """Runs the worker inside a `with` block, and another one whenever it dies."""

    _connection: Connection

    def __init__(self, settings: CheckSettings, pool_factory: DetectorPoolFactory) -> None:
        self._settings = settings
        self._pool_factory = pool_factory
        self._outbox: SimpleQueue[tuple[Connection, Any] | None] = SimpleQueue()
        self._stopped = Event()
        self._starting = Lock()

    def __enter__(self) -> WorkerSupervisor:
        """Start the worker and wait until it is ready; raise ModelError if it cannot be."""
        try:
            self._start()
            self._wait_until_ready()
        except BaseException:  # also Ctrl-C and SIGTERM: leave no process behind
            self._end()
            raise
        Thread(target=self._carry_out, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker."""
        with self._starting:  # either no other worker starts, or `_end` ends it
            self._stopped.set()
        self._outbox.put(None)
        self._end()

    def attach(self, scheduler: Scheduler) -> None:
        """Forward the messages of the worker to a scheduler, in the running event loop."""
        loop = asyncio.get_running_loop()

        def call(method: Any, *arguments: Any) -> None:
            if not self._stopped.is_set() and not loop.is_closed():
                loop.call_soon_threadsafe(method, *arguments)

        scheduler.on_ready()
        Thread(target=self._carry_in, args=(scheduler, call), daemon=True).start()

    def send(self, message: Any) -> None:
        """Send a message to the current worker from a thread, because sending may block."""
        self._outbox.put((self._connection, message))

    def _carry_out(self) -> None:
        while (item := self._outbox.get()) is not None:
            connection, message = item
            with suppress(OSError):  # the worker has died; the other thread notices
                connection.send(message)

    def _carry_in(self, scheduler: Scheduler, call: Any) -> None:
        while True:
            try:
                call(scheduler.on_message, self._connection.recv())
            except (EOFError, OSError):
                call(scheduler.on_died)
                if not self._restart():
                    return
                call(scheduler.on_ready)

    def _restart(self) -> bool:
        """Start workers until one is ready; return False if the service has stopped."""
        failed_starts = 0
        while not self._stopped.is_set():
            self._process.join()
            status = self._process.exitcode
            log.error("the worker process ended with status %s; starting another", status)
            delay = _RESTART_DELAYS[min(failed_starts, len(_RESTART_DELAYS) - 1)]
            self._stopped.wait(delay)
            with self._starting:
                if self._stopped.is_set():
                    break
                self._start()
            try:
                self._wait_until_ready()
                return True
            except (ModelError, OSError) as error:
                failed_starts += 1
                log.error("the worker process does not start: %s", error)
        return False

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=run_worker,
            args=(self._settings, self._pool_factory, theirs),
            name="halldetect-worker",
            daemon=True,
        )
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        with suppress(OSError):
            self._connection.send(None)
        self._process.join(2)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _wait_until_ready(self) -> None:
        try:
            state, message = self._connection.recv()
        except (EOFError, OSError):
            state, message = FAILED, ""
        if state == FAILED:
            self._process.join(5)
            raise ModelError(message or "the worker process died while it loaded the models")
