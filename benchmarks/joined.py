"""Many jobs at once, each written as if it were alone, whose requests are answered in batches.

A repair asks a verifier and a language model a few questions at a time, which leaves a GPU idle.
Here every job runs in a thread of its own; as soon as all of them wait for an answer, the
requests of each kind are answered together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

Answer = Callable[[list[Any]], Sequence[Any]]


@dataclass(eq=False, slots=True)
class _Request:
    kind: str
    content: Any
    answer: Any = None
    error: Exception | None = None
    answered: bool = False


@dataclass(slots=True)
class Joined:
    """Runs jobs and answers their requests.

    answers  for each kind of request, a function from all requests of that kind to their answers
    """

    answers: Mapping[str, Answer]
    _changed: Condition = field(default_factory=Condition)
    _waiting: list[_Request] = field(default_factory=list)
    _running: int = 0

    def ask(self, kind: str, content: Any) -> Any:
        """The answer to a request; only jobs may ask.

        kind     a key of `answers`
        content  what the function gets in its list
        """
        request = _Request(kind, content)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify_all()
            self._changed.wait_for(lambda: request.answered)
        if request.error is not None:
            raise request.error
        return request.answer

    def run(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """The results of the jobs, in order; an error of a job is raised once all have ended.

        jobs  functions that may call `ask`
        """
        results: list[Any] = [None] * len(jobs)
        errors: list[Exception] = []

        def work(at: int) -> None:
            try:
                results[at] = jobs[at]()
            except Exception as error:
                errors.append(error)
            finally:
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

        self._running = len(jobs)
        threads = [Thread(target=work, args=(at,)) for at in range(len(jobs))]
        for thread in threads:
            thread.start()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._waiting) == self._running)
                if not self._running:
                    break
                requests, self._waiting = self._waiting, []
            self._answer(requests)
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results

    def _answer(self, requests: list[_Request]) -> None:
        for kind in dict.fromkeys(request.kind for request in requests):
            group = [request for request in requests if request.kind == kind]
            try:
                found = self.answers[kind]([request.content for request in group])
                for request, answer in zip(group, found, strict=True):
                    request.answer = answer
            except Exception as error:
                for request in group:
                    request.error = error
        with self._changed:
            for request in requests:
                request.answered = True
            self._changed.notify_all()
