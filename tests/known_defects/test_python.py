"""The library as people write it: reports, thresholds, records, documents, coroutines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import halldetect
from halldetect import Detector
from halldetect.errors import ConfigurationError, MissingExtra, ModelError
from halldetect.integrations.checker import documents
from halldetect.report import Probabilities, Verdict
from halldetect.verification.cut import fit_cut
from tests.support.fakes import OverlapVerifier
from tests.support.known_defects import base, defect, judged

SOURCE = "The kiosk at the lake opens in April. It sells maps and tea."
WRONG = "The kiosk at the lake opens in June."


class Judge(OverlapVerifier):
    """Gives every pair the same P(E); `name` and operating points tell it from another."""

    def __init__(self, name: str, entailment: float, precision: float) -> None:
        super().__init__()
        self.name, self.entailment, self.precision = name, entailment, precision
        self.asked: list[tuple[str, str]] = []

    @property
    def description(self) -> dict[str, Any]:
        points = {"recall": 0.2, "balanced": 0.5, "precision": self.precision}
        return {"name": self.name, "digest": self.name * 2, "operating_points": points}

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.asked += pairs
        return [Probabilities(self.entailment, 1.0 - self.entailment, 0.0) for _ in pairs]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[Judge, Judge]:
    """The two verifiers of `auto`: the first is unsure, the second denies."""
    first, second = Judge("base", 0.45, 0.95), Judge("large", 0.3, 0.6)
    monkeypatch.setattr(
        "halldetect.models.verifiers.load_verifier",
        lambda spec, **_: second if spec == "large" else first,
    )
    return first, second


def test_a_named_threshold_is_that_of_the_verifier_that_judged(both: tuple[Judge, Judge]) -> None:
    """D2: a call has the same cut as a detector that is configured with it."""
    report = Detector("auto").check(SOURCE, WRONG, threshold="precision")
    assert report.provenance.verifier["name"] == "large"
    assert report.threshold == both[1].precision
    assert not report.ok


def test_wrong_words_and_omissions_are_asked_of_the_verifier_that_judged(
    both: tuple[Judge, Judge],
) -> None:
    """D2: after `large` has judged, `base` is not asked again."""
    detector = Detector("auto")
    detector.check(SOURCE, WRONG)
    before = [len(judge.asked) for judge in both]
    asked = "When does the kiosk at the lake open?"
    report = detector.check(SOURCE, WRONG, question=asked, words=True, missing=True)
    assert report.provenance.verifier["name"] == "large"
    # The first verifier judges each window of the claim once more, and nothing else.
    new = both[0].asked[before[0] :]
    assert {claim for _, claim in new} <= {claim.text for claim in report.claims}
    assert len({claim for _, claim in both[1].asked[before[1] :]}) > 1


def test_a_threshold_of_a_call_may_be_a_file_of_calibrate(tmp_path: Path) -> None:
    """D8"""
    verifier = OverlapVerifier()
    cut = fit_cut([0.1] * 30, [0.9] * 5, 0.1, verifier.description)
    path = tmp_path / "cut.json"
    path.write_text(cut.json)
    detector = Detector(verifier)
    report = detector.check(SOURCE, WRONG, threshold=str(path))
    assert report.threshold == cut.threshold
    assert cut.note in report.provenance.notes
    path.write_text(json.dumps({**json.loads(cut.json), "verifier": {"name": "another"}}))
    with pytest.raises(ConfigurationError, match="fitted with other weights"):
        detector.check(SOURCE, WRONG, threshold=str(path))


def test_words_in_another_language_are_not_skipped_in_silence() -> None:
    """D13"""
    source = "Der Kiosk am See öffnet im April. Er verkauft Karten und Tee an die Besucher."
    report = Detector(OverlapVerifier()).check(
        source, "Der Kiosk am See öffnet im Juni und verkauft Karten.", words=True
    )
    assert report.languages
    assert any("English" in note for note in report.provenance.notes)


def test_a_repair_asks_the_second_verifier_once_for_each_pair(both: tuple[Judge, Judge]) -> None:
    """D14"""
    response = f"{WRONG} It sells maps and tea. It is closed on Mondays."
    Detector("auto").repair(SOURCE, response)
    for judge in both:
        assert judge.asked
        assert len(judge.asked) == len(set(judge.asked)), judge.name


def test_a_report_is_false_when_it_is_not_ok() -> None:
    """`assert halldetect.check(...)` says what it seems to say."""
    detector = Detector(OverlapVerifier())
    for response in (SOURCE, WRONG, ""):
        report = detector.check(SOURCE, response)
        assert bool(report) is report.ok
    said = "Dragons nest upon every chimney."
    turns = [{"role": "user", "content": SOURCE}, {"role": "assistant", "content": said}]
    conversation = detector.check_conversation(turns)
    assert bool(conversation) is conversation.ok is False


def test_a_record_is_a_source() -> None:
    order = {"order": 4711, "status": "shipped", "parcels": [{"weight_kg": 3}]}
    assert judged(order, "The order 4711 was shipped.").ok


def test_a_list_of_records_is_a_source() -> None:
    huts = [{"hut": "Elm", "beds": 24}, {"hut": "Fir", "beds": 40}]
    assert judged(huts, "The Fir hut has 40 beds.").ok


@pytest.mark.parametrize(
    "document",
    [
        {"text": SOURCE, "metadata": {"page": 3, "title": "Lake guide"}},
        {"page_content": SOURCE, "metadata": {"source": "guide.pdf"}},
        {"content": SOURCE, "score": 0.87},
    ],
)
def test_documents_of_a_retriever_are_taken(document: dict[str, Any]) -> None:
    assert base().check([document], "The kiosk sells maps and tea.").ok


def test_metadata_of_a_document_reaches_the_passage() -> None:
    found = documents([{"text": SOURCE, "metadata": {"page": 3, "title": "Lake guide"}}])
    report = base().check(found, "The kiosk sells maps and tea.")
    assert "Lake guide" in report.to_json()


def test_a_check_can_be_awaited() -> None:
    async def checked() -> Any:
        return await halldetect.acheck(SOURCE, "The kiosk sells maps and tea.")

    assert asyncio.run(checked()).ok


@defect("The first hour")
def test_a_short_text_in_another_language_is_not_judged_by_an_english_verifier() -> None:
    for source, response in (
        ("Kaffee kostet drei Euro.", "Kaffee kostet vier Euro."),
        ("Tür bitte schließen!", "Tür bitte öffnen!"),
    ):
        assert judged(source, response).verdict is Verdict.UNCHECKABLE, response


@defect("The first hour")
def test_a_hint_names_something_that_can_be_installed() -> None:
    """The distribution is on no index, so a name alone cannot be installed."""
    assert "'halldetect[" not in str(MissingExtra("a check of PDF files", "documents"))


@defect("The right judge", raises=ModelError)
def test_auto_loads_the_second_verifier_for_an_unsure_claim_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A response that `base` is sure of needs neither the files of `large` nor their conversion."""
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    assert Detector("auto").check(SOURCE, "The kiosk at the lake opens in April.").ok
