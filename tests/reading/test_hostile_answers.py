"""Nothing that a hostile answer hides is passed over: it is judged, or listed as not checked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from halldetect import Detector
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

DATA = ROOT / "tests" / "data"


def entries(name: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_a_hundred_of_25_kinds() -> None:
    kinds = Counter(entry["kind"] for entry in entries("hostile_answers"))
    assert len(kinds) == 25
    assert set(kinds.values()) == {4}


@pytest.mark.parametrize("entry", entries("hostile_answers"), ids=lambda entry: entry["id"])
def test_hidden_statement_is_judged_or_listed(entry: dict[str, Any]) -> None:
    response, hidden = entry["response"], entry["hidden"]
    report = Detector(OverlapVerifier()).check(
        entry["source"], response, question=entry.get("question")
    )
    start = response.index(hidden)
    end = start + len(hidden)
    spans = [claim.span for claim in report.claims] + [part.span for part in report.left_out]
    covered = set()
    for span in spans:
        if span is not None:
            covered |= set(range(max(span.start, start), min(span.end, end)))
    letters = {at for at in range(start, end) if response[at].isalnum()}
    assert len(letters & covered) >= 0.8 * len(letters)


def test_72_sentences_of_many_clauses() -> None:
    found = entries("clauses")
    assert len({entry["id"] for entry in found}) == 72
    for entry in found:
        assert entry["false"].casefold() in entry["response"].casefold()
        assert entry["false"].casefold() not in entry["true"].casefold()
        assert entry["true"] != entry["response"]
