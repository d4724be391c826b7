"""The suites through the detector, on a fake verifier."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pytest

from benchmarks import suites
from halldetect.report import Status
from tests.support.fakes import OverlapVerifier


def test_every_suite_is_read_whole() -> None:
    counts = {suite: len(suites.suite_rows(suite)) for suite in suites.SUITES}
    assert counts == {
        "cases": 400, "checks": 640, "everyday": 216, "hostile": 40, "contexts": 148,
        "recombined": 120,
    }  # fmt: skip
    rows = [row for suite in suites.SUITES for row in suites.suite_rows(suite)]
    assert len({(row.suite, row.id) for row in rows}) == len(rows)


def test_the_everyday_pairs_are_minimal() -> None:
    groups: dict[str, list[suites.SuiteRow]] = {}
    for row in suites.suite_rows("everyday"):
        groups.setdefault(row.id[:-1], []).append(row)
    for group in groups.values():
        assert len({row.source for row in group}) == 1
        assert {row.expected for row in group} == set(suites.EXPECTED.values())


def test_figures_are_counted_by_hand() -> None:
    supported, contradicted, unsupported = (
        Status.SUPPORTED,
        Status.CONTRADICTED,
        Status.UNSUPPORTED,
    )
    pairs = [
        (supported, supported),
        (supported, contradicted),
        (contradicted, contradicted),
        (contradicted, unsupported),
        (contradicted, supported),
        (unsupported, contradicted),
    ]
    rows = [suites.SuiteRow("s", str(at), "k", "x", "y", pair[0]) for at, pair in enumerate(pairs)]
    found = suites.measured(rows, [pair[1] for pair in pairs])
    assert found["right_state"] == 2
    assert found["true_claims_flagged_share"] == 0.5
    assert found["false_claims_passed"] == 1
    assert found["contradiction_precision"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["contradiction_recall"] == pytest.approx(1 / 3, abs=1e-4)


def test_the_command_writes_digests_and_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "suites.json"
    monkeypatch.setattr(suites, "verifier_of", lambda options: OverlapVerifier())
    monkeypatch.setattr(sys, "argv", ["suites", "--limit", "3", "--out", str(out)])
    suites.main()
    result = json.loads(out.read_text())
    assert result["all"]["claims"] == len(result["predictions"]) == 18
    assert set(result["rows_sha256"]) == set(suites.SUITES)
    assert result["verifier"]["name"]


def test_pairs_of_a_file_are_drawn_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "pairs.jsonl.xz", tmp_path / "pairs.json"
    labels = tuple(suites.EXPECTED)
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        for at in range(30):
            pair = {"premise": f"Hall {at} is open.", "hypothesis": f"Hall {at} is open."}
            lines.write(json.dumps({**pair, "label": labels[at % 3]}) + "\n")
    drawn = suites.pair_rows(file, 9)
    assert drawn == suites.pair_rows(file, 9)
    assert [row.source for row in drawn] != [f"Hall {at} is open." for at in range(9)]
    assert len(suites.pair_rows(file, None)) == 30
    monkeypatch.setattr(suites, "verifier_of", lambda options: OverlapVerifier())
    command = ["--pairs", str(file), "--limit", "9", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["suites", *command])
    suites.main()
    written = json.loads(out.read_text())
    assert written["suites"]["pairs"]["claims"] == 9
    assert set(written["predictions"]) == {f"pairs {row.id}" for row in drawn}
    assert "Hall" not in out.read_text()


def test_a_file_of_pairs_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    with pytest.raises(SystemExit, match="is not there"):
        suites.pair_rows(file, None)
    file.write_text('{"premise": "a", "hypothesis": "b", "label": "not_entailment"}\n', "utf-8")
    with pytest.raises(SystemExit, match="line 1: the label is not one of entailment"):
        suites.pair_rows(file, None)
