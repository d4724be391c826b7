"""Reports equal the stored ones; tests/support/golden.py writes them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from halldetect import Detector, Report
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


def test_every_configuration_has_a_file() -> None:
    files = {path.stem for path in golden.FOLDER.glob("*.json")}
    assert files == {"pairs", *golden.CONFIGURATIONS}


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return Detector(OverlapVerifier()).check_many(golden.pairs())


def test_spans_cut_the_texts_they_stand_for(reports: list[Report]) -> None:
    for report in reports:
        for claim in report.claims:
            assert claim.span is not None
            words = set(claim.text.casefold().replace(".", " ").split())
            there = set(claim.span.cut(report.response).casefold().replace(".", " ").split())
            assert words <= there, claim
            if (found := claim.proof) is not None:
                assert found.span.cut(report.documents[found.document]) == found.text


def test_every_document_is_read(reports: list[Report]) -> None:
    (report,) = (report for report in reports if len(report.documents) == 3)
    passages = [claim.proof for claim in report.claims if claim.proof is not None]
    assert {passage.document for passage in passages} == {0, 1, 2}
