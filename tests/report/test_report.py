"""The report: states, thresholds, and a JSON form that comes back equal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.detector import Detector
from halldetect.errors import InputError
from halldetect.reading.document import Span
from halldetect.report import (
    ClaimReport,
    Cost,
    Evidence,
    Probabilities,
    Provenance,
    Report,
    Status,
    Verdict,
    decide,
    rounded,
)
from tests.support.fakes import OverlapVerifier, SentenceExtractor

unit = st.floats(0.0, 1.0).map(rounded)
spans = st.builds(Span, st.integers(0, 50), st.integers(50, 99))
evidences = st.builds(
    Evidence,
    text=st.text(max_size=20),
    document=st.integers(0, 3),
    span=spans,
    scales=st.lists(st.sampled_from([1, 2, 4, 8, 16]), max_size=3).map(tuple),
    probabilities=st.builds(Probabilities, unit, unit, st.none() | unit),
)
claims = st.builds(
    ClaimReport,
    text=st.text(max_size=20),
    span=st.none() | spans,
    span_reason=st.none() | st.text(max_size=9),
    status=st.sampled_from(Status),
    reason=st.none() | st.text(max_size=9),
    support=st.none() | unit,
    fed_score=st.none() | unit,
    entailing=st.none() | evidences,
    contradicting=st.none() | evidences,
    contradiction=st.none() | unit,
    by_scale=st.lists(evidences, max_size=2).map(tuple),
)
plain = st.dictionaries(
    st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=3
)
reports = st.builds(
    Report,
    verdict=st.sampled_from(Verdict),
    reason=st.none() | st.text(max_size=9),
    score=st.none() | unit,
    fed_score=st.none() | unit,
    calibrated_score=st.none() | unit,
    scoring=st.sampled_from(["fed", "calibrated"]),
    threshold=unit,
    claims=st.lists(claims, max_size=3).map(tuple),
    response=st.text(max_size=20),
    documents=st.lists(st.text(max_size=20), max_size=2).map(tuple),
    question=st.none() | st.text(max_size=9),
    cost=st.builds(Cost, st.integers(0, 9), seconds=st.dictionaries(st.text(max_size=5), unit)),
    provenance=st.builds(Provenance, st.just("1"), plain, plain, plain, st.integers(0, 9)),
)


def claim(status: Status, score: float | None = None) -> ClaimReport:
    why = "too long" if status is Status.UNCHECKABLE else None
    return ClaimReport("It rains.", Span(0, 9), None, status, why, score, score, None, None)


def report(score: float | None, *found: ClaimReport, threshold: float = 0.5) -> Report:
    return Report(
        verdict=decide(score, found, threshold),
        reason=None if found else "the response is empty",
        score=score,
        fed_score=score,
        calibrated_score=score,
        scoring="calibrated",
        threshold=threshold,
        claims=found,
        response="It rains.",
        documents=("It rains.",),
        question=None,
        cost=Cost(),
        provenance=Provenance("1", {}, {}, {"threshold": threshold}, 0),
    )


def test_verdicts() -> None:
    good, bad = claim(Status.SUPPORTED, 0.9), claim(Status.UNSUPPORTED, 0.2)
    unknown = claim(Status.UNCHECKABLE)
    assert decide(0.1, (good,), 0.5) is Verdict.FAITHFUL
    assert decide(0.8, (good, bad), 0.5) is Verdict.HALLUCINATED
    assert decide(0.5, (bad,), 0.5) is Verdict.HALLUCINATED
    assert decide(None, (unknown,), 0.5) is Verdict.UNCHECKABLE
    assert decide(None, (), 0.0) is Verdict.UNCHECKABLE


def test_nothing_unchecked_is_called_faithful_but_it_can_be_hallucinated() -> None:
    unknown = claim(Status.UNCHECKABLE)
    assert decide(0.1, (claim(Status.SUPPORTED, 0.9), unknown), 0.5) is Verdict.UNCHECKABLE
    assert decide(0.8, (claim(Status.UNSUPPORTED, 0.2), unknown), 0.5) is Verdict.HALLUCINATED


def test_rethreshold_changes_the_verdict_and_records_the_threshold() -> None:
    strict = report(0.3, claim(Status.SUPPORTED, 0.7)).rethreshold(0.2)
    assert strict.verdict is Verdict.HALLUCINATED
    assert strict.threshold == strict.provenance.configuration["threshold"] == 0.2
    assert strict.rethreshold(0.5).verdict is Verdict.FAITHFUL


def test_rethreshold_keeps_the_reason_true() -> None:
    mixed = report(0.3, claim(Status.SUPPORTED, 0.7), claim(Status.UNCHECKABLE))
    assert mixed.rethreshold(0.2).reason is None
    back = mixed.rethreshold(0.2).rethreshold(0.5)
    assert back.verdict is Verdict.UNCHECKABLE
    assert back.reason == "1 of 2 claims could not be checked: too long"
    assert report(None).rethreshold(0.1).reason == "the response is empty"
    alone = report(0.3, claim(Status.UNCHECKABLE)).rethreshold(0.5)
    assert alone.reason == "the only claim could not be checked: too long"


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "x", "0.5", None, True])
def test_rethreshold_refuses_what_is_no_threshold(threshold: Any) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        report(0.3, claim(Status.SUPPORTED, 0.7)).rethreshold(threshold)


@given(reports)
def test_json_comes_back_equal_and_is_utf8(found: Report) -> None:
    text = found.to_json()
    assert Report.from_json(text.encode().decode()) == found
    assert Report.from_json(text).to_json() == text
    assert Report.from_json(found.to_json(indent=None)) == found


def test_a_lone_surrogate_from_anywhere_is_escaped() -> None:
    odd = replace(report(0.3, claim(Status.SUPPORTED, 0.7)), question="what \ud800?")
    assert Report.from_json(odd.to_json().encode().decode()) == odd


def _without_claims(data: dict[str, Any]) -> None:
    del data["claims"]


def _unknown_state(data: dict[str, Any]) -> None:
    data["claims"][0]["status"] = "probably fine"


def _score_in_words(data: dict[str, Any]) -> None:
    data["score"] = "low"


def _truth_for_a_number(data: dict[str, Any]) -> None:
    data["cost"]["pairs_judged"] = True


def _span_as_list(data: dict[str, Any]) -> None:
    data["claims"][0]["span"] = [0, 9]


def _without_a_field_that_has_a_default(data: dict[str, Any]) -> None:
    del data["claims"][0]["origin"]


def _no_json(data: dict[str, Any]) -> None:
    data["provenance"]["extractor"] = {"name": object()}


def _further_field(data: dict[str, Any]) -> None:
    data["cost"]["euros"] = 3


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (_without_claims, "claims"),
        (_unknown_state, r"claims\[0\].status"),
        (_score_in_words, "report.score"),
        (_truth_for_a_number, "cost.pairs_judged"),
        (_span_as_list, r"claims\[0\].span"),
        (_further_field, "euros"),
        (_without_a_field_that_has_a_default, "missing fields"),
        (_no_json, "not JSON serializable"),
    ],
)
def test_a_spoiled_report_is_refused_and_the_place_named(spoil: Any, place: str) -> None:
    data = report(0.3, claim(Status.SUPPORTED, 0.7)).to_dict()
    spoil(data)
    with pytest.raises(InputError, match=place):
        Report.from_dict(data)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "7", "{}", "[" * 5000, '{"schema_version": 99}']
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a"):
        Report.from_json(text)


@given(st.floats(-1, 1))
def test_rounding_is_stable_and_has_no_negative_zero(value: float) -> None:
    once = rounded(value)
    assert rounded(once) == once
    assert abs(once - value) <= 5e-7
    assert str(once) != "-0.0"


def test_ok_is_only_what_was_found_faithful() -> None:
    assert report(0.1, claim(Status.SUPPORTED, 0.9)).ok
    assert not report(0.9, claim(Status.UNSUPPORTED, 0.1)).ok
    assert not report(0.1, claim(Status.SUPPORTED, 0.9), claim(Status.UNCHECKABLE)).ok
    assert not report(None).ok


def test_the_old_name_of_support_can_be_read_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"now \.support"):
        assert claim(Status.SUPPORTED, 0.9).score == 0.9


def test_a_report_of_schema_1_can_be_read() -> None:
    made = report(0.1, claim(Status.SUPPORTED, 0.9))
    data = made.to_dict()
    del data["document_names"]
    data["schema_version"] = 1
    for item in data["claims"]:
        item["score"] = item.pop("support")
    assert Report.from_dict(data) == made


def test_names_that_do_not_fit_the_documents_are_refused() -> None:
    data = {**report(None).to_dict(), "document_names": ["a", "b", "c"]}
    with pytest.raises(InputError, match="one name per document"):
        Report.from_dict(data)


def test_as_text_it_names_the_claims_that_are_not_backed_and_their_passages() -> None:
    detector = Detector(SentenceExtractor(), OverlapVerifier())
    timetable = {"id": "timetable.md", "text": "The boat leaves at 6. It is blue."}
    prices = "A ticket costs 4 euros."
    made = detector.check([timetable, prices], "The boat leaves at 9. A ticket costs 4 euros.")
    first, *rest = str(made).splitlines()
    assert first.startswith("hallucinated (score ")
    assert rest == [
        "contradicted: “The boat leaves at 9.” Source says instead (timetable.md): "
        "“The boat leaves at 6.”"
    ]
    assert made.document_names == ("timetable.md", "Document 2")
    assert "empty" in str(detector.check(prices, ""))
    for wrong in ({"id": "a"}, {"text": 5}, {"id": 5, "text": "a"}, {"text": "a", "url": "b"}):
        with pytest.raises(InputError):
            detector.check(wrong, "A ticket costs 4 euros.")
