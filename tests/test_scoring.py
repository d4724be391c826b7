"""FED to the paper's formula, and the calibrated score: bounded, monotone, explicable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.claims import Claim
from halldetect.errors import ConfigurationError, ModelError
from halldetect.reading.document import Span
from halldetect.report import Evidence, Probabilities, Status
from halldetect.scoring import (
    Calibration,
    ResponseScores,
    fed,
    fed_claim,
    fed_status,
    score_claim,
    score_response,
    threshold_value,
    window_support,
)
from halldetect.verification.rounds import JudgedClaim
from halldetect.verification.scales import Window

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


# The report of a claim


def window(start: int, end: int, *scales: int, document: int = 0) -> Window:
    return Window(f"{start} to {end}", document, Span(start, end), scales)


WHOLE, FIRST, SECOND = window(0, 90, 1), window(0, 40, 2, 4), window(50, 90, 2, 4, document=1)


def judged(answers: dict[Window, Probabilities], deciding_scale: int | None = None) -> JudgedClaim:
    claim = Claim("It closed.", Span(7, 17), "no reason", "restored", read_as="The mill closed.")
    return JudgedClaim(
        claim, tuple(answers), tuple(answers.values()), deciding_scale=deciding_scale
    )


# The best window is another one for entailment, for contradiction and for support.
APART = {
    WHOLE: Probabilities(0.7, 0.3, 0.0),
    FIRST: Probabilities(0.75, 0.05, 0.2),
    SECOND: Probabilities(0.1, 0.3, 0.6),
}


def test_each_evidence_is_the_best_window_of_its_kind() -> None:
    report = score_claim(judged(APART), "calibrated", Calibration())
    assert report.entailing == Evidence("0 to 40", 0, Span(0, 40), (2, 4), APART[FIRST])
    assert report.contradicting == Evidence("50 to 90", 1, Span(50, 90), (2, 4), APART[SECOND])
    assert [(item.text, item.scales) for item in report.by_scale] == [
        ("0 to 90", (1,)),
        ("0 to 40", (2, 4)),
    ]
    assert (report.support, report.contradiction) == (0.7, 0.4)
    assert report.fed_score == 0.15
    assert report.status is Status.SUPPORTED
    assert (report.text, report.span) == ("It closed.", Span(7, 17))
    assert (report.span_reason, report.origin) == ("no reason", "restored")
    assert (report.read_as, report.reason) == ("The mill closed.", None)


def test_the_proof_is_the_shortest_window_that_settles_the_claim() -> None:
    supported = score_claim(judged(APART), "calibrated", Calibration())
    assert supported.proof == supported.entailing
    against = {
        WHOLE: Probabilities(0.0, 0.1, 0.9),
        FIRST: Probabilities(0.3, 0.7, 0.0),
        SECOND: Probabilities(0.0, 0.5, 0.5),
    }
    contradicted = score_claim(judged(against), "calibrated", Calibration())
    assert contradicted.status is Status.CONTRADICTED
    assert contradicted.proof is not None
    assert contradicted.proof.text == "50 to 90"
    nothing = {WHOLE: Probabilities(0.1, 0.8, 0.1), FIRST: Probabilities(0.2, 0.8, 0.0)}
    unsupported = score_claim(judged(nothing), "calibrated", Calibration())
    assert unsupported.status is Status.UNSUPPORTED
    assert unsupported.proof is None


def test_of_equal_windows_the_shortest_is_the_evidence() -> None:
    same = Probabilities(0.6, 0.2, 0.2)
    for order in ((WHOLE, FIRST, SECOND), (SECOND, WHOLE, FIRST)):
        report = score_claim(judged(dict.fromkeys(order, same)), "calibrated", Calibration())
        assert report.entailing is not None
        assert report.contradicting is not None
        assert len(report.entailing.span) == len(report.contradicting.span) == 40


def test_scores_are_computed_from_the_rounded_probabilities() -> None:
    answers = {WHOLE: Probabilities(0.1234564, 0.7530872, 0.1234564)}
    report = score_claim(judged(answers), "calibrated", Calibration())
    assert report.entailing is not None
    assert report.entailing.probabilities == Probabilities(0.123456, 0.753087, 0.123456)
    assert report.support == round(0.123456 * (1 - 0.123456), 6)
    assert window_support(Calibration(), answers[WHOLE]) == report.support


def test_the_windows_of_the_deciding_scale_give_the_scores() -> None:
    report = score_claim(judged(APART, deciding_scale=4), "calibrated", Calibration())
    assert (report.support, report.contradiction) == (0.6, 0.6)
    assert [item.text for item in report.by_scale] == ["0 to 90", "0 to 40"]


def test_the_state_follows_the_scoring() -> None:
    answers = {WHOLE: Probabilities(0.4, 0.6, 0.0), FIRST: Probabilities(0.0, 0.45, 0.55)}
    assert score_claim(judged(answers), "fed", Calibration()).status is Status.CONTRADICTED
    assert score_claim(judged(answers), "calibrated", Calibration()).status is Status.UNSUPPORTED
    strict = Calibration(supported_above=0.7)
    assert score_claim(judged(APART), "calibrated", strict).status is Status.UNSUPPORTED


def test_a_two_way_verifier_gives_no_contradiction() -> None:
    answers = {WHOLE: Probabilities(0.8, 0.2, None), FIRST: Probabilities(0.1, 0.9, None)}
    report = score_claim(judged(answers), "calibrated", Calibration())
    assert (report.contradicting, report.contradiction) == (None, None)
    assert (report.support, report.fed_score) == (0.8, 0.8)


def test_a_claim_without_windows_is_uncheckable() -> None:
    claim = Claim("It closed.", Span(7, 17), "no reason", "restored", read_as="The mill closed.")
    for reason, shown in (("too long", "too long"), (None, "no window of the source was judged")):
        report = score_claim(JudgedClaim(claim, (), (), reason=reason), "fed", Calibration())
        assert (report.status, report.reason) == (Status.UNCHECKABLE, shown)
        assert (report.support, report.fed_score) == (None, None)
        assert (report.entailing, report.contradicting, report.proof) == (None, None, None)
        assert (report.text, report.span, report.read_as) == (claim.text, claim.span, claim.read_as)
        assert (report.span_reason, report.origin) == ("no reason", "restored")


def test_the_scores_of_a_response_are_over_the_claims_that_were_checked() -> None:
    checked = score_claim(judged(APART), "calibrated", Calibration())
    claim = Claim("It closed.", Span(7, 17))
    unchecked = score_claim(JudgedClaim(claim, (), ()), "calibrated", Calibration())
    scores = score_response([checked, unchecked], Calibration())
    assert scores == ResponseScores(calibrated=0.3, fed=0.85)
    assert score_response([unchecked], Calibration()) == ResponseScores(None, None)


def test_platt_scaling_by_hand() -> None:
    judgement = Probabilities(0.6, 0.4, 0.0)
    for slope, offset in ((2.0, 0.0), (1.0, 1.0), (0.5, -3.0)):
        log_odds = slope * math.log(0.6 / 0.4) + offset
        found = Calibration(slope=slope, offset=offset).window_support(judgement)
        assert found == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-12)
    for certain in (0.0, 1.0):
        scaled = Calibration(slope=3.0, offset=-2.0)
        assert scaled.window_support(Probabilities(certain, 1 - certain, 0.0)) == certain


def test_a_threshold_is_a_number_or_a_point_of_the_verifier() -> None:
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
        ({"contradicted_above": 1.1}, "contradicted_above must lie between 0 and 1"),
        ({"slope": "steep"}, "could not convert string to float: 'steep'"),
    ],
)
def test_what_is_wrong_with_a_calibration(values: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError) as raised:
        Calibration.from_mapping(values)
    assert str(raised.value) == f"calibration: {message}"
