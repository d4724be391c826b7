"""The ablation grid against the detector itself, and its table by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.cli import main
from halldetect.errors import ConfigurationError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.ablation import (
    SCALE_SETS,
    Ablation,
    claim_splitter,
    score_from_maxima,
)
from halldetect_bench.methods.halldetect_method import HallDetect
from halldetect_bench.predictions import Results, header_of, prediction_of
from halldetect_bench.stats.ablation_table import VARIANTS, ablation_scores
from tests.support.fakes import OverlapVerifier, SentenceExtractor, use_overlap_verifier

SOURCE = " ".join(
    f"Gate {n} of the plant opened in {1900 + n} and was not painted red." for n in range(24)
)
RESPONSE = "Gate 3 of the plant opened in 1903. Gate 5 of the plant was painted red. Gate 7 opened."
ROW = Row("d", "1", SOURCE, RESPONSE, True)


def grid_of(row: Row = ROW) -> Any:
    (found,) = Ablation(claim_splitter("sentences"), OverlapVerifier()).score_many([row])
    return found


@pytest.mark.parametrize("scales", SCALE_SETS.values(), ids=SCALE_SETS)
@pytest.mark.parametrize("scoring", ["fed", "calibrated"])
def test_every_cell_is_what_the_detector_says(scoring: str, scales: tuple[int, ...]) -> None:
    detector = Detector(
        SentenceExtractor(),
        OverlapVerifier(),
        scoring=scoring,
        granularities=scales,
        exact=True,
    )
    (expected,) = HallDetect(detector).score_many([ROW])
    found = grid_of()
    assert score_from_maxima(found.details["scales"], scoring, scales) == pytest.approx(
        expected.score, abs=2e-6
    )


def test_support_only_forgets_contradiction() -> None:
    claims = [
        {"1": [0.9, 0.8, 0.2], "16": [0.4, 0.1, 0.35]},
        {"1": [0.5, 0.0, 0.5], "16": [0.7, 0.6, 0.3]},
    ]
    assert score_from_maxima(claims, "support only", (1,)) == pytest.approx(0.5)
    assert score_from_maxima(claims, "support only", (1, 16)) == pytest.approx(1 - 0.7)
    assert score_from_maxima(claims, "calibrated", (1, 16)) == pytest.approx(1 - 0.35)
    # 0.9 - 0.8 and 0.5 - 0: one minus the root of their product.
    assert score_from_maxima(claims, "fed", (1,)) == pytest.approx(1 - (0.1 * 0.5) ** 0.5)
    assert score_from_maxima(claims, "fed", (16,)) == pytest.approx(1 - (0.3 * 0.1) ** 0.5)


def test_the_whole_response_is_one_claim() -> None:
    method = Ablation(claim_splitter("whole"), OverlapVerifier())
    found, empty = method.score_many([ROW, Row("d", "2", SOURCE, "  ", False)])
    assert [text for text, _ in found.claims] == [RESPONSE]
    assert (empty.score, empty.reason) == (None, "the response has no claim")
    long = Row("d", "3", SOURCE, " ".join(["word"] * 150), False)
    (unread,) = method.score_many([long])
    assert unread.score is None
    assert unread.reason


def test_grouped_claims_are_judged_as_one() -> None:
    single = Ablation(claim_splitter("sentences"), OverlapVerifier())
    grouped = Ablation(claim_splitter("groups:2"), OverlapVerifier())
    (before,), (found,) = single.score_many([ROW]), grouped.score_many([ROW])
    assert [text for text, _ in before.claims] == RESPONSE.replace(". ", ".|").split("|")
    assert [text for text, _ in found.claims] == [
        "Gate 3 of the plant opened in 1903. Gate 5 of the plant was painted red.",
        "Gate 7 opened.",
    ]
    assert found.details["pairs"]["16"] == before.details["pairs"]["16"] * 2 / 3
    assert grouped.description["extractor"] == {"name": "sentences, groups of 2"}
    for wrong in ("groups:x", "clauses"):
        with pytest.raises(ConfigurationError, match="groups:N"):
            claim_splitter(wrong)


def test_the_table_has_every_cell_and_the_mean_of_shared_datasets() -> None:
    method = Ablation(claim_splitter("sentences"), OverlapVerifier())
    rows = [ROW, Row("d", "2", SOURCE, "Gate 3 of the plant opened in 1903.", False)]
    predictions = tuple(
        prediction_of(row, found) for row, found in zip(rows, method.score_many(rows), strict=True)
    )
    results = [Results(header_of(name, method.description), predictions) for name in "ab"]
    extractor, verifier = method.description["extractor"], method.description["verifier"]
    found = ablation_scores(results, extractor["name"], verifier["name"])
    assert set(found) == set(VARIANTS)
    assert found["all", "calibrated"]["a"] == {item.id: item.score for item in predictions}
    for scales, scoring in VARIANTS:
        assert found[scales, scoring]["b"]["1"] == score_from_maxima(
            predictions[0].details["scales"], scoring, SCALE_SETS[scales]
        )
    assert ablation_scores(results, "other", verifier["name"])["1", "fed"] == {}


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_overlap_verifier(monkeypatch)
    data = tmp_path / "own.jsonl"
    rows = [
        {"source": "The bridge opened in 1901.", "response": text, "hallucinated": wrong}
        for text, wrong in (("The bridge opened in 1901.", False), ("It burned down.", True))
    ]
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ["bench", "ablate", "--dataset", f"jsonl:{data}", "-o", str(tmp_path / "out")]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().out.count("2 new, 0 already there") == 3
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().out.count("0 new, 2 already there") == 3
    assert main(["bench", "report", str(tmp_path / "out"), "--samples", "10"]) == 0
    text = (tmp_path / "out" / "results" / "ablations.csv").read_text(encoding="utf-8")
    assert text.count(",support only,") == 3
    assert main([*command, "--extractors", "nonsense"]) == 2
