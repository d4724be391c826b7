"""Errors of failing claims, and citations judged against the documents that they name."""

from __future__ import annotations

import pytest

from halldetect import Detector
from halldetect.report import CitationScores, ClaimReport, ErrorKind, Status
from tests.support.fakes import OverlapVerifier

DOCUMENTS = ["The bridge opened in 1932.", "The tower is 40 metres tall.", "Olaf sold the mill."]
NAMED = [
    {"id": "annual-report-2022.pdf", "text": "The bridge opened in 1932."},
    {"id": "annual-report-2023.pdf", "text": "The tower is 40 metres tall."},
    {"id": "Smith et al. 2020", "text": "Olaf sold the mill."},
]
TALL = "the tower is 40 metres tall."


def cited(claim: ClaimReport) -> list[tuple[str, int | None, Status]]:
    return [(item.label, item.document, item.status) for item in claim.citations]


def test_citations_are_judged_against_what_they_cite() -> None:
    response = (
        "The bridge opened in 1932 [1]. The tower is 40 metres tall [3]. "
        "Wild horses graze beside volcanoes [2]. Olaf sold the mill [9]. The mill was sold by Olaf."
    )
    verifier = OverlapVerifier()
    report = Detector(verifier).check(DOCUMENTS, response)
    yes, no = Status.SUPPORTED, Status.UNSUPPORTED
    assert [cited(claim) for claim in report.claims] == [
        [("1", 0, yes)],
        [("3", 2, no)],
        [("2", 1, no)],
        [("9", None, no)],
        [],
    ]
    assert [claim.status for claim in report.claims] == [yes, yes, no, yes, no]
    assert [claim.text.count("[") for claim in report.claims] == [0] * 5
    assert report.citations == CitationScores(
        precision=0.25,
        recall=0.2,
        supported_by_cited=1,
        supported_by_other=2,
        supported_by_none=1,
    )
    assert report.cost.pairs_judged == len({pair for call in verifier.calls for pair in call})
    assert Detector(verifier).check(DOCUMENTS, DOCUMENTS[0]).citations is None


def test_known_support_is_not_asked_for_again() -> None:
    verifier = OverlapVerifier()
    Detector(verifier).check(DOCUMENTS, "In 1932 the bridge opened [1].")
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs)) == 1


def test_citations_of_several_responses_are_kept_apart() -> None:
    responses = ["The bridge opened in 1932 [2].", "Olaf sold the mill [1, 3].", "Olaf is tall."]
    together = Detector(OverlapVerifier()).check_many([(DOCUMENTS, text) for text in responses])
    alone = [Detector(OverlapVerifier()).check(DOCUMENTS, text) for text in responses]
    assert [report.claims for report in together] == [report.claims for report in alone]
    assert cited(together[1].claims[0]) == [
        ("1", 0, Status.UNSUPPORTED),
        ("3", 2, Status.SUPPORTED),
    ]


def test_uncheckable_claim_has_uncheckable_citations() -> None:
    response = "The bridge " + "and the bridge " * 60 + "opened [1]."
    (claim,) = Detector(OverlapVerifier()).check(DOCUMENTS, response).claims
    assert cited(claim) == [("1", 0, Status.UNCHECKABLE)]


@pytest.mark.parametrize(
    ("sentence", "document", "supported", "by_cited"),
    [
        (f"According to the 2023 annual report, {TALL}", 1, True, True),
        (f"According to the 2022 annual report, {TALL}", 0, True, False),
        ("According to Smith et al., wild horses graze by volcanoes.", 2, False, False),
        ("According to Smith et al. (2020), Olaf sold the mill.", 2, True, True),
        (f"As noted in annual-report-2023.pdf, {TALL}", 1, True, True),
    ],
)
def test_named_source_is_checked(
    sentence: str, document: int, supported: bool, by_cited: bool
) -> None:
    report = Detector(OverlapVerifier()).check(NAMED, sentence)
    (claim,) = report.claims
    assert claim.span is not None
    assert claim.text == sentence[claim.span.start :][:1].upper() + sentence[claim.span.start + 1 :]
    (citation,) = claim.citations
    assert (citation.document, citation.status is Status.SUPPORTED) == (document, by_cited)
    assert (claim.status is Status.SUPPORTED) == supported
    assert report.citations is not None
    assert report.citations.supported_by_other == (supported and not by_cited)


def test_named_source_that_was_not_given() -> None:
    detector = Detector(OverlapVerifier())
    sentence = f"According to the 2019 audit report, {TALL}"
    (claim,) = detector.check(NAMED, sentence).claims
    assert cited(claim) == []


def test_cited_document_counts_though_another_mentions_it() -> None:
    detector = Detector(OverlapVerifier())
    talking = [*NAMED, {"id": "minutes", "text": "The annual report of 2023 was read."}]
    (claim,) = detector.check(talking, f"According to the 2023 annual report, {TALL}").claims
    assert cited(claim) == [("the 2023 annual report", 1, Status.SUPPORTED)]
    (claim,) = detector.check([*DOCUMENTS, "It has 9 floors."], "Olaf sold the mill [9].").claims
    assert cited(claim) == [("9", None, Status.UNSUPPORTED)], "there are four documents"


@pytest.mark.parametrize(
    "opener", ["According to Ann Hall", "According to the annual report", "In Paris", "Per person"]
)
def test_vague_name_is_not_a_citation(opener: str) -> None:
    names = [*NAMED, {"id": "Paris guide", "text": "x"}, {"id": "person list", "text": "y"}]
    (claim,) = Detector(OverlapVerifier()).check(names, f"{opener}, {TALL}").claims
    assert claim.citations == ()


def test_only_failing_claims_have_errors() -> None:
    seen: list[str] = []
    detector = Detector(OverlapVerifier(), progress=lambda phase, *_: seen.append(phase))
    good, wrong = detector.check(DOCUMENTS, "Olaf sold the mill. The bridge opened in 1935.").claims
    assert good.error is None
    assert wrong.error is not None
    assert wrong.error.kind is ErrorKind.DATE
    assert (wrong.error.claim_words, wrong.error.source_words) == ("1935", "1932")
    assert seen.count("explain") == 1, "once before each failing claim"
