"""Check parts in worker processes beside the one process that uses the GPU.

A GPU judges faster than one process can read and explain. So every worker reads, tokenises,
explains and writes parts of its own, and asks this process for the numbers of the model only. Here
two threads answer: while the GPU computes for one, the other packs what further workers ask for.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from halldetect.batch.job import HOW_TO_RESUME, Part
from halldetect.detector import Detector
from halldetect.errors import CheckError, HallDetectError, InputError, ModelError, described
from halldetect.machine.devices import on_gpu, physical_cores

# Threads that answer, and about how many pairs a worker asks for at once. Enough workers are
# answered together to fill `pairs_at_once` of the verifier.
_THREADS, _PAIRS = 2, 64
_ENDED = "a worker process ended early"

# What a worker sends, with its content: a question to the model, or the result of its part.
_QUESTION, _RESULT = "question", "result"

Check = Callable[[Part], Any]  # checks and writes a part


def worker_count(detector: Detector) -> int:
    """Return the number of workers for a detector: none unless its only verifier is on a GPU.

    Workers are forked, since everything is loaded then; runtimes on a CPU do not survive that.
    """
    if sys.platform != "linux" or detector.configuration.paper:
        return 0
    models = detector.models
    others = (models.second, models.knowledge, models.locator)
    fits = all(item in (None, models.verifier) for item in others)
    if not (fits and hasattr(models.verifier, "compute") and on_gpu(models.verifier.description)):
        return 0
    return (detector.configuration.threads or physical_cores()) - 1


def sendable(error: HallDetectError) -> HallDetectError:
    """Return an error that another process can read: not every class can be sent."""
    return (InputError if isinstance(error, InputError) else CheckError)(str(error))


def check_in_workers(
    verifier: Any, parts: Iterable[Part], check: Check, count: int
) -> Generator[Any, None, None]:
    """Yield what copies of `check` in `count` workers return for the parts, in any order.

    In the workers, `verifier.compute` asks this process.
    """
    pool = _Pool(verifier, check, count)
    try:
        for part in parts:
            if not pool.free:
                yield pool.result()
            pool.give(part)
        for _ in range(count - len(pool.free)):
            yield pool.result()
    finally:
        pool.end()


class _Pool:
    """Worker processes, each with a pipe for its parts, their results, and its questions."""

    def __init__(self, verifier: Any, check: Check, count: int) -> None:
        self.free: list[Connection] = []
        self._open: list[Connection] = []
        self._processes: list[Any] = []
        self._results: SimpleQueue[tuple[Connection, Any]] = SimpleQueue()
        self._compute = verifier.compute
        self._together = max(1, verifier.pairs_at_once // _PAIRS)
        self._lock = Lock()
        context = get_context("fork")
        gc.freeze()  # a worker that collected a session of here would wait for threads of here
        with warnings.catch_warnings():
            # Other threads of this process may hold locks, but none that a worker needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(count):
                here, there = context.Pipe()
                self._open.append(here)
                given = (verifier, check, there, [*self._open])
                self._processes.append(context.Process(target=_work, args=given, daemon=True))
                self._processes[-1].start()
                there.close()  # so that the end of the worker ends the pipe
        gc.unfreeze()
        self.free += self._open
        self._threads = [Thread(target=self._answer, daemon=True) for _ in range(_THREADS)]
        for thread in self._threads:
            thread.start()

    def give(self, part: Part) -> None:
        """Send a part to a worker that is free."""
        with suppress(OSError):  # it has ended, and this is its result
            self.free.pop().send(part)

    def result(self) -> Any:
        """Return the result of a worker, which is free then."""
        worker, found = self._results.get()
        if isinstance(found, HallDetectError):
            raise found
        self.free.append(worker)
        return found

    def end(self) -> None:
        """End the workers, also those with a part in hand; then nothing more is asked."""
        for process in self._processes:
            process.terminate()
            process.join()
        for thread in self._threads:
            thread.join()

    def _answer(self) -> None:
        """Answer questions, those of several workers at once, until no worker is left."""
        while asked := self._next_questions():
            items = [item for _, given in asked for item in given]
            try:
                answers: Any = self._compute(items)
            except Exception as error:
                answers = error if isinstance(error, ModelError) else ModelError(described(error))
            failed, end = isinstance(answers, ModelError), 0
            for worker, given in asked:
                start, end = end, end + len(given)
                with suppress(OSError):  # it has ended
                    worker.send(sendable(answers) if failed else answers[start:end])

    def _next_questions(self) -> list[tuple[Connection, Sequence[Any]]]:
        """Return questions with the pipes of their workers; none if all workers have ended."""
        with self._lock:
            asked: list[tuple[Connection, Sequence[Any]]] = []
            while self._open and not asked:
                for pipe in wait(self._open)[: self._together]:
                    assert isinstance(pipe, Connection)
                    try:
                        kind, content = pipe.recv()
                    except (EOFError, OSError):
                        self._open.remove(pipe)
                        kind, content = _RESULT, CheckError(f"{_ENDED}; {HOW_TO_RESUME}")
                    if kind == _RESULT:
                        self._results.put((pipe, content))
                    else:
                        asked.append((pipe, content))
            return asked


def _work(verifier: Any, check: Check, pipe: Connection, others: Iterable[Connection]) -> None:
    """Check parts until the other process ends; called in a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads did not survive the fork
    for other in others:  # so that the end of the other process ends the pipes
        other.close()

    def ask(items: Sequence[Any]) -> Any:
        try:
            pipe.send((_QUESTION, items))
            found = pipe.recv()
        except (EOFError, OSError):
            os._exit(1)  # an error would become the reason of a report
        if isinstance(found, HallDetectError):
            raise found
        return found

    verifier.compute = ask
    while True:
        try:
            part = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result = check(part)
        except HallDetectError as error:
            result = sendable(error)
        pipe.send((_RESULT, result))
