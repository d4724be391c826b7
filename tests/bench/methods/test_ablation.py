"""The ablation against the detector itself, and its table by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halldetect import Detector
from halldetect.cli import main
from halldetect.errors import ExtractionError
from halldetect.paper.windows import GRANULARITIES
from halldetect.protocols import Draft
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.ablation import (
    SCALE_SETS,
    VARIANTS,
    Ablation,
    ablation_scores,
    score_from_maxima,
    variant_scores,
)
from halldetect_bench.predictions import Prediction, Results, header_of, prediction_of
from tests.support.fakes import OverlapVerifier, SentenceExtractor, use_overlap_verifier

SOURCE = " ".join(
    f"Gate {n} of the plant opened in {1900 + n} and was not painted red." for n in range(24)
)
RESPONSE = "Gate 3 of the plant opened in 1903. Gate 5 of the plant was painted red. Gate 7 opened."
ROW = Row("d", "1", SOURCE, RESPONSE, True)


def test_extracted_claims_with_all_scales_match_the_paper() -> None:
    (found,) = Ablation(SentenceExtractor(), OverlapVerifier()).score_many([ROW])
    expected = Detector.paper(SentenceExtractor(), OverlapVerifier()).check(SOURCE, RESPONSE)
    score = score_from_maxima(found.details["scales"], "fed", GRANULARITIES)
    assert score == pytest.approx(expected.fed_score, abs=2e-6)
    assert [text for text, _ in found.claims] == [claim.text for claim in expected.claims]
    assert found.cost.pairs_judged == expected.cost.pairs_judged
    assert found.cost.generative_passes == 1


def test_scores_by_hand() -> None:
    claims = [
        {"1": [0.9, 0.8, 0.2], "16": [0.4, 0.1, 0.35]},
        {"1": [0.5, 0.0, 0.5], "16": [0.7, 0.6, 0.3]},
    ]
    assert score_from_maxima(claims, "support", (1,)) == pytest.approx(1 - 0.2)
    assert score_from_maxima(claims, "support", (1, 16)) == pytest.approx(1 - 0.35)
    # 0.9 - 0.8 and 0.5 - 0: one minus the root of their product.
    assert score_from_maxima(claims, "fed", (1,)) == pytest.approx(1 - (0.1 * 0.5) ** 0.5)
    assert score_from_maxima(claims, "fed", (1, 16)) == pytest.approx(1 - (0.1 * 0.1) ** 0.5)


def test_rows_without_a_score_say_why() -> None:
    class Failing(SentenceExtractor):
        def draft(self, block: str, limit: int) -> Draft:
            raise ExtractionError("no answer")

    rows = [Row("d", "2", SOURCE, "  ", False), Row("d", "3", SOURCE, "word " * 250, False)]
    empty, long = Ablation(None, OverlapVerifier()).score_many(rows)
    assert (empty.score, empty.reason) == (None, "the response has no claim")
    assert long.score is None
    assert "tokens" in (long.reason or "")
    (failed,) = Ablation(Failing(), OverlapVerifier()).score_many([ROW])
    assert (failed.score, failed.reason) == (None, "no answer")


def test_table_has_every_cell_and_shared_mean() -> None:
    method = Ablation(None, OverlapVerifier())
    rows = [ROW, Row("d", "2", SOURCE, "Gate 3 of the plant opened in 1903.", False)]
    predictions = tuple(
        prediction_of(row, found) for row, found in zip(rows, method.score_many(rows), strict=True)
    )
    results = [Results(header_of(name, method.description), predictions) for name in "ab"]
    extractor, verifier = method.description["extractor"], method.description["verifier"]
    found = ablation_scores(results, extractor["name"], verifier["name"])
    assert set(found) == set(VARIANTS)
    assert found["all", "support"]["a"] == {item.id: item.score for item in predictions}
    for scales, scoring in VARIANTS:
        assert found[scales, scoring]["b"]["1"] == score_from_maxima(
            predictions[0].details["scales"], scoring, SCALE_SETS[scales]
        )
    assert ablation_scores(results, "other", verifier["name"])["1", "fed"] == {}


def test_stored_files_with_nine_variants_are_read() -> None:
    nine = [n / 10 for n in range(9)]
    item = Prediction("1", "r", "d", None, True, None, 0.4, None, details={"variants": nine})
    assert dict(zip(VARIANTS, variant_scores(item), strict=True)) == {
        ("1", "support"): 0.0,
        ("all", "support"): 0.4,
        ("1", "fed"): 0.7,
        ("all", "fed"): 0.5,
    }


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
    load = "halldetect.paper.extractors.load_extractor"
    with monkeypatch.context() as patched:
        patched.setattr(load, lambda *_, **__: SentenceExtractor())
        assert main([*command, "--quiet"]) == 0
        assert capsys.readouterr().out.count("2 new, 0 already there") == 2
    assert main([*command, "--extractors", "sentences", "--quiet"]) == 0
    assert capsys.readouterr().out.count("0 new, 2 already there") == 1
    assert main(["bench", "report", str(tmp_path / "out"), "--samples", "10"]) == 0
    text = (tmp_path / "out" / "results" / "ablations.csv").read_text(encoding="utf-8")
    assert text.count(",support,") == text.count(",fed,") == 4
    assert main([*command, "--extractors", "nonsense"]) == 2
