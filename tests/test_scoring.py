"""FED to the paper's formula, and the calibrated score: bounded, monotone, explicable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ModelError
from halldetect.report import Probabilities, Status
from halldetect.scoring import Calibration, fed, fed_claim, fed_status

unit = st.floats(0.0, 1.0)
scores = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=12)


@st.composite
def judgements(draw: st.DrawFn) -> Probabilities:
    entailment = draw(unit)
    contradiction = draw(st.floats(0.0, 1.0 - entailment))
    return Probabilities(entailment, 1.0 - entailment - contradiction, contradiction)


calibrations = st.builds(
    Calibration,
    contradiction_weight=unit,
    slope=st.floats(0.1, 10.0),
    offset=st.floats(-5.0, 5.0),
)


def test_fed_of_the_paper_by_hand() -> None:
    assert fed_claim([0.2, 0.9, 0.5], [0.1, 0.0, 0.3]) == pytest.approx(0.6)
    assert fed([0.25, 0.64]) == pytest.approx(1 - 0.4)
    assert fed([1.0, 1.0]) == 0.0


def test_fed_chooses_its_two_maxima_independently() -> None:
    assert fed_claim([0.9, 0.0], [0.0, 0.8]) == pytest.approx(0.1)


def test_fed_without_a_contradiction_class_takes_nothing_away() -> None:
    assert fed_claim([0.3, 0.7], [None, None]) == 0.7


def test_fed_of_no_claims_is_undefined() -> None:
    with pytest.raises(ValueError, match="undefined"):
        fed([])
    with pytest.raises(ValueError, match="undefined"):
        Calibration().response([])


@given(scores)
def test_fed_is_bounded_and_one_as_soon_as_a_score_is_not_positive(values: list[float]) -> None:
    result = fed(values)
    assert 0.0 <= result <= 1.0
    if min(values) <= 0.0:
        assert result == 1.0


@given(scores, st.integers(0, 11), st.floats(0.0, 1.0))
def test_fed_never_rises_when_a_claim_scores_higher(
    values: list[float], at: int, more: float
) -> None:
    better = list(values)
    at %= len(values)
    better[at] = min(1.0, better[at] + more)
    assert fed(better) <= fed(values) + 1e-12


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12))
def test_fed_is_one_minus_the_geometric_mean(values: list[float]) -> None:
    assert fed(values) == pytest.approx(1 - math.prod(values) ** (1 / len(values)), abs=1e-9)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_fed_does_not_depend_on_the_order(values: list[float]) -> None:
    assert fed(values) == fed(sorted(values))


@pytest.mark.parametrize(
    ("score", "contradiction", "status"),
    [
        (0.51, 0.4, Status.SUPPORTED),
        (0.01, 0.9, Status.SUPPORTED),
        (-0.1, 0.6, Status.CONTRADICTED),
        (-0.1, 0.5, Status.UNSUPPORTED),
        (0.0, 0.9, Status.CONTRADICTED),
        (0.0, 0.0, Status.UNSUPPORTED),
    ],
)
def test_state_of_a_claim_by_the_paper(score: float, contradiction: float, status: Status) -> None:
    assert fed_status(score, contradiction) is status


@given(st.floats(-1.0, 1.0), unit)
def test_a_claim_is_not_supported_exactly_where_it_alone_makes_fed_1(
    score: float, contradiction: float
) -> None:
    supported = fed_status(score, contradiction) is Status.SUPPORTED
    assert supported == (score > 0.0)
    assert supported or fed([score, 0.9]) == 1.0


def test_calibrated_support_by_hand() -> None:
    judged = [Probabilities(0.8, 0.0, 0.2), Probabilities(0.7, 0.3, 0.0)]
    assert Calibration().support(judged) == pytest.approx(0.7)
    assert Calibration(contradiction_weight=0.0).support(judged) == 0.8


def test_contradiction_is_the_greatest_of_each_scale_averaged_over_the_scales() -> None:
    whole = Probabilities(0.1, 0.8, 0.1)
    sentence = Probabilities(0.0, 0.3, 0.7)
    other = Probabilities(0.2, 0.6, 0.2)
    scales = [(1,), (8, 16), (8, 16)]
    found = Calibration().contradiction([whole, sentence, other], scales)
    assert found == pytest.approx((0.1 + 0.7 + 0.7) / 3)


def test_states_of_a_claim() -> None:
    calibration = Calibration()
    assert calibration.status(0.9, 0.05) is Status.SUPPORTED
    assert calibration.status(0.1, 0.8) is Status.CONTRADICTED
    assert calibration.status(0.1, 0.5) is Status.UNSUPPORTED
    assert calibration.status(0.5, 0.0) is Status.UNSUPPORTED
    # At the default threshold a response of this one claim is not flagged.
    assert calibration.status(0.52, 0.7) is Status.SUPPORTED


@given(st.lists(judgements(), min_size=1, max_size=8), calibrations)
def test_support_and_response_score_are_bounded(
    judged: list[Probabilities], calibration: Calibration
) -> None:
    support = calibration.support(judged)
    assert 0.0 <= support <= 1.0
    assert 0.0 <= calibration.response([support, 1.0]) <= 1.0
    assert 0.0 <= calibration.contradiction(judged, [(1,)] * len(judged)) <= 1.0


@given(st.lists(judgements(), min_size=1, max_size=8), judgements(), calibrations)
def test_more_evidence_never_lowers_the_support(
    judged: list[Probabilities], further: Probabilities, calibration: Calibration
) -> None:
    assert calibration.support([*judged, further]) >= calibration.support(judged)


@given(judgements(), unit, calibrations)
def test_support_rises_with_entailment_and_falls_with_contradiction(
    judged: Probabilities, share: float, calibration: Calibration
) -> None:
    assert judged.contradiction is not None
    more = judged.entailment + share * judged.neutral
    rest = judged.neutral - share * judged.neutral
    entailed = Probabilities(more, rest, judged.contradiction)
    contradicted = Probabilities(
        judged.entailment, rest, judged.contradiction + share * judged.neutral
    )
    support = calibration.support([judged])
    assert calibration.support([entailed]) >= support - 1e-12
    assert calibration.support([contradicted]) <= support + 1e-12


@given(st.lists(unit, min_size=1, max_size=8), unit)
def test_a_further_claim_never_makes_a_response_look_better(
    supports: list[float], further: float
) -> None:
    calibration = Calibration()
    assert calibration.response([*supports, further]) >= calibration.response(supports)


@given(st.lists(unit, min_size=1, max_size=8))
def test_half_on_the_response_means_half_on_its_worst_claim(supports: list[float]) -> None:
    calibration = Calibration()
    faithful = calibration.response(supports) < 0.5
    states = {calibration.status(support, 0.0) for support in supports}
    if all(abs(support - 0.5) > 1e-9 for support in supports):
        assert faithful == (states == {Status.SUPPORTED})


def test_two_way_verdicts_have_support_and_no_contradiction() -> None:
    judged = [Probabilities(0.8, 0.2, None), Probabilities(0.1, 0.9, None)]
    assert Calibration().support(judged) == 0.8
    assert Calibration().contradiction(judged, [(1,), (16,)]) == 0.0


def test_calibration_comes_from_the_verifier() -> None:
    assert Calibration.from_mapping({}) == Calibration()
    assert Calibration.from_mapping({"slope": 2, "offset": -1}) == Calibration(slope=2, offset=-1)


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 1.0},
        {"slope": 0.0},
        {"slope": "steep"},
        {"slope": None},
        {"offset": math.inf},
        {"contradiction_weight": 1.5},
        {"supported_above": math.nan},
    ],
)
def test_a_calibration_that_makes_no_sense_is_an_error(values: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="calibration"):
        Calibration.from_mapping(values)
