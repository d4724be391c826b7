"""Reports stay what they are: see tests/support/golden.py for how to write them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from halldetect import Detector, Evidence, Report
from tests.support import golden
from tests.support.fakes import OverlapVerifier


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from differences(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r} -> {after!r}"


@pytest.mark.parametrize("name", golden.CONFIGURATIONS)
def test_reports_are_as_stored(name: str) -> None:
    assert sorted(differences(golden.stored(name), golden.current(name)))[:20] == []


def test_there_is_a_file_for_every_configuration() -> None:
    files = {path.stem for path in golden.FOLDER.glob("*.json")}
    assert files == {"pairs", *golden.CONFIGURATIONS}


@pytest.fixture(scope="module")
def exact() -> list[Report]:
    return Detector(verifier=OverlapVerifier(), exact=True).check_many(golden.pairs())


def evidence(report: Report) -> Iterator[Evidence]:
    for claim in report.claims:
        yield from filter(None, (claim.entailing, claim.contradicting, *claim.by_scale))


def test_spans_cut_the_texts_they_stand_for(exact: list[Report]) -> None:
    for report in exact:
        for claim in report.claims:
            assert claim.span is not None
            words = set(claim.text.casefold().replace(".", " ").split())
            there = set(claim.span.cut(report.response).casefold().replace(".", " ").split())
            assert words <= there, claim
        for item in evidence(report):
            assert item.span.cut(report.documents[item.document]) == item.text


def test_evidence_for_and_against_is_the_strongest_of_its_kind(exact: list[Report]) -> None:
    apart = 0
    for claim in (claim for report in exact for claim in report.claims):
        assert claim.entailing is not None
        assert claim.contradicting is not None
        supporting, against = claim.entailing.probabilities, claim.contradicting.probabilities
        assert against.contradiction is not None
        assert supporting.contradiction is not None
        assert supporting.entailment >= against.entailment
        assert against.contradiction >= supporting.contradiction
        assert claim.fed_score == pytest.approx(supporting.entailment - against.contradiction)
        apart += claim.entailing != claim.contradicting
    assert apart > 30, "the fake verifier must tell the two apart"


def test_every_document_is_read(exact: list[Report]) -> None:
    (report,) = (report for report in exact if len(report.documents) == 3)
    assert {item.document for item in evidence(report)} == {0, 1, 2}
    last = [claim for claim in report.claims if claim.text.startswith("The work takes 12 days")]
    assert [(claim.status, claim.entailing and claim.entailing.document) for claim in last] == [
        ("supported", 2)
    ]
