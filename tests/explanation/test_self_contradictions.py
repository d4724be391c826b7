"""Claims that contradict another claim of their response: by rule, confirmed by a verifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase as ALPHABET

import pytest

from halldetect import Detector, render
from halldetect.claims import Claim
from halldetect.explanation import self_contradictions
from halldetect.explanation.self_contradictions import confirm, find_conflicts
from halldetect.report import ErrorKind, ErrorReport, Probabilities, Report

SOURCE = "The old mill of Kell stands by the river. Bicycles travel free of charge."
TALL = "The tower of Kell is 40 metres tall."
TALLER = "The tower of Kell is 45 metres tall."


class Contradicts:
    """A verifier that supports what stands in the source; numbers that differ contradict."""

    description = {"name": "fake-numbers"}  # noqa: RUF012
    max_tokens = 512

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.asked += pairs
        return [self._answer(*pair) for pair in pairs]

    def _answer(self, source: str, claim: str) -> Probabilities:
        if claim in source:
            return Probabilities(1.0, 0.0, 0.0)
        against = sorted((source, claim)) == sorted((TALL, TALLER))
        return Probabilities(0.0, 0.0, 1.0) if against else Probabilities(0.0, 1.0, 0.0)


def check(source: str, response: str) -> tuple[Report, Contradicts]:
    verifier = Contradicts()
    return Detector(verifier=verifier).check(source, response), verifier


def test_a_claim_that_says_otherwise_elsewhere() -> None:
    report, _ = check(SOURCE, f"{TALL} Bicycles travel free of charge. {TALLER}")
    first, _, last = report.claims
    assert last.error is not None
    assert (last.error.kind, last.error.claim_words) == (ErrorKind.SELF, "45")
    assert last.error.source_words == TALL
    assert first.error is not None
    assert first.error.source_words == TALLER
    assert Report.from_json(report.to_json()) == report
    shown = render.terminal(report, width=200, color=False)
    assert f"Contradicts itself: “45”, elsewhere in the response “{TALL}”" in shown


def test_what_the_source_says_otherwise_comes_first() -> None:
    report, verifier = check(TALL, f"{TALL} {TALLER}")
    right, wrong = report.claims
    assert right.error is None
    assert wrong.error is not None
    assert (wrong.error.kind, wrong.error.source_words) == (ErrorKind.NUMBER, "40")
    assert (TALLER, TALL) not in verifier.asked


def test_claims_that_the_source_supports_are_not_compared() -> None:
    report, verifier = check(f"{TALL} {TALLER}", f"{TALL} {TALLER}")
    assert [claim.error for claim in report.claims] == [None, None]
    assert (TALLER, TALL) not in verifier.asked


def test_both_directions_must_contradict() -> None:
    class OneWay(Contradicts):
        def _answer(self, source: str, claim: str) -> Probabilities:
            against = (source, claim) == (TALL, TALLER)
            return Probabilities(0.0, 0.0, 1.0) if against else Probabilities(0.0, 1.0, 0.0)

    claims = [Claim(TALL, None, "none"), Claim(TALLER, None, "none")]
    (conflict,) = find_conflicts([TALL, TALLER], [1])
    ((error, judged),) = confirm([(claims, conflict)], OneWay())
    assert error is None
    assert (len(judged.windows), judged.tokens) == (2, 32)


def test_a_verifier_without_contradiction_says_nothing() -> None:
    class TwoWay(Contradicts):
        def _answer(self, source: str, claim: str) -> Probabilities:
            return Probabilities(0.0, 1.0, None)

    report = Detector(verifier=TwoWay()).check(SOURCE, f"{TALL} {TALLER}")
    assert ErrorKind.SELF not in {claim.error.kind for claim in report.claims if claim.error}


@pytest.mark.parametrize(
    ("claim", "other", "words"),
    [
        (TALLER, TALL, "45"),
        ("The bridge opened in 1999.", "The bridge opened in 1989.", "1999"),
        ("The lift is not working.", "The lift is working.", "not"),
        ("Sales rose in the north.", "Sales fell in the north.", "rose"),
    ],
)
def test_a_single_difference_is_a_conflict(claim: str, other: str, words: str) -> None:
    (found,) = find_conflicts([other, claim], [1])
    assert (found.claim, found.other, found.claim_words) == (1, 0, words)


@pytest.mark.parametrize(
    ("claim", "other"),
    [
        (TALL, TALL),
        ("In May the shop sold 40 bicycles.", "In June the shop sold 50 bicycles."),
        ("The tower is 45 metres tall.", "The old mill by the river has 40 windows."),
        ("Ann Holm is the captain of the ferry.", "Olaf Berg is the captain of the ferry."),
        ("Shelf 4 of the library holds 12 books.", "Shelf 5 of the library holds 15 books."),
    ],
)
def test_other_differences_are_none(claim: str, other: str) -> None:
    assert list(find_conflicts([other, claim], [1])) == []


def test_the_settings_of_the_paper_judge_nothing_more() -> None:
    verifier = Contradicts()
    detector = Detector(verifier=verifier, truncate=True)
    detector.check(SOURCE, f"{TALL} {TALLER}")
    assert (TALLER, TALL) not in verifier.asked


def test_many_claims_that_are_alike_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(claim: str, source: str, *, contradicted: bool) -> Iterator[ErrorReport]:
        calls.append(claim)
        return iter(())

    monkeypatch.setattr(self_contradictions, "error_candidates", counted)
    assert list(find_conflicts([TALL] * 400, range(400))) == []
    assert calls == []
    rows = [f"Row {letter * 3} of the table says that the lift works." for letter in ALPHABET]
    assert list(find_conflicts(rows, range(len(rows)))) == []
    assert len(calls) == 3 * len(rows)
