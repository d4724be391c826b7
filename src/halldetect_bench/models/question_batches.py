"""Run work on many rows at the same time, so that their questions reach the model in one batch.

A method is written as if there were one row and one question after the other. Here each row has
a thread of its own. A thread that asks waits until every other thread asks as well or is done;
then all questions go to the model in one batch, in the order of the rows. So the batches depend
on the rows alone, never on how fast a thread is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Any, TypeVar

from halldetect_bench.models.llm import BatchLlm, Question, Reply, TooLong

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_together(
    llm: BatchLlm, items: Sequence[Item], work: Callable[[Item, BatchLlm], Result]
) -> list[Result]:
    """Run `work` on every item, with a model that batches the questions of all items.

    llm: the model to ask. items: the items to work on.
    work: called with an item and the model to ask.
    Returns the results, in order.
    """
    if not items:
        return []
    batcher = _Batcher(llm, len(items))

    def run(place: int) -> Result:
        try:
            return work(items[place], _SharedLlm(llm, batcher, place))
        finally:
            batcher.leave()

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(run, range(len(items))))


class _Batcher:
    def __init__(self, llm: BatchLlm, threads: int) -> None:
        self._llm = llm
        self._threads = threads
        self._questions: dict[int, Sequence[Question]] = {}
        self._answers: dict[int, list[Reply | TooLong] | Exception] = {}
        self._change = Condition()

    def ask(self, place: int, questions: Sequence[Question]) -> list[Reply | TooLong]:
        with self._change:
            self._questions[place] = questions
            self._answer_if_all_wait()
            self._change.wait_for(lambda: place in self._answers)
            answers = self._answers.pop(place)
        if isinstance(answers, Exception):
            raise answers
        return answers

    def leave(self) -> None:
        with self._change:
            self._threads -= 1
            self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        if not self._questions or len(self._questions) < self._threads:
            return
        places = sorted(self._questions)
        try:
            replies = iter(
                self._llm.ask_many(
                    [question for place in places for question in self._questions[place]]
                )
            )
            for place in places:
                self._answers[place] = [next(replies) for _ in self._questions[place]]
        except Exception as error:
            self._answers.update(dict.fromkeys(places, error))
        self._questions.clear()
        self._change.notify_all()


class _SharedLlm(BatchLlm):
    """The model as one thread sees it."""

    def __init__(self, llm: BatchLlm, batcher: _Batcher, place: int) -> None:
        self._llm = llm
        self._batcher = batcher
        self._place = place

    @property
    def description(self) -> dict[str, Any]:
        return self._llm.description

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        return self._batcher.ask(self._place, questions) if questions else []
