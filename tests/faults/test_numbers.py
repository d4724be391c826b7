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


@pytest.mark.parametrize("more", ["", " in total"])
def test_a_contradicted_claim_is_not_rescued_by_a_chance_step(more: str) -> None:
    source = "The shop has 25 bikes and 5 cars. It opened 30 years ago."
    denied = Probabilities(0.0, 0.1, 0.9)
    verifier = Scripted(0.9, said=("has 30 bikes", denied))
    (claim,) = Detector(verifier).check(source, f"The shop has 30 bikes{more}.").claims
    assert (claim.status, claim.derived) == ("contradicted", ())
    unsure = Scripted(0.9, said=("has 30 bikes", Probabilities(0.1, 0.9, 0.0)))
    (claim,) = Detector(unsure).check(source, "The shop has 30 bikes.").claims
    assert claim.status == "supported", "the step is there for a claim that is not denied"


def test_a_number_may_follow_from_one_that_was_said_before() -> None:
    source = "A ticket costs 40 euros. The fee of a booking is 14 euros."
    asked = "How much do six tickets cost with the fee?"
    report = check(
        source, "Six tickets cost 240 euros. With the fee that is 254 euros.", 0.9, asked
    )
    assert [claim.derived for claim in report.claims] == [
        ("240 euros = Six x 40 euros",),
        ("254 euros = 240 euros + 14 euros",),
    ]
    alone = check(source, "With the fee that is 254 euros.", 0.9, asked)
    assert [word.words for word in alone.claims[0].wrong] == ["254 euros"]


def test_a_number_of_a_failing_claim_is_not_said() -> None:
    source = "A ticket costs 40 euros. The fee of a booking is 14 euros."
    report = check(source, "Six tickets cost 290 euros. With the fee that is 304 euros.")
    assert [claim.failing for claim in report.claims] == [True, True]


@pytest.mark.parametrize(("support", "ok"), [(0.96, False), (0.974, False), (0.98, True)])
def test_only_a_very_sure_verifier_outweighs_an_unknown_number(support: float, ok: bool) -> None:
    report = check("The oak desk costs 240.", "The desk costs 250 and is made of oak.", support)
    assert report.ok is ok


@pytest.mark.parametrize(("counted", "steps"), [("cars", ("12 = 7 + 5",)), ("offices", ())])
def test_numbers_of_two_sentences_are_added_if_they_count_the_same(
    counted: str, steps: tuple[str, ...]
) -> None:
    source = f"The firm has 7 cars in Oslo. In Bergen it has 5 {counted}."
    (claim,) = check(source, "In all the firm has 12 cars.").claims
    assert (claim.derived, claim.failing) == (steps, not steps)
