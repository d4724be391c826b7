"""Short passages for claims that were judged on whole pages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from halldetect import Detector
from halldetect.report import Probabilities, Status
from tests.support.fakes import OverlapVerifier

SOURCE = (
    "The harbour was dredged in spring. The mill on the Arle was built in 1790. "
    "The weather was fine. Today the mill is a museum. The band played until late."
)
RIGHT = "The mill is a museum today."
WRONG = "The mill on the Arle was built in 1850."


class Whole(OverlapVerifier):
    """Reads whole sources."""

    reads_whole_sources = True


@pytest.fixture
def locator(monkeypatch: pytest.MonkeyPatch) -> OverlapVerifier:
    found = OverlapVerifier()
    monkeypatch.setattr("halldetect.models.verifiers.load_verifier", lambda *_, **__: found)
    return found


def test_smaller_verifier_finds_passages(locator: OverlapVerifier) -> None:
    judge = Whole()
    (claim,) = Detector(judge).check(SOURCE, RIGHT).claims
    assert claim.status is Status.SUPPORTED
    assert claim.proof is not None
    assert claim.proof.text == "Today the mill is a museum."
    assert judge.calls == [[(SOURCE, RIGHT)]]
    assert len(locator.calls) == 1


def test_clear_passage_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clear(OverlapVerifier):
        answer = 0.8

        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            self.calls.append(list(pairs))
            return [Probabilities(value, 1.0 - value, 0.0) for value in [self.answer] * len(pairs)]

    found = Clear()
    monkeypatch.setattr("halldetect.models.verifiers.load_verifier", lambda *_, **__: found)
    for found.answer, asked in ((0.8, 1), (0.79, 2)):
        found.calls.clear()
        (claim,) = Detector(Whole()).check(SOURCE, RIGHT).claims
        assert claim.status is Status.SUPPORTED, "the judge decides"
        assert len(found.calls) == asked


def test_judge_finds_contradicting_passages(locator: OverlapVerifier) -> None:
    judge = Whole()
    (claim,) = Detector(judge).check(SOURCE, WRONG).claims
    assert claim.status is Status.CONTRADICTED
    assert claim.proof is not None
    assert claim.proof.text == "The mill on the Arle was built in 1790."
    assert len(judge.calls) == 2
    assert all(premise != SOURCE for premise, _ in judge.calls[1])


def test_contradicting_passage_is_preferred_to_a_likelier_one(locator: OverlapVerifier) -> None:
    class Strict(Whole):
        def _judge(self, premise: str, hypothesis: str) -> Probabilities:
            alone = premise in (SOURCE, "The mill on the Arle was built in 1790.")
            return Probabilities(0.0, 0.1, 0.9) if alone else Probabilities(0.4, 0.6, 0.0)

    (claim,) = Detector(Strict()).check(SOURCE, WRONG).claims
    assert claim.status is Status.CONTRADICTED
    assert claim.proof is not None
    assert claim.proof.text == "The mill on the Arle was built in 1790."


def test_unclear_passage_is_not_shown_for_its_shortness(locator: OverlapVerifier) -> None:
    class Careful(Whole):
        def _judge(self, premise: str, hypothesis: str) -> Probabilities:
            sure = 0.6 if premise.count(".") == 1 else 0.9
            return Probabilities(0.0, 1.0 - sure, sure)

    (claim,) = Detector(Careful()).check(SOURCE, WRONG).claims
    assert claim.proof is not None
    assert len(claim.proof.text) > len("The mill on the Arle was built in 1790.")


def test_copy_has_its_passage(locator: OverlapVerifier) -> None:
    (claim,) = Detector(Whole()).check(SOURCE, "The weather was fine.").claims
    assert claim.proof is not None
    assert claim.proof.text == "The weather was fine."
    assert locator.calls == []


def test_passages_of_two_documents_settle_together(locator: OverlapVerifier) -> None:
    documents = [SOURCE, "The bridge at Stoke opened in 1802. It has three arches."]
    both = "The mill on the Arle was built in 1790, the bridge at Stoke opened in 1802."
    report = Detector(Whole()).check(documents, both)
    (claim,) = report.claims
    assert claim.status is Status.SUPPORTED
    assert [passage.document for passage in claim.passages] == [0, 1]
    for passage in claim.passages:
        assert passage.text == passage.span.cut(documents[passage.document])
    assert type(report).from_json(report.to_json()) == report
