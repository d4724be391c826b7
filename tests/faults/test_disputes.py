"""Disputes: the documents that are compared with a claim, and the one that is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.faults.disputes import find_disputes
from halldetect.inputs import CleanPair
from halldetect.models.loading import Models
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.reading.reader import Reading
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Evidence, Probabilities, Status
from halldetect.scoring import Calibration, Scored
from halldetect.verification.asking import Asking
from halldetect.verification.judged import Judged
from tests.support.fakes import OverlapVerifier

CLAIM = "The price of a day ticket is 35 euros."
RIGHT, WRONG = "A day ticket costs 35 euros.", "A day ticket costs 42 euros."
OTHER = "A day ticket costs 48 euros."


class Denying(OverlapVerifier):
    """Contradicts every claim."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.append(list(pairs))
        return [Probabilities(0.0, 0.1, 0.9) for _ in pairs]


def disputed(documents: Sequence[str], proof: Evidence) -> tuple[ClaimReport, Denying]:
    """Look for disputes of a claim that a passage supports."""
    report = ClaimReport(CLAIM, None, None, Status.SUPPORTED, None, 0.9, proof=proof)
    pair = CleanPair(tuple(documents), CLAIM, None)
    claims = (Claim(CLAIM, None),)
    reading = Reading(pair, tuple(map(read_source, documents)), claims, (), (), 1)
    item = Scored(Judged(reading, ((),)), (report,), Calibration())
    verifier = Denying()
    ((claim,),) = find_disputes([item], Asking(1), Models(verifier, Calibration(), 0.5))
    return claim, verifier


def passage(document: int, text: str) -> Evidence:
    return Evidence(text, document, Span(0, len(text)))


def test_the_first_document_that_contradicts_is_named() -> None:
    report, verifier = disputed([RIGHT, WRONG, OTHER], passage(0, RIGHT))
    assert [premise for call in verifier.calls for premise, _ in call] == [WRONG, OTHER]
    assert report.against is not None
    assert (report.against.passage.document, report.against.passage.text) == (1, WRONG)


def test_no_document_of_the_proof_disputes_it() -> None:
    together = replace(passage(0, RIGHT), others=(passage(1, WRONG),))
    report, verifier = disputed([RIGHT, WRONG], together)
    assert report.against is None
    assert verifier.calls == []
    report, _ = disputed([RIGHT, WRONG, OTHER], together)
    assert report.against is not None
    assert report.against.passage.document == 2
