"""A verifier that reads a source once: which windows it gets, in which order, at which cost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from halldetect import Detector, Status, Verdict
from halldetect.errors import MissingExtra, ModelError
from halldetect.reading.sentences import read_document
from halldetect.verification.scales import GRANULARITIES, source_windows
from halldetect.verification.schedule import ClaimSchedule, WholeSourceRule
from halldetect.verification.verifiers import load_verifier
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SENTENCES = [
    "The ferry to the island leaves every forty minutes.",
    "The first boat leaves at 6 in the morning.",
    "A single ticket costs 4 euros.",
    "Children under twelve travel free of charge.",
    "There is room for 10 bicycles on each crossing.",
    "Dogs have to wear a lead on board.",
    "The harbour office is closed on public holidays.",
    "Strong wind may stop the service at short notice.",
]
SOURCE = " ".join(SENTENCES)
RESPONSE = "A single ticket costs 4 euros. There is room for 12 bicycles on each crossing."


class ReadingVerifier(OverlapVerifier):
    """Remembers how often it was given each premise in a row."""

    reads_whole_sources = True


def test_a_claim_meets_the_whole_source_and_the_nearest_short_windows() -> None:
    verifier = ReadingVerifier()
    report = Detector(SentenceExtractor(), verifier).check(SOURCE, RESPONSE)
    pairs = [pair for call in verifier.calls for pair in call]
    claims = {claim for _, claim in pairs}
    for claim in claims:
        premises = [premise for premise, asked in pairs if asked == claim]
        assert SOURCE in premises
        assert len(premises) == 1 + WholeSourceRule().evidence_windows
    assert any(premise == SENTENCES[2] for premise, _ in pairs)
    assert any(premise == SENTENCES[4] for premise, _ in pairs)
    assert [claim.status for claim in report.claims] == [Status.SUPPORTED, Status.CONTRADICTED]
    assert report.verdict is Verdict.HALLUCINATED
    assert report.provenance.verifier["rule"] == {"evidence_windows": 3}


def test_pairs_of_one_window_stand_together() -> None:
    verifier = ReadingVerifier()
    Detector(SentenceExtractor(), verifier).check(SOURCE, RESPONSE)
    premises = [premise for call in verifier.calls for premise, _ in call]
    changes = sum(a != b for a, b in pairwise(premises))
    assert changes == len(set(premises)) - 1


def test_a_window_read_once_is_counted_once() -> None:
    verifier = ReadingVerifier()
    report = Detector(SentenceExtractor(), verifier).check(SOURCE, RESPONSE)
    pairs = [pair for call in verifier.calls for pair in call]
    windows = sorted({premise for premise, _ in pairs})
    claims = [claim for _, claim in pairs]
    assert len(windows) < len(pairs)
    expected = sum(verifier.count_tokens(windows)) + sum(verifier.count_tokens(claims))
    assert report.cost.verifier_tokens == expected


def test_exact_and_fed_judge_every_window() -> None:
    for options in ({"exact": True}, {"scoring": "fed"}):
        verifier = ReadingVerifier()
        report = Detector(SentenceExtractor(), verifier, **options).check(SOURCE, RESPONSE)  # type: ignore[arg-type]
        windows = source_windows([read_document(SOURCE)], GRANULARITIES)
        assert report.cost.pairs_judged == 2 * len(windows)
        assert report.provenance.verifier["rule"] is None


def test_a_source_too_long_to_be_read_at_once_is_read_in_pages() -> None:
    verifier = ReadingVerifier(max_tokens=60)
    report = Detector(SentenceExtractor(), verifier).check(SOURCE, SENTENCES[3])
    premises = {premise for call in verifier.calls for premise, _ in call}
    assert all(any(sentence in premise for premise in premises) for sentence in SENTENCES)
    assert report.verdict is Verdict.FAITHFUL


def test_several_documents_are_each_read_whole() -> None:
    documents = [" ".join(SENTENCES[:4]), " ".join(SENTENCES[4:])]
    verifier = ReadingVerifier()
    Detector(SentenceExtractor(), verifier).check(documents, SENTENCES[5])
    premises = {premise for call in verifier.calls for premise, _ in call}
    assert set(documents) <= premises


def test_a_batch_gives_what_single_checks_give() -> None:
    pairs = [(SOURCE, RESPONSE), (SOURCE, SENTENCES[1]), (SENTENCES[0], SENTENCES[7])]
    together = Detector(SentenceExtractor(), ReadingVerifier()).check_many(pairs)
    for pair, report in zip(pairs, together, strict=True):
        alone = Detector(SentenceExtractor(), ReadingVerifier()).check(*pair)
        assert alone.claims == report.claims


def test_without_windows_there_is_nothing_to_judge() -> None:
    assert ClaimSchedule.whole_first([], [], [], WholeSourceRule()).next_windows() == []


def test_without_its_base_the_large_verifier_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    with pytest.raises(ModelError, match="halldetect models pull large"):
        load_verifier("large")


def test_it_falls_back_only_if_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    notices: list[str] = []
    detector = Detector("sentences", "large", fallback="base", notice=notices.append)
    report = detector.check("The pump was repaired in May.", "The pump was repaired in May.")
    assert report.provenance.verifier["name"] == "base"
    assert report.provenance.configuration["verifier"] == "large"
    assert notices == [note for note in report.provenance.notes if "judged instead of" in note]
    assert len(notices) == 1
    assert "models pull large" in notices[0]


def test_without_its_extra_the_large_verifier_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halldetect.verification.verifiers.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"halldetect\[large\]"):
        load_verifier("large")
