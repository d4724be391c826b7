"""The suites of claims: their form, and the command that measures them, on a fake verifier."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import claims
from tests.support.fakes import OverlapVerifier


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
