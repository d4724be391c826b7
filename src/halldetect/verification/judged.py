"""From a `Reading` to `Judged`: the verifier's answers for its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from halldetect.protocols import Verifier
from halldetect.reading.reader import Reading
from halldetect.verification.asking import Answer, Asking
from halldetect.verification.judging import Enough, Judgement, Settled
from halldetect.verification.windows import Task

# Tells whether an answer leaves a claim (response, claim) without support.
Fails = Callable[[int, int, Judgement], bool]


@dataclass(frozen=True, slots=True)
class Judged:
    """The answers for the claims of a response.

    A claim with a problem has none. One that fails as written has a second answer if it refers to
    something: for the statement with its references in words.
    """

    reading: Reading
    answers: tuple[tuple[Answer, ...], ...]


def judge(
    readings: Sequence[Reading],
    verifier: Verifier,
    asking: Asking,
    enough: Enough,
    fails: Fails,
    settled: Settled,
) -> list[Judged]:
    """Judge each claim unchanged, and a failing one again with its references resolved.

    `settled` receives response, claim and answer once a claim needs no more windows.
    """
    answers: list[list[list[Answer]]] = [[[] for _ in reading.claims] for reading in readings]

    def ask(statements: Sequence[Mapping[int, str]], settled: Settled | None = None) -> None:
        tasks = [
            Task(tuple(chosen.values()), reading.documents, reading.pair.document_names)
            for reading, chosen in zip(readings, statements, strict=True)
        ]
        judged = asking.ask(verifier, tasks, enough, settled)
        for own, chosen, judgements in zip(answers, statements, judged, strict=True):
            for (at, statement), judgement in zip(chosen.items(), judgements, strict=True):
                own[at].append(Answer(statement, judgement))

    written = [
        {at: claim.text for at, claim in enumerate(reading.claims) if claim.problem is None}
        for reading in readings
    ]
    ask(written, lambda task, place, found: settled(task, [*written[task]][place], found))
    resolved = [
        {
            at: claim.read_as
            for at, claim in enumerate(reading.claims)
            if claim.read_as and own[at] and fails(number, at, own[at][0].judgement)
        }
        for number, (reading, own) in enumerate(zip(readings, answers, strict=True))
    ]
    if any(resolved):
        ask(resolved)
    return [
        Judged(reading, tuple(map(tuple, own)))
        for reading, own in zip(readings, answers, strict=True)
    ]
