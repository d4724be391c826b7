"""Work on many rows at the same time, so that their questions reach the model together.

A method is written as if there were one row and one question after the other. Here each row
has a thread of its own, and a thread that asks is held until every other one asks as well or
is done: then all questions go to the model in one go, in the order of the rows. So what is
asked together depends on the rows alone, never on how fast a thread is.
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
    """`work` on every item, each with a model to ask that is shared with the others."""
    if not items:
        return []
    meeting = _Meeting(llm, len(items))

    def one(place: int) -> Result:
        try:
            return work(items[place], _Seat(llm, meeting, place))
        finally:
            meeting.leave()

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(one, range(len(items))))


class _Meeting:
    def __init__(self, llm: BatchLlm, seats: int) -> None:
        self._llm = llm
        self._seats = seats
        self._asked: dict[int, Sequence[Question]] = {}
        self._told: dict[int, list[Reply | TooLong] | Exception] = {}
        self._change = Condition()

    def ask(self, place: int, questions: Sequence[Question]) -> list[Reply | TooLong]:
        with self._change:
            self._asked[place] = questions
            self._answer_if_all_wait()
            self._change.wait_for(lambda: place in self._told)
            told = self._told.pop(place)
        if isinstance(told, Exception):
            raise told
        return told

    def leave(self) -> None:
        with self._change:
            self._seats -= 1
            self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        if not self._asked or len(self._asked) < self._seats:
            return
        places = sorted(self._asked)
        try:
            replies = iter(
                self._llm.ask_many([one for place in places for one in self._asked[place]])
            )
            for place in places:
                self._told[place] = [next(replies) for _ in self._asked[place]]
        except Exception as error:
            self._told.update(dict.fromkeys(places, error))
        self._asked.clear()
        self._change.notify_all()


class _Seat(BatchLlm):
    """The model as one of the threads sees it."""

    def __init__(self, llm: BatchLlm, meeting: _Meeting, place: int) -> None:
        self._llm = llm
        self._meeting = meeting
        self._place = place

    @property
    def description(self) -> dict[str, Any]:
        return self._llm.description

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        return self._meeting.ask(self._place, questions) if questions else []
