"""Citations: which documents they point to, and whether those support the claim."""

from __future__ import annotations

import pytest

from halldetect import Detector
from halldetect.reading.citations import cited_documents
from halldetect.reading.response import read_response
from halldetect.report import CitationScores, Status
from tests.support.fakes import OverlapVerifier

DOCUMENTS = ["The bridge opened in 1932.", "The tower is 40 metres tall.", "Olaf sold the mill."]


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("1", [("1", 0)]),
        ("2, 3", [("2", 1), ("3", 2)]),
        ("1-3", [("1", 0), ("2", 1), ("3", 2)]),
        ("7", [("7", None)]),
        ("0", [("0", None)]),
        ("Annual report", [("Annual report", 1)]),
        ("Smith 2020", []),
        ("1-900", []),
        ("", []),
    ],
)
def test_documents_of_a_label(label: str, found: list[tuple[str, int | None]]) -> None:
    assert cited_documents(label, ["minutes", "annual  report", "mail"], 3) == found


def test_citations_are_judged_against_what_they_cite() -> None:
    response = (
        "The bridge opened in 1932 [1]. The tower is 40 metres tall [3]. "
        "Wild horses graze beside volcanoes [2]. Olaf sold the mill [9]. The mill was sold by Olaf."
    )
    detector = Detector(OverlapVerifier())
    report = detector.check(DOCUMENTS, response)
    first, second, third, fourth, fifth = report.claims
    assert [claim.text.count("[") for claim in report.claims] == [0] * 5
    assert [(item.label, item.document) for item in first.citations] == [("1", 0)]
    assert first.citations[0].status is Status.SUPPORTED
    assert (second.status, second.citations[0].status) == (Status.SUPPORTED, Status.UNSUPPORTED)
    assert third.citations[0].status is Status.UNSUPPORTED
    assert fourth.citations[0].document is None
    assert fifth.citations == ()
    assert report.citations == CitationScores(
        precision=0.25,
        recall=0.2,
        supported_by_cited=1,
        supported_by_other=2,
        supported_by_none=1,
    )
    assert detector.check(DOCUMENTS, "The bridge opened in 1932.").citations is None


NAMED = [
    {"id": "annual-report-2022.pdf", "text": "The bridge opened in 1932."},
    {"id": "annual-report-2023.pdf", "text": "The tower is 40 metres tall."},
    {"id": "Smith et al. 2020", "text": "Olaf sold the mill."},
]


@pytest.mark.parametrize(
    ("sentence", "document", "status", "cited"),
    [
        # supported by the one that is named, by another one only, by none
        ("According to the 2023 annual report, the tower is 40 metres tall.", 1, "supported", True),
        (
            "According to the 2022 annual report, the tower is 40 metres tall.",
            0,
            "supported",
            False,
        ),
        ("According to Smith et al., wild horses graze by volcanoes.", 2, "unsupported", False),
        ("According to Smith et al. (2020), Olaf sold the mill.", 2, "supported", True),
        ("As noted in annual-report-2023.pdf, the tower is 40 metres tall.", 1, "supported", True),
    ],
)
def test_a_source_that_is_named_is_checked(
    sentence: str, document: int, status: str, cited: bool
) -> None:
    report = Detector(OverlapVerifier()).check(NAMED, sentence)
    (claim,) = report.claims
    assert "ccording" not in claim.text
    assert "noted" not in claim.text
    assert claim.span is not None
    assert claim.text == sentence[claim.span.start :][:1].upper() + sentence[claim.span.start + 1 :]
    (citation,) = claim.citations
    assert citation.document == document
    assert (claim.status, citation.status is Status.SUPPORTED) == (status, cited)
    assert report.citations is not None
    assert report.citations.supported_by_other == (status == "supported" and not cited)


def test_a_named_source_that_was_not_given() -> None:
    detector = Detector(OverlapVerifier())
    sentence = "According to the 2019 audit report, the tower is 40 metres tall."
    (claim,) = detector.check(NAMED, sentence).claims
    assert (claim.text, claim.citations) == (sentence, ())
    (numbered,) = detector.check(NAMED, "The tower is 40 metres tall [40].").claims
    assert [(item.label, item.document) for item in numbered.citations] == [("40", None)]


@pytest.mark.parametrize(
    "sentence",
    [
        "According to Ann Hall, the tower is 40 metres tall.",
        "According to the annual report, the tower is 40 metres tall.",
        "In Paris, the tower is 40 metres tall.",
        "Per person, the tower is 40 metres tall.",
    ],
)
def test_what_names_no_single_document_is_no_citation(sentence: str) -> None:
    names = [*NAMED, {"id": "Paris guide", "text": "x"}, {"id": "person list", "text": "y"}]
    detector = Detector(OverlapVerifier())
    (claim,) = detector.check(names, sentence).claims
    assert claim.citations == ()


@pytest.mark.parametrize("text", ["Dogs are 【not】 allowed.", "Dogs are 【not 1】 allowed."])
def test_words_in_wide_brackets_are_not_citations(text: str) -> None:
    (unit,) = read_response(text).units
    assert unit.text == text
