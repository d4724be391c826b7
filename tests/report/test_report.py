"""The report: states, thresholds, citations, text, and a JSON form that comes back equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector
from halldetect.conclusion import citation_scores, graded_score, quoting
from halldetect.errors import InputError
from halldetect.reading.document import Span, UncheckedPart
from halldetect.report import (
    SCHEMA_VERSION,
    CitationReport,
    CitationScores,
    ClaimReport,
    Cost,
    ErrorKind,
    ErrorReport,
    Evidence,
    Probabilities,
    Provenance,
    Report,
    Status,
    Verdict,
    decide,
    rounded,
)
from tests.support.fakes import OverlapVerifier

short = st.text(max_size=3)
unit = st.floats(0.0, 1.0).map(rounded)
spans = st.builds(Span, st.integers(0, 50), st.integers(50, 99))
evidences = st.builds(
    Evidence,
    text=short,
    document=st.integers(0, 3),
    span=spans,
    scales=st.lists(st.sampled_from([1, 2, 4, 8, 16]), max_size=3).map(tuple),
    probabilities=st.none() | st.builds(Probabilities, unit, unit, st.none() | unit),
)
statuses = st.sampled_from(Status)
claims = st.builds(
    ClaimReport,
    text=short,
    span=st.none() | spans,
    span_reason=st.none() | short,
    status=statuses,
    reason=st.none() | short,
    support=st.none() | unit,
    contradiction=st.none() | unit,
    proof=st.none() | evidences,
    read_as=st.none() | short,
    error=st.none() | st.builds(ErrorReport, st.sampled_from(ErrorKind), short, short),
    citations=st.lists(
        st.builds(CitationReport, short, st.none() | st.integers(0, 3), statuses), max_size=2
    ).map(tuple),
    fed_score=st.none() | unit,
    entailing=st.none() | evidences,
    contradicting=st.none() | evidences,
)
plain = st.dictionaries(short, st.none() | st.booleans() | st.integers() | short, max_size=3)
reports = st.builds(
    Report,
    verdict=st.sampled_from(Verdict),
    reason=st.none() | short,
    score=st.none() | unit,
    threshold=unit,
    claims=st.lists(claims, max_size=2).map(tuple),
    response=short,
    documents=st.lists(short, max_size=2).map(tuple),
    question=st.none() | short,
    cost=st.builds(Cost, st.integers(0, 9), seconds=st.dictionaries(short, unit, max_size=2)),
    provenance=st.builds(
        Provenance, st.just("1"), plain, plain, st.lists(short, max_size=2).map(tuple), plain
    ),
    citations=st.none() | st.builds(CitationScores, unit, unit, st.just(1), st.just(0), st.just(2)),
    fed_score=st.none() | unit,
)


def claim(status: Status, support: float | None = None, *cited: Status) -> ClaimReport:
    why = "too long" if status is Status.UNCHECKABLE else None
    found = ClaimReport("It rains.", Span(0, 9), None, status, why, support)
    citations = tuple(CitationReport(str(at), at, item) for at, item in enumerate(cited, 1))
    return replace(found, citations=citations)


SUPPORTED, UNSUPPORTED = claim(Status.SUPPORTED, 0.9), claim(Status.UNSUPPORTED, 0.2)
UNKNOWN = claim(Status.UNCHECKABLE)


def report(score: float | None, *found: ClaimReport, threshold: float = 0.5) -> Report:
    return Report(
        verdict=decide(score, found, threshold)[0],
        reason=None if found else "the response is empty",
        score=score,
        threshold=threshold,
        claims=found,
        response="It rains.",
        documents=("It rains.",),
        question=None,
        cost=Cost(),
        provenance=Provenance("1", {}, {"threshold": threshold}),
    )


@pytest.mark.parametrize(
    ("score", "found", "verdict"),
    [
        (0.1, [SUPPORTED], Verdict.FAITHFUL),
        (0.8, [SUPPORTED, UNSUPPORTED], Verdict.HALLUCINATED),
        (0.5, [UNSUPPORTED], Verdict.HALLUCINATED),
        (0.1, [SUPPORTED, UNKNOWN], Verdict.UNCHECKABLE),
        (0.8, [UNSUPPORTED, UNKNOWN], Verdict.HALLUCINATED),
        (None, [UNKNOWN], Verdict.UNCHECKABLE),
        (None, [], Verdict.UNCHECKABLE),
    ],
)
def test_nothing_unchecked_is_faithful(
    score: float | None, found: list[ClaimReport], verdict: Verdict
) -> None:
    made = report(score, *found)
    assert (made.verdict, made.ok) == (verdict, verdict is Verdict.FAITHFUL)
    assert made.precision == (None if not found else found.count(SUPPORTED) / len(found))


def test_rethreshold_changes_verdict_and_configuration() -> None:
    strict = report(0.3, SUPPORTED).rethreshold(0.2)
    assert strict.verdict is Verdict.HALLUCINATED
    assert strict.threshold == strict.provenance.configuration["threshold"] == 0.2
    assert strict.rethreshold(0.5) == report(0.3, SUPPORTED)
    assert strict.claims == (SUPPORTED,)


def test_rethreshold_keeps_the_reason_true() -> None:
    mixed = report(0.3, SUPPORTED, UNKNOWN).rethreshold(0.2)
    assert mixed.reason is None
    back = mixed.rethreshold(0.5)
    assert back.reason == "1 of 2 claims could not be checked: too long"
    assert report(None).rethreshold(0.1).reason == "the response is empty"
    alone = report(0.3, UNKNOWN).rethreshold(0.5)
    assert alone.reason == "the only claim could not be checked: too long"
    abstained = replace(report(None), verdict=Verdict.ABSTAINED)
    assert abstained.rethreshold(0.1).verdict is Verdict.ABSTAINED


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_rethreshold_refuses_other_values(threshold: Any) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        report(0.3, SUPPORTED).rethreshold(threshold)


def test_citation_scores_by_hand() -> None:
    yes, no = Status.SUPPORTED, Status.UNSUPPORTED
    found = [
        claim(yes, 0.9, yes, no),  # by a cited document
        claim(yes, 0.9, no),  # by another one
        claim(no, 0.1, no),  # by none
        claim(yes, 0.9),  # cites nothing
        claim(Status.UNCHECKABLE, None, yes),  # does not count
    ]
    assert citation_scores(found) == CitationScores(0.25, 0.25, 1, 1, 1)
    assert citation_scores([*found[:1], *found[3:]]) == CitationScores(0.5, 0.5, 1, 0, 0)
    assert citation_scores(found[3:]) is None


def test_graded_score_is_the_mean_lack_of_support() -> None:
    assert graded_score([SUPPORTED, UNSUPPORTED, UNKNOWN]) == 0.45
    assert graded_score([UNKNOWN]) is None
    checked = Detector(OverlapVerifier()).check("Bob left Rome.", "Bob left. Whales sing.")
    assert checked.graded == graded_score(checked.claims)
    assert checked.graded is not None


def test_passages_are_quoted_from_the_documents() -> None:
    other = Evidence("other", 1, Span(0, 3), (2,), Probabilities(0.1, 0.9, 0.0))
    read = Evidence("read", 0, Span(3, 8), (1, 4), Probabilities(0.9, 0.1, 0.0), (other,))
    made = replace(SUPPORTED, proof=read, entailing=read)
    plain = quoting(made, ("It rains.", "Wet."))
    quoted = Evidence("rains", 0, Span(3, 8), others=(Evidence("Wet", 1, Span(0, 3)),))
    assert (plain.proof, plain.entailing, plain.contradicting) == (quoted, quoted, None)
    full = quoting(made, ("It rains.", "Wet."), probabilities=True)
    assert full.proof == replace(read, text="rains", others=(replace(other, text="Wet"),))


def test_text_names_failing_claims_and_passages() -> None:
    evidence = Evidence("It   is\ndry. " + "x" * 300, 0, Span(0, 9))
    made = replace(
        report(0.8, SUPPORTED, replace(UNSUPPORTED, proof=evidence), UNKNOWN),
        documents=("It is dry.", "b"),
    )
    first, unsupported, unknown = str(made).splitlines()
    assert first.startswith("hallucinated (score 0.80, at or over the threshold 0.50).")
    assert unsupported.startswith(
        "unsupported: “It rains.” Closest passage (Document 1): “It is dry"
    )
    assert len(unsupported) < 300
    assert unknown == "uncheckable: “It rains.” (too long)"
    assert str(report(None)).startswith("uncheckable")
    assert made.document_name(1) == "Document 2"
    assert report(None).document_name(0) == "Source"
    assert replace(made, document_names=("a.md", "b.md")).document_name(1) == "b.md"


# JSON


@settings(max_examples=30)
@given(reports)
def test_json_comes_back_equal(found: Report) -> None:
    text = found.to_json()
    assert Report.from_json(text.encode().decode()) == found
    assert Report.from_json(found.to_json(indent=None)).to_json() == text


def test_lone_surrogate_is_escaped() -> None:
    odd = replace(report(0.3, SUPPORTED), question="what \ud800?")
    assert Report.from_json(odd.to_json().encode().decode()) == odd


def test_empty_fields_of_the_paper_are_omitted() -> None:
    made = report(0.3, replace(SUPPORTED, proof=Evidence("a", 0, Span(0, 1))))
    data = made.to_dict()
    assert data["schema_version"] == SCHEMA_VERSION == 3
    assert not {"fed_score", "scoring", "calibrated_score"} & set(data)
    assert not {"fed_score", "entailing", "by_scale", "parts"} & set(data["claims"][0])
    assert set(data["claims"][0]["proof"]) == {"text", "document", "span"}
    assert {"read_as", "error", "citations"} <= set(data["claims"][0])
    zero = replace(made, fed_score=0.0, claims=(replace(SUPPORTED, fed_score=0.0),))
    assert zero.to_dict()["fed_score"] == zero.to_dict()["claims"][0]["fed_score"] == 0.0


def changed(path: str, value: Any = None) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets the field of a path, or removes it without a value."""
    *parents, last = path.split("/")

    def change(data: Any) -> None:
        for key in parents:
            data = data[int(key) if key.isdigit() else key]
        if value is None:
            del data[last]
        else:
            data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (changed("claims"), "claims"),
        (changed("claims/0/read_as"), "missing fields"),
        (changed("cost/seconds"), "missing fields"),
        (changed("claims/0/status", "probably fine"), r"claims\[0\].status"),
        (changed("score", "low"), "report.score"),
        (changed("cost/pairs_judged", True), "cost.pairs_judged"),
        (changed("claims/0/span", [0, 9]), r"claims\[0\].span"),
        (changed("cost/euros", 3), "euros"),
        (changed("calibrated_score", 0.5), "calibrated_score"),
        (changed("claims/0/parts", []), "parts"),
        (changed("document_names", ["a", "b"]), "document_names needs one entry per document"),
        (changed("provenance/verifier", {"name": object()}), "not JSON serializable"),
        (changed("schema_version"), "schema version None, not 3"),
        (changed("schema_version", 2), "schema version 2, not 3"),
    ],
)
def test_spoiled_report_is_refused_with_the_place(
    change: Callable[[dict[str, Any]], None], place: str
) -> None:
    data = report(0.3, SUPPORTED).to_dict()
    assert Report.from_dict(data) == report(0.3, SUPPORTED)
    change(data)
    with pytest.raises(InputError, match=place):
        Report.from_dict(data)


@pytest.mark.parametrize("text", ["", "[]", "null", "7", "{}", "[" * 5000])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a"):
        Report.from_json(text)


@given(st.floats(-1, 1))
def test_rounding_is_stable_and_has_no_negative_zero(value: float) -> None:
    once = rounded(value)
    assert rounded(once) == once
    assert abs(once - value) <= 5e-7
    assert str(once) != "-0.0"


@pytest.mark.parametrize(
    ("found", "threshold", "passes"),
    [
        (claim(Status.SUPPORTED, 0.9), 0.05, True),  # settled: the threshold flags the response
        (claim(Status.UNCLEAR, 0.6), 0.5, True),
        (claim(Status.UNCLEAR, 0.5), 0.5, False),
        (claim(Status.UNSUPPORTED, 0.2), 0.5, False),
        (claim(Status.UNSUPPORTED, 0.2), 0.9, True),
        (claim(Status.UNCHECKABLE), 1.0, False),
    ],
)
def test_a_claim_passes_below_the_threshold_and_only_if_it_was_checked(
    found: ClaimReport, threshold: float, passes: bool
) -> None:
    assert report(0.1, found, threshold=threshold).passes(found) is passes


@pytest.mark.parametrize(
    ("on_unchecked", "verdict", "reason"),
    [
        ("pass", Verdict.FAITHFUL, None),
        ("fail", Verdict.UNCHECKABLE, "1 part was not checked: a quotation"),
    ],
)
def test_rethreshold_regards_unchecked_parts_only_where_they_fail(
    on_unchecked: str, verdict: Verdict, reason: str | None
) -> None:
    part = UncheckedPart("It rains.", Span(0, 9), "a quotation", True)
    made = replace(
        report(0.1, SUPPORTED),
        unchecked=(part,),
        provenance=Provenance("1", {}, {"threshold": 0.5, "on_unchecked": on_unchecked}),
    )
    again = made.rethreshold(0.4)
    assert (again.verdict, again.reason) == (verdict, reason)
    assert made.rethreshold(0.05).verdict is Verdict.HALLUCINATED
