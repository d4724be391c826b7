"""The suites through the detector, on a fake verifier."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import suites
from halldetect.detector import Detector
from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.report import Status
from tests.support.fakes import OverlapVerifier


def test_every_suite_is_read_whole() -> None:
    counts = {suite: len(suites.suite_rows(suite)) for suite in suites.FILES}
    assert counts == {
        "cases": 400, "checks": 640, "everyday": 216, "hostile": 40, "contexts": 148,
        "recombined": 120, "long_answers": 200, "two_documents": 82, "quantities": 200,
        "quotations": 80, "long_answers_independent": 60, "two_documents_independent": 24,
        "long_answers_fresh": 60,
    }  # fmt: skip
    rows = [row for suite in suites.FILES for row in suites.suite_rows(suite)]
    assert len({(row.suite, row.id) for row in rows}) == len(rows)


def test_the_everyday_pairs_are_minimal() -> None:
    groups: dict[str, list[suites.SuiteRow]] = {}
    for row in suites.suite_rows("everyday"):
        groups.setdefault(row.id[:-1], []).append(row)
    for group in groups.values():
        assert len({row.source for row in group}) == 1
        assert {row.expected for row in group} == set(suites.EXPECTED.values())


def test_the_suite_of_languages_has_the_same_shape_in_each() -> None:
    text = (suites.DATA / "languages.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert len({(row["source"], row["claim"]) for row in rows}) == len(rows)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        pair = (row["language"], row["claim_language"])
        counts.setdefault(pair, Counter())[row["kind"]] += 1
        assert row["claim"] not in row["source"]
        assert row["label"] == {"true": "E", "unsupported": "N"}.get(row["kind"], "C")
    kinds = ("true", "contradicted", "unsupported", "number", "negation")
    for language in ("de", "es", "fr", "it", "pt", "hi", "zh", "ja", "ar", "ru"):
        passages = {row["source"] for row in rows if row["language"] == language}
        assert 8 <= len(passages) <= 10
        assert counts.pop((language, language)) == dict(zip(kinds, (16, 8, 6, 5, 5), strict=True))
        for pair in ((language, "en"), ("en", language)):
            assert counts.pop(pair) == dict(zip(kinds, (5, 2, 1, 1, 1), strict=True))
    assert not counts


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


@pytest.mark.parametrize(("suite", "least"), [("long_answers", 20), (suites.INDEPENDENT[0], 4)])
def test_long_answers_have_marked_false_sentences(suite: str, least: int) -> None:
    rows = suites.suite_rows(suite)
    kinds = Counter(row.kind for row in rows)
    assert len(kinds) >= 10
    assert min(kinds.values()) >= least
    sides = Counter(row.expected for row in rows)
    assert sides[Status.SUPPORTED] == sides[Status.UNSUPPORTED] == len(rows) / 2
    for row in rows:
        assert row.question
        assert "[[" not in row.claim
        assert 6 <= len(sentences(row.claim)) <= 12, row.id
        assert len(row.marked) in ((0,) if row.expected is Status.SUPPORTED else (1, 2)), row.id
        _assert_whole_sentences(row)


@pytest.mark.parametrize("suite", ["two_documents", suites.INDEPENDENT[1]])
def test_marked_sentences_combine_named_documents(suite: str) -> None:
    names = re.compile(r"\[\[([^|]+)\|")
    for line in (suites.DATA / f"{suite}.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        for side in entry.keys() & {"right", "wrong"}:
            (combined,) = names.findall(entry[side]["answer"])
            documents = combined.split("; ")
            assert len(documents) >= 2, entry["id"]
            assert set(documents) <= set(entry["documents"]), entry["id"]
    for row in suites.suite_rows(suite):
        assert len(row.marked) == 1
        assert row.question
        _assert_whole_sentences(row)


def _assert_whole_sentences(row: suites.SuiteRow) -> None:
    for span in row.marked:
        assert span.cut(row.claim).endswith((".", "!")), row.id
        assert span.start == 0 or row.claim[span.start - 1].isspace(), row.id


def test_marked_sentences_are_counted_by_hand() -> None:
    source, answer = "The hall is red.", "The hall is red. Zebras sleep under bridges."
    marked = (Span(17, len(answer)),)
    rows = [
        suites.SuiteRow("s", "1", "k", source, answer, Status.UNSUPPORTED, marked=marked),
        suites.SuiteRow("s", "2", "k", source, answer, Status.UNSUPPORTED, marked=(Span(0, 16),)),
    ]
    reports = suites.checked(Detector(verifier=OverlapVerifier()), rows)
    assert suites.marked_sentences(rows, reports) == {
        "false_sentences_marked": 2, "false_sentences_flagged": 1, "false_answers_named": 1,
        "other_claims_passed": 1, "other_claims_flagged": 1,
    }  # fmt: skip


def test_copied_sentences_are_never_flagged() -> None:
    rows = random.Random(30).sample(suites.suite_rows("copies"), 60)
    reports = suites.checked(Detector(), rows)
    flagged = [row.id for row, report in zip(rows, reports, strict=True) if not report.ok]
    assert flagged == []


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
