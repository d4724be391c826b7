"""The passage that is shown as proof settles the claim by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from halldetect import Detector, render
from halldetect.report import Probabilities, Status
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = (
    "The harbour was dredged in spring. Anna Brandt won the regatta. The weather was fine. "
    "She is a nurse. The prize was a lamp. Nobody was hurt. The band played until late. "
    "The mayor gave a speech. Fireworks ended the evening."
)


class NeedsAll(OverlapVerifier):
    """Entailed where a window has all given phrases, contradicted where it has a `denial`."""

    reads_whole_sources = True

    def __init__(self, *phrases: str, denial: str = "\0") -> None:
        super().__init__()
        self.phrases, self.denial = phrases, denial
        self.judged: list[str] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "needs-all"}

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.judged += [premise for premise, _ in pairs]
        return [
            Probabilities(0.1, 0.0, 0.9)
            if self.denial in premise
            else Probabilities(0.9, 0.1, 0.0)
            if all(phrase in premise for phrase in self.phrases)
            else Probabilities(0.2, 0.8, 0.0)
            for premise, _ in pairs
        ]


@pytest.mark.parametrize(
    ("phrases", "proof"),
    [
        (["regatta"], "Anna Brandt won the regatta."),
        (
            ["regatta", "nurse"],
            "Anna Brandt won the regatta. The weather was fine. She is a nurse.",
        ),
    ],
)
def test_it_is_the_shortest_passage_that_entails_the_claim(phrases: list[str], proof: str) -> None:
    verifier = NeedsAll(*phrases)
    detector = Detector(SentenceExtractor(), verifier, granularities=[1])
    report = detector.check(SOURCE, "The nurse Anna Brandt won the regatta.")
    (claim,) = report.claims
    assert claim.status is Status.SUPPORTED
    assert claim.entailing is not None
    assert claim.entailing.text == SOURCE  # the verdict rests on the whole
    assert claim.proof is not None
    assert claim.evidence == claim.proof
    assert claim.proof.text == proof == claim.proof.span.cut(SOURCE)
    assert claim.proof.probabilities.entailment >= 0.5
    assert report.cost.pairs_judged == len(set(verifier.judged))
    assert proof[:40] in render.terminal(report)


def test_a_contradicted_claim_has_the_passage_that_contradicts_it() -> None:
    verifier = NeedsAll("never", denial="won the regatta")
    detector = Detector(SentenceExtractor(), verifier, granularities=[1])
    (claim,) = detector.check(SOURCE, "Anna Brandt lost the regatta.").claims
    assert claim.status is Status.CONTRADICTED
    assert claim.proof is not None
    assert claim.proof.text == "Anna Brandt won the regatta."
    assert claim.proof.probabilities.contradiction == 0.9


def test_where_nothing_shorter_settles_the_claim_the_window_is_shown() -> None:
    verifier = NeedsAll("harbour", "Fireworks")
    detector = Detector(SentenceExtractor(), verifier, granularities=[1])
    (claim,) = detector.check(SOURCE, "Anna Brandt won the regatta.").claims
    assert claim.status is Status.SUPPORTED
    assert claim.proof is not None
    assert claim.proof.text == SOURCE


def test_a_claim_that_nothing_settles_has_no_proof() -> None:
    detector = Detector(SentenceExtractor(), NeedsAll("never"), granularities=[1])
    (claim,) = detector.check(SOURCE, "Anna Brandt won the regatta.").claims
    assert claim.status is Status.UNSUPPORTED
    assert claim.proof is None


class InContext(NeedsAll):
    """Entailed by a short window alone, contradicted by the whole."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [
            Probabilities(0.05, 0.05, 0.9)
            if len(premise) > len(SOURCE) / 2
            else Probabilities(0.95, 0.05, 0.0)
            for premise, _ in pairs
        ]


def test_for_a_verifier_of_whole_sources_the_whole_decides() -> None:
    detector = Detector(SentenceExtractor(), InContext())
    (claim,) = detector.check(SOURCE, "Anna Brandt won the regatta.").claims
    assert claim.status is Status.CONTRADICTED
    assert claim.support is not None
    assert claim.support < 0.1
    assert claim.contradiction == pytest.approx(0.9)
    assert claim.entailing is not None
    assert claim.entailing.probabilities.entailment == 0.95  # the trail shows both sides
