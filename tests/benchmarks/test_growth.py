"""Growing texts, and the page of their times."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import growth
from benchmarks.store import RESULTS, stored
from halldetect import Detector
from halldetect.reading.claims import read_claims
from halldetect.reading.response import read_response
from tests.support.fakes import OverlapVerifier


@pytest.mark.parametrize(("words", "claims"), [(100, 1), (3_000, 30), (1_000, 100)])
def test_texts_have_the_size(words: int, claims: int) -> None:
    source, response = growth.texts(words, claims)
    assert len(source.split()) == words
    found = [claim.text for claim in read_claims(read_response(response, None))]
    assert len(found) == len(set(found)) == claims
    assert not any(claim in source for claim in found)


def test_series_ends_in_time_and_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "Detector", lambda **_: Detector(OverlapVerifier()))
    monkeypatch.setattr(growth, "SIZES", {"words": (100, 300, 900), "claims": (1, 3, 9)})
    found: dict[str, Any] = {"base": growth.series("base", 60.0), "large": growth.series("x", 0.0)}
    assert [row["words"] for row in found["base"]["words"]] == [100, 300, 900]
    assert [row["claims"] for row in found["base"]["claims"]] == [1, 3, 9]
    tokens = [row["tokens"] for row in found["base"]["claims"]]
    assert all(few < many for few, many in pairwise(tokens))
    assert [len(found["large"][key]) for key in growth.SIZES] == [1, 1]
    found["base"]["verifier"] = {"digest": "0123456789", "runtime": "onnxruntime 1"}
    page = growth.section({"processor": "p", "verifiers": {"base": found["base"]}})
    assert "`base`: weights 01234567, onnxruntime 1, load average" in page
    assert page.count("\n|") > 6
    lines = ElementTree.fromstring(growth.plot({"base": found["base"]}))
    assert len([item for item in lines if item.tag.endswith("polyline")]) == 2


def test_page_and_plot_are_those_of_the_results() -> None:
    for path, text in growth.written(stored(RESULTS / "growth.json")).items():
        assert path.read_text(encoding="utf-8") == text, "run python -m benchmarks.growth --page"
