"""The four cases that every adapter is held to, and what an adapter makes of one."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect import Detector
from tests.support.fakes import OverlapVerifier

SOURCE = "The boat leaves at 6. A ticket costs 4 euros."
QUESTION = "What does the timetable say?"


@dataclass(frozen=True)
class Case:
    """A response, its sources, and what has to come out of them.

    passed  True, False, or None where nothing may be called passed
    reason  texts that the reason has to contain
    """

    name: str
    sources: tuple[str, ...]
    response: str
    passed: bool | None
    reason: tuple[str, ...]


CASES = (
    Case("supported", (SOURCE, "It is blue."), "A ticket costs 4 euros.", True, ()),
    Case(
        "contradicted",
        (SOURCE, "It is blue."),
        "A ticket costs 4 euros. The boat leaves at 9.",
        False,
        ("contradicted", "The boat leaves at 9.", "The boat leaves at 6."),
    ),
    Case(
        "unsupported",
        (SOURCE,),
        "Dogs are welcome on board.",
        False,
        ("unsupported", "Dogs are welcome on board."),
    ),
    Case("uncheckable", (" ",), "A ticket costs 4 euros.", None, ("the source has no text",)),
)


@dataclass(frozen=True)
class Finding:
    """What the framework says in the end.

    passed  whether it counts the case as passed; None if it counts it as not scored, invalid or
            an error of its own
    reason  what it tells a person; None where the framework has no place for it
    """

    passed: bool | None
    reason: str | None


def detector() -> Detector:
    """A detector on plain functions of the words: the verdict is not the point here."""
    return Detector(OverlapVerifier())
