"""`--verifier auto`: the second verifier judges where the first is unsure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from halldetect import Detector
from halldetect.errors import ModelError
from halldetect.protocols import ClaimSettled, Event
from halldetect.report import ClaimReport, Probabilities, Status
from halldetect.verification.cascade import is_unsure
from tests.support.fakes import OverlapVerifier

SOURCE = "In May the pump was repaired. In June the valve was replaced."


class Fixed(OverlapVerifier):
    """Gives every pair the same P(E), but 0.99 to pumps."""

    def __init__(self, name: str, entailment: float) -> None:
        super().__init__()
        self.name, self.entailment = name, entailment
        self.claims: list[str] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name, "digest": self.name * 2}

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.claims += [claim for _, claim in pairs]
        values = [0.99 if "pump" in claim else self.entailment for _, claim in pairs]
        return [Probabilities(value, 1.0 - value, 0.0) for value in values]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[Fixed, Fixed]:
    first, second = Fixed("base", 0.6), Fixed("large", 0.02)
    monkeypatch.setattr(
        "halldetect.models.verifiers.load_verifier",
        lambda spec, **_: {None: first, "base": first, "large": second}[spec],
    )
    return first, second


def test_unclear_response_is_judged_again(both: tuple[Fixed, Fixed]) -> None:
    seen: list[Event] = []
    sure, unsure = Detector("auto").check_many(
        [
            (SOURCE, "The pump was repaired in May."),
            (SOURCE, "The pump was repaired in May. The valve was replaced in June."),
        ],
        observe=seen.append,
    )
    assert sure.provenance.verifier["name"] == "base"
    assert sure.ok
    assert unsure.provenance.verifier["name"] == "large"
    assert [claim.status for claim in unsure.claims] == [Status.SUPPORTED, Status.UNSUPPORTED]
    note = "base was unsure of a claim: the second verifier judged again"
    assert note in unsure.provenance.notes
    assert not any("unsure" in note for note in sure.provenance.notes)
    assert unsure.cost.verifier_tokens > sure.cost.verifier_tokens
    assert unsure.provenance.configuration["verifier"] == "auto"
    assert unsure.provenance.verifier["digest"] == "largelarge"
    assert set(both[1].claims) == {claim.text for claim in unsure.claims}
    last: dict[tuple[int, int], ClaimReport] = {
        (event.pair, event.index): event.claim for event in seen if isinstance(event, ClaimSettled)
    }
    assert [last[1, 0], last[1, 1]] == list(unsure.claims)


def test_time_of_both_verifiers_counts(
    both: tuple[Fixed, Fixed], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = both[0].judge

    def slowly(pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        time.sleep(0.05)
        return judge(pairs)

    monkeypatch.setattr(both[0], "judge", slowly)
    report = Detector("auto").check(SOURCE, "The valve was replaced in June.")
    assert report.provenance.verifier["name"] == "large"
    assert report.cost.seconds["verify"] >= 0.05


def test_statements_have_the_language_of_their_source(
    both: tuple[Fixed, Fixed], monkeypatch: pytest.MonkeyPatch
) -> None:
    languages = {"base": ["en"], "large": ["en", "de"]}
    monkeypatch.setattr(
        Fixed,
        "description",
        property(lambda self: {"name": self.name, "languages": languages[self.name]}),
    )
    ((claim,),) = Detector("auto").judge([(SOURCE, ["The pump was repaired in May."])])
    assert claim.status is Status.SUPPORTED
    assert both[0].claims
    assert both[1].claims == []


def test_report_can_be_replayed(both: tuple[Fixed, Fixed]) -> None:
    report = Detector("auto").check(SOURCE, "The valve was replaced in June.")
    again = Detector.from_provenance(report)
    found = again.check(SOURCE, "The valve was replaced in June.")
    assert found.claims == report.claims
    both[1].name = "other"
    with pytest.raises(ModelError, match="another verifier"):
        Detector.from_provenance(report)


@pytest.mark.parametrize(
    ("supports", "unsure"),
    [
        ([0.95], False), ([0.95, 0.02], False), ([0.95, 0.5], True), ([0.4, 0.6], True),
        ([None], True), ([0.95, None], True), ([], False),
        ([0.7], False), ([0.69], True), ([0.23], True), ([0.22], False),
    ],
)  # fmt: skip
def test_second_verifier_is_asked_near_the_threshold(
    supports: list[float | None], unsure: bool
) -> None:
    assert is_unsure(supports) is unsure
