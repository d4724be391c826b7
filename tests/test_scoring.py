"""The score of a claim: bounded, monotone, computed from rounded numbers; its passage."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ConfigurationError, ModelError
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.report import ClaimReport, Evidence, Probabilities, Status
from halldetect.scoring import (
    SETTLING,
    Calibration,
    best_passage,
    evidence_of,
    response_score,
    score_claim,
    threshold_value,
    uncheckable,
)
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Window

unit = st.floats(0.0, 1.0)


@st.composite
def answers(draw: st.DrawFn) -> Probabilities:
    entailment = draw(unit)
    contradiction = draw(st.floats(0.0, 1.0 - entailment))
    return Probabilities(entailment, 1.0 - entailment - contradiction, contradiction)


calibrations = st.builds(
    Calibration,
    contradiction_weight=unit,
    slope=st.floats(0.1, 10.0),
    offset=st.floats(-5.0, 5.0),
)
CLAIM = Claim("It closed.", Span(7, 17), "no reason")
PAGE = Window("whole", 0, Span(0, 90))
FIRST = Window("first", 0, Span(0, 40), page=False)
SECOND = Window("second", 1, Span(50, 80), page=False)


def judged(found: dict[Window, Probabilities]) -> Judgement:
    return Judgement(tuple(found), tuple(found.values()))


def scored(
    found: dict[Window, Probabilities], calibration: Calibration | None = None
) -> ClaimReport:
    return score_claim(CLAIM, judged(found), calibration or Calibration())


# One window


@given(answers(), calibrations)
def test_support_of_a_window_is_bounded(answer: Probabilities, calibration: Calibration) -> None:
    assert 0.0 <= calibration.window_support(answer) <= 1.0
    assert 0.0 <= calibration.contradiction([(PAGE, answer), (FIRST, answer)]) <= 1.0


@given(answers(), unit, calibrations)
def test_support_rises_with_entailment_and_falls_with_contradiction(
    answer: Probabilities, share: float, calibration: Calibration
) -> None:
    assert answer.contradiction is not None
    moved = share * answer.neutral
    rest = answer.neutral - moved
    entailed = Probabilities(answer.entailment + moved, rest, answer.contradiction)
    contradicted = Probabilities(answer.entailment, rest, answer.contradiction + moved)
    support = calibration.window_support(answer)
    assert calibration.window_support(entailed) >= support - 1e-12
    assert calibration.window_support(contradicted) <= support + 1e-12


def test_platt_scaling_by_hand() -> None:
    answer = Probabilities(0.6, 0.4, 0.0)
    for slope, offset in ((2.0, 0.0), (1.0, 1.0), (0.5, -3.0)):
        log_odds = slope * math.log(0.6 / 0.4) + offset
        found = Calibration(slope=slope, offset=offset).window_support(answer)
        assert found == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-12)
    scaled = Calibration(slope=3.0, offset=-2.0)
    for certain in (0.0, 1.0):
        assert scaled.window_support(Probabilities(certain, 1 - certain, 0.0)) == certain


def test_contradiction_of_a_window_lowers_its_support() -> None:
    answer = Probabilities(0.8, 0.0, 0.2)
    assert Calibration().window_support(answer) == pytest.approx(0.64)
    assert Calibration(contradiction_weight=0.5).window_support(answer) == pytest.approx(0.72)
    assert Calibration(contradiction_weight=0.0).window_support(answer) == 0.8


def test_enough_is_decided_on_rounded_numbers() -> None:
    calibration = Calibration(enough=0.8)
    assert calibration.is_enough(Probabilities(0.7999996, 0.2000004, 0.0))
    assert not calibration.is_enough(Probabilities(0.799999, 0.200001, 0.0))
    assert not calibration.is_enough(Probabilities(0.9, 0.0, 0.2))


# All windows


@given(st.lists(answers(), min_size=1, max_size=6), answers(), calibrations)
def test_more_evidence_never_lowers_support(
    found: list[Probabilities], further: Probabilities, calibration: Calibration
) -> None:
    windows = [Window(f"{at}", 0, Span(at, 90)) for at in range(len(found) + 1)]
    few = scored(dict(zip(windows, found, strict=False)), calibration)
    more = scored(dict(zip(windows, [*found, further], strict=True)), calibration)
    assert few.support is not None
    assert more.support is not None
    assert 0.0 <= few.support <= more.support <= 1.0


def test_contradiction_is_averaged_over_short_windows_and_pages() -> None:
    low, high = Probabilities(0.1, 0.8, 0.1), Probabilities(0.0, 0.3, 0.7)
    calibration = Calibration()
    assert calibration.contradiction([(PAGE, low), (FIRST, high)]) == pytest.approx(0.4)
    assert calibration.contradiction([(PAGE, low), (FIRST, high), (SECOND, low)]) == pytest.approx(
        0.4
    )
    assert calibration.contradiction([(FIRST, low), (SECOND, high)]) == pytest.approx(0.7)
    assert scored({PAGE: low, FIRST: high}).contradiction == 0.4


@pytest.mark.parametrize(
    ("support", "contradiction", "status"),
    [
        (0.9, 0.05, Status.SUPPORTED),
        (0.52, 0.7, Status.SUPPORTED),
        (0.1, 0.8, Status.CONTRADICTED),
        (0.1, 0.5, Status.UNSUPPORTED),
        (0.5, 0.0, Status.UNSUPPORTED),
        (0.5, 0.5, Status.UNSUPPORTED),
    ],
)
def test_state_of_a_claim(support: float, contradiction: float, status: Status) -> None:
    assert Calibration().status(support, contradiction) is status


def test_states_follow_the_cuts() -> None:
    moved = Calibration.from_mapping({"supported_above": 0.7, "contradicted_above": 0.2})
    assert moved.status(0.71, 0.9) is Status.SUPPORTED
    assert moved.status(0.7, 0.9) is Status.UNCLEAR, "a near miss is not a contradiction"
    assert moved.status(0.5, 0.1) is Status.UNSUPPORTED
    assert moved.status(0.1, 0.21) is Status.CONTRADICTED
    assert moved.status(0.3, 0.25) is Status.UNSUPPORTED, "support beats contradiction"


def test_scores_use_rounded_probabilities() -> None:
    report = scored({PAGE: Probabilities(0.1234564, 0.7530872, 0.1234564)})
    assert report.proof is not None
    assert report.proof.probabilities == Probabilities(0.123456, 0.753087, 0.123456)
    assert report.support == round(0.123456 * (1 - 0.123456), 6)


def test_two_way_verifier_gives_no_contradiction() -> None:
    report = scored({PAGE: Probabilities(0.8, 0.2, None), FIRST: Probabilities(0.1, 0.9, None)})
    assert (report.support, report.contradiction) == (0.8, None)


def test_claim_without_windows_is_uncheckable() -> None:
    for reason, shown in (("too long", "too long"), (None, "no window of the source was judged")):
        report = score_claim(CLAIM, Judgement(reason=reason), Calibration())
        assert report == uncheckable(CLAIM, shown)
        assert (report.status, report.reason) == (Status.UNCHECKABLE, shown)
        assert (report.support, report.proof, report.span) == (None, None, Span(7, 17))


# The passage


def test_shortest_passage_that_settles_is_shown() -> None:
    yes, no = Probabilities(0.5, 0.5, 0.0), Probabilities(0.0, 0.5, 0.5)
    weak = Probabilities(0.49, 0.51, 0.0)
    sure, against = Probabilities(0.95, 0.05, 0.0), Probabilities(0.0, 0.02, 0.98)
    for found, shown in (
        ({PAGE: sure, FIRST: yes, SECOND: weak}, "first"),
        ({PAGE: sure, FIRST: weak, SECOND: weak}, "whole"),
        ({PAGE: against, FIRST: weak, SECOND: no}, "second"),
    ):
        report = scored(found)
        assert report.status is not Status.UNSUPPORTED
        assert report.proof is not None
        assert report.proof.text == shown


def test_closest_passage_is_shown_where_nothing_settles() -> None:
    report = scored({PAGE: Probabilities(0.1, 0.8, 0.1), SECOND: Probabilities(0.2, 0.8, 0.0)})
    assert report.status is Status.UNSUPPORTED
    assert report.proof == Evidence(
        "second", 1, Span(50, 80), probabilities=Probabilities(0.2, 0.8, 0.0)
    )


def test_shortest_of_equal_passages_is_best() -> None:
    same = Probabilities(0.3, 0.5, 0.2)
    for order in ((PAGE, FIRST, SECOND), (SECOND, PAGE, FIRST)):
        passages = [evidence_of(window, same) for window in order]
        assert best_passage(passages, lambda answer: answer.entailment).text == "second"


def test_settling_probability_follows_the_state() -> None:
    answer = Probabilities(0.7, 0.1, 0.2)
    found = [SETTLING.get(status) for status in Status]
    assert [None if item is None else item(answer) for item in found] == [
        0.7,
        None,
        0.2,
        None,
        None,
    ]


def test_offset_grows_with_the_number_of_claims() -> None:
    calibration = Calibration.from_mapping({"offset": 0.1, "length": 0.5})
    answer = Probabilities(0.4, 0.6, 0.0)
    alone, among = calibration.for_response(1), calibration.for_response(7)
    assert alone.window_support(answer) == pytest.approx(0.4242, abs=1e-4)
    assert among.offset == pytest.approx(0.1 + 0.5 * math.log(7))
    assert among.window_support(answer) > 0.6
    assert among.for_response(7) == among, "added once"
    assert Calibration().for_response(7) == Calibration()


# The response


@given(st.lists(st.none() | unit, max_size=8), unit)
def test_further_claim_never_improves_the_response(
    supports: list[float | None], further: float
) -> None:
    def score(values: list[float | None]) -> float | None:
        return response_score(
            [ClaimReport("x", None, None, Status.SUPPORTED, None, value) for value in values]
        )

    before, after = score(supports), score([*supports, further])
    assert after is not None
    assert 0.0 <= after <= 1.0
    assert (before is None) == (set(supports) <= {None})
    assert before is None or after >= before
    assert after >= round(1 - further, 6)


def test_threshold_is_a_number_or_verifier_point() -> None:
    verifier = {"name": "v", "operating_points": {"recall": 0, "balanced": 0.4, "precision": 1}}
    assert threshold_value(0.3, {}) == 0.3
    found = [threshold_value(name, verifier) for name in ("recall", "balanced", "precision")]
    assert found == [0.0, 0.4, 1.0]
    message = "the verifier v has no operating point 'recall': give the threshold as a number"
    for points in ({}, {"recall": "high"}, {"recall": -0.1}, {"recall": 1.1}, None):
        with pytest.raises(ConfigurationError) as raised:
            threshold_value("recall", {"name": "v", "operating_points": points})
        assert str(raised.value) == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": 1.0, "heat": 2.0}, "unknown parameter heat, temperature"),
        ({"slope": 0.0}, "slope must be positive, slope and offset finite"),
        ({"slope": math.inf}, "slope must be positive, slope and offset finite"),
        ({"offset": math.nan}, "slope must be positive, slope and offset finite"),
        ({"contradiction_weight": -0.1}, "contradiction_weight must lie between 0 and 1"),
        ({"supported_above": math.nan}, "supported_above must lie between 0 and 1"),
        ({"contradicted_above": 1.1}, "contradicted_above must lie between 0 and 1"),
        ({"enough": 1.1}, "enough must lie between 0 and 1"),
        ({"slope": "steep"}, "could not convert string to float: 'steep'"),
        ({"slope": None}, "float() argument must be"),
    ],
)
def test_wrong_calibration_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError) as raised:
        Calibration.from_mapping(values)
    assert str(raised.value).startswith(f"calibration: {message}")
