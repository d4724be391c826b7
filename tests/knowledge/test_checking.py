"""Checks against knowledge: evidence names its document, and what is not found is unsupported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector, Status, Verdict
from halldetect.cli import main
from halldetect.errors import ConfigurationError, InputError
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.passages import Passage
from halldetect.knowledge.readers import find_files
from halldetect.reading.document import Span
from tests.support.fakes import OverlapVerifier, use_overlap_verifier


@pytest.fixture
def index(tmp_path: Path) -> Path:
    documents = {
        "bridge.txt": "The bridge over the river opened in 1932. Anna Holm designed the bridge.",
        "rome.txt": "Rome is the capital of Italy.",
    }
    for name, text in documents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "knowledge.index"
    build_index(path, find_files([tmp_path]))
    return path


@pytest.fixture
def detector(index: Path) -> Detector:
    return Detector(verifier=OverlapVerifier(), knowledge=index)


def test_every_state(detector: Detector) -> None:
    report = detector.check(
        [], "Anna Holm designed the bridge. The bridge opened in 1923. Zebras sing."
    )
    right, _, unknown = report.claims
    assert [claim.status for claim in report.claims] == [
        Status.SUPPORTED,
        Status.CONTRADICTED,
        Status.UNSUPPORTED,
    ]
    assert report.verdict is Verdict.HALLUCINATED
    assert right.proof is not None
    assert report.document_name(right.proof.document) == "bridge.txt, characters 0–72"
    assert unknown.reason is not None
    assert unknown.reason.startswith("nothing found")
    assert report.precision == pytest.approx(1 / 3)
    assert any("precision 0.33" in note for note in report.provenance.notes)
    assert any("sha256:" in note for note in report.provenance.notes)


def test_five_passages_per_claim(tmp_path: Path) -> None:
    for at in range(8):
        (tmp_path / f"{at}.txt").write_text(f"Rome has {at} hills in Italy.", encoding="utf-8")
    path = tmp_path / "hills.index"
    build_index(path, find_files([tmp_path]))
    detector = Detector(verifier=OverlapVerifier(), knowledge=path)
    assert len(detector.check([], "Rome has hills in Italy.").documents) == 5


def test_nothing_is_found_at_all(detector: Detector) -> None:
    report = detector.check("", "Zebras sing. Volcanoes dance.")
    assert report.verdict is Verdict.HALLUCINATED
    assert report.score == 1.0
    assert report.documents == ("",)
    assert {claim.status for claim in report.claims} == {Status.UNSUPPORTED}
    assert all((claim.reason or "").startswith("nothing found") for claim in report.claims)


@pytest.mark.parametrize("response", ["It is what it is.", "They were there.", "This."])
def test_claim_without_content_words_is_not_faithful(detector: Detector, response: str) -> None:
    report = detector.check([], response)
    assert report.verdict is not Verdict.FAITHFUL
    assert report.reason or report.claims[0].reason


def test_a_source_may_be_given_too(detector: Detector) -> None:
    report = detector.check("Zebras sing at night.", "Zebras sing. Rome is the capital of Italy.")
    assert report.verdict is Verdict.FAITHFUL
    assert report.document_names == ("Document 1", "rome.txt, characters 0–29")


def test_the_verifier_of_the_package_needs_no_source(index: Path) -> None:
    report = Detector(knowledge=index, threads=1).check([], "The bridge opened in 1932.")
    assert report.verdict is Verdict.FAITHFUL


def test_without_knowledge_a_source_is_needed() -> None:
    report = Detector(verifier=OverlapVerifier()).check([], "Zebras sing.")
    assert report.reason == "the source has no text"


def test_many_are_what_one_is(detector: Detector) -> None:
    responses = ["Rome is the capital of Italy.", "Zebras sing.", "The bridge opened in 1923."]
    reports = detector.check_many([([], response) for response in responses])
    assert [report.verdict for report in reports] == [
        detector.check([], response).verdict for response in responses
    ]


def test_a_repair_with_knowledge(detector: Detector) -> None:
    repair = detector.repair([], "The bridge opened in 1923. Zebras sing.")
    assert repair.text == "The bridge opened in 1932."


class Broken:
    """A knowledge that fails."""

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "broken"}

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        raise RuntimeError("connection lost")


class Memory:
    """A knowledge of one passage."""

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "memory"}

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        return [[Passage("Zebras sing.", "zoo", Span(7, 19))] for _ in claims]


def test_a_knowledge_that_fails() -> None:
    report = Detector(verifier=OverlapVerifier(), knowledge=Broken()).check([], "Zebras sing.")
    assert report.verdict is Verdict.UNCHECKABLE
    assert "connection lost" in str(report.reason)


def test_an_object_of_your_own() -> None:
    detector = Detector(verifier=OverlapVerifier(), knowledge=Memory())
    report = detector.check([], "Zebras sing.")
    assert report.verdict is Verdict.FAITHFUL
    assert report.document_names == ("zoo, characters 7–19",)
    with pytest.raises(ConfigurationError, match="knowledge"):
        Detector.from_provenance(report, verifier=OverlapVerifier())


def test_a_missing_index() -> None:
    with pytest.raises(InputError, match="there is no index"):
        Detector(verifier=OverlapVerifier(), knowledge="/none").check([], "Zebras sing.")


def test_the_commands(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_overlap_verifier(monkeypatch)
    monkeypatch.setenv("COLUMNS", "300")  # the name of a document is a long path
    other = tmp_path / "other.index"
    assert main(["index", "build", str(tmp_path), "-o", str(other), "--quiet"]) == 0
    assert "2 documents, 2 passages (2 added" in capsys.readouterr().out
    assert main(["index", "info", str(other)]) == 0
    assert "passages: 2" in capsys.readouterr().out
    assert main(["check", "Rome is the capital of Italy.", "--knowledge", str(other)]) == 0
    assert "rome.txt, characters 0–29" in capsys.readouterr().out
    assert main(["check", "Zebras sing.", "--knowledge", str(other)]) == 1
    (tmp_path / "rome.txt").unlink()
    build = ["index", "build", str(tmp_path), "-o", str(other), "--remove-missing", "--quiet"]
    assert main(build) == 0
    assert main(["check", "Rome is the capital of Italy.", "--knowledge", str(other)]) == 1
    assert "nothing found" in capsys.readouterr().out
    assert main(["check", "Zebras sing.", "--knowledge", str(tmp_path / "none")]) == 2


def test_batch_rows_without_a_source(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_overlap_verifier(monkeypatch)
    rows, results = tmp_path / "rows.csv", tmp_path / "results.jsonl"
    rows.write_text("response\nRome is the capital of Italy.\nZebras sing.\n", encoding="utf-8")
    status = main(["batch", str(rows), str(results), "--knowledge", str(index), "--quiet"])
    text = results.read_text(encoding="utf-8")
    assert '"verdict":"faithful"' in text.replace(" ", "")
    assert "nothing found" in text
    assert status in (0, 1)
