"""Citations: which documents they point to, and whether those support the claim."""

from __future__ import annotations

import pytest

from halldetect import Detector
from halldetect.claims.citations import cited_documents
from halldetect.report import CitationScores, Status
from tests.support.fakes import OverlapVerifier, SentenceExtractor

DOCUMENTS = ["The bridge opened in 1932.", "The tower is 40 metres tall.", "Olaf sold the mill."]


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("1", [("1", 0)]),
        ("2, 3", [("2", 1), ("3", 2)]),
        ("1-3", [("1", 0), ("2", 1), ("3", 2)]),
        ("²", [("2", 1)]),
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
    detector = Detector(SentenceExtractor(), OverlapVerifier())
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
