"""Numbers of claims: what makes them unclear, what rescues them, how sure a verifier must be."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from halldetect import Detector, Report
from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from tests.support.fakes import OverlapVerifier


class Scripted(OverlapVerifier):
    """Answers by the hypothesis: the first phrase in it decides, else P(E) is `support`."""

    def __init__(self, support: float, **answers: tuple[str, Probabilities]) -> None:
        super().__init__(512)
        self._support, self._answers = support, tuple(answers.values())

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [self._answer(hypothesis) for _, hypothesis in pairs]

    def _answer(self, hypothesis: str) -> Probabilities:
        usual = Probabilities(self._support, 1.0 - self._support, 0.0)
        return next((given for part, given in self._answers if part in hypothesis), usual)


def check(source: str, response: str, support: float = 0.9, question: str | None = None) -> Report:
    return Detector(Scripted(support)).check(source, response, question=question)


@pytest.mark.parametrize(
    ("numbers", "status"),
    [(13, "unsupported"), (14, "unsupported"), (15, "unclear")],
)
def test_steps_are_tried_among_fourteen_numbers_and_supposed_among_more(
    numbers: int, status: str
) -> None:
    prices = ", ".join(f"the {item} {31 + 2 * at}" for at, item in enumerate("abcdefghijklmno"))
    source = ", ".join(f"Prices in euros: {prices}".split(", ")[:numbers]) + "."
    detector = Detector(Scripted(0.9), calibration=Calibration(supported_above=0.65))
    (claim,) = detector.check(source, "All items together cost 9000 euros.").claims
    assert claim.status == status


def test_a_number_of_a_failing_claim_is_not_said() -> None:
    source = "A ticket costs 40 euros. The fee of a booking is 14 euros."
    report = check(source, "Six tickets cost 290 euros. With the fee that is 304 euros.")
    assert [claim.failing for claim in report.claims] == [True, True]


@pytest.mark.parametrize(("support", "ok"), [(0.96, False), (0.974, False), (0.98, True)])
def test_only_a_very_sure_verifier_outweighs_an_unknown_number(support: float, ok: bool) -> None:
    report = check("The oak desk costs 240.", "The desk costs 250 and is made of oak.", support)
    assert report.ok is ok
