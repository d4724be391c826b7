"""The suites of claims: their form, and the command that measures them, on a fake verifier."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import claims, claims_on_datasets, splits
from halldetect_bench.datasets.labelled_rows import Row
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT


def test_the_suites_have_as_many_true_as_false_sentences() -> None:
    leaning = [row for row in claims.rows("contexts.jsonl") if row["lead"]]
    assert 2 * len(leaning) >= 120
    assert {row["kind"] for row in leaning} >= {"it", "they", "these", "there", "then", "role"}
    assert len(claims.rows("recombined.jsonl")) == 60
    for row in (*claims.rows("contexts.jsonl"), *claims.rows("recombined.jsonl")):
        assert row["true"] != row["false"]
        assert row["source"]


def test_the_command_writes_results_with_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(claims, "verifier_of", lambda options: OverlapVerifier())
    out = tmp_path / "claims.json"
    claims.main(["--out", str(out)])
    written = json.loads(out.read_text(encoding="utf-8"))
    section = written["base"]
    ways = section["contexts"]
    assert set(ways) == {"as the detector reads it", "alone", "after the sentence before"}
    assert ways["alone"]["all"]["pairs"] == len(claims.rows("contexts.jsonl"))
    assert section["recombined"]["pairs"] == 60
    assert section["verifier"] == {"name": "fake-overlap", "digest": "1" * 8}
    assert set(section["data"]) == {"contexts.jsonl", "recombined.jsonl", "checks.jsonl"}
    assert "contexts" in capsys.readouterr().out


def test_the_stored_splits_hold_no_text() -> None:
    stored = json.loads((ROOT / "benchmarks/results/claims_splits.json").read_text("utf-8"))
    assert len(stored["splits"]) == 300
    assert all(set(item) == {"dataset", "row", "sentence"} for item in stored["splits"])


def test_people_bear_out_parts_that_say_what_their_facts_say() -> None:
    facts = ["Ann raced in Rome.", "She raced in 2013.", "Ann was crowned.", "Crowned in 2014."]
    sentence = "In 2013 Ann raced in Rome and was crowned in 2014."
    right = ["In 2013 Ann raced in Rome", "Ann was crowned in 2014"]
    assert splits.people_disagree(right, sentence, facts) == []
    wrong = [right[0], "In 2013 Ann was crowned in 2014"]
    assert splits.people_disagree(wrong, sentence, facts) == ["a_part_not_entailed"]
    less = [right[0], "Ann was crowned"]
    assert splits.people_disagree(less, sentence, facts) == ["sentence_not_entailed_by_parts"]


def test_both_judges_must_find_a_change() -> None:
    sentence = "She studied law in Oxford and became a judge."
    asked = [
        {"draw": "decomposed", "place": name, "sentence": sentence, "people": people}
        for name, people in (("a", ["a_part_not_entailed"]), ("b", []))
    ]
    found = splits.judge(OverlapVerifier(), asked)["decomposed"]
    assert found["changed_by_people"] == ["a"]
    assert set(found["changed_by_both"]) == set(found["changed_by_verifier"]) & {"a"}


def test_detection_is_compared_with_whole_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        Row("own", str(at), "The tower is tall. Ann left.", text, hallucinated)
        for at, (text, hallucinated) in enumerate(
            [("- The tower is tall.", False), ("# Towers\n\nBob sank the ferry.", True)] * 3
        )
    ]
    monkeypatch.setattr(
        claims_on_datasets, "load_dataset", lambda name, data: SimpleNamespace(rows=rows)
    )
    found = claims_on_datasets.detection(OverlapVerifier(), tmp_path, 6, ["own"])
    assert found["own"]["as_shipped"]["claims"] == 6
    assert found["own"]["whole_sentences"]["claims"] > 6
    assert found["all"]["faithful_rows"] == 3
    assert set(found["all"]["false_alarms"]) == {"as_shipped", "whole_sentences"}
