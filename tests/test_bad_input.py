"""Every kind of bad input ends in its documented state or in one line with a way out.

The table in docs/bad-input.md says the same in words.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from halldetect import Detector, Report, Verdict
from halldetect.cli import main
from halldetect.report import Status
from tests.support.fakes import OverlapVerifier, use_overlap_verifier

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "It is a museum today."
Output = pytest.CaptureFixture[str]


@pytest.fixture
def _small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with everything real but the weights."""
    use_overlap_verifier(monkeypatch)


def refused(arguments: list[str], capsys: Output, status: int = 2) -> str:
    """Return the one line on standard error of a command that gave no result."""
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


# Texts


@pytest.mark.usefixtures("_small_verifier")
@pytest.mark.parametrize(
    ("source", "response", "reason"),
    [(SOURCE, "\n\n\t", "the response is empty"), (" \n ", GOOD, "the source has no text")],
)
def test_empty_text(source: str, response: str, reason: str, capsys: Output) -> None:
    assert main(["check", source, response]) == 3
    assert reason in capsys.readouterr().out


@pytest.mark.usefixtures("_small_verifier")
def test_unchecked_part_beside_claims(capsys: Output) -> None:
    response = f"{GOOD} Who sold the old mill of Kell to the baker?"
    assert main(["check", SOURCE, response]) == 0
    assert "Faithful in what was checked; 1 part was not checked." in capsys.readouterr().out
    assert main(["check", SOURCE, response, "--on-unchecked", "fail"]) == 3


@pytest.mark.usefixtures("_small_verifier")
def test_lone_surrogate(capsys: Output) -> None:
    bad_argument = os.fsdecode(b"Today it is a \xff museum.")
    assert main(["check", SOURCE, bad_argument, "--json"]) in (0, 1)
    report = Report.from_json(capsys.readouterr().out)
    assert report.response == "Today it is a \N{REPLACEMENT CHARACTER} museum."
    assert "U+FFFD" in report.provenance.notes[0]


@pytest.mark.usefixtures("_small_verifier")
@pytest.mark.parametrize("which", ["source", "response"])
def test_ten_megabytes(tmp_path: Path, which: str, capsys: Output) -> None:
    large = tmp_path / "large.txt"
    large.write_text("The mill was built in 1790. " * 380_000, encoding="utf-8")
    texts = [str(large), GOOD] if which == "source" else [SOURCE, str(large)]
    start = time.process_time()
    assert main(["check", *texts]) == 3
    assert time.process_time() - start < 20
    assert f"the {which} has 10,640,000 characters" in " ".join(capsys.readouterr().out.split())


def test_line_of_100000_characters() -> None:
    detector = Detector(OverlapVerifier())
    line = ("mill " * 20_000).strip() + "!"
    report = detector.check(SOURCE, line)
    assert report.verdict is Verdict.UNCHECKABLE
    assert "tokens" in (report.reason or "")
    assert not detector.check(SOURCE, "x" * 100_000).ok
    assert detector.check(f"{line} {SOURCE}", GOOD).ok


def test_thousands_of_sentences() -> None:
    detector = Detector(OverlapVerifier())
    many = " ".join(f"Mill number {n} is old." for n in range(2000))
    assert detector.check(many, "Mill number 1432 is old.").ok
    report = detector.check("Hut 7 is new.", " ".join(f"Hut {n} is new." for n in range(1000)))
    assert report.verdict is Verdict.HALLUCINATED
    assert len(report.claims) == 1000


@pytest.mark.parametrize(
    "response",
    [
        "```python\nfor row in rows:\n    total += row.price\n```",
        "| year | visitors |\n|---|---|\n| 1790 | 12 |\n| 1791 | 15 |",
        "https://example.org/a\nhttps://example.org/b",
        "Die Mühle wurde 1850 gebaut und ist heute ein Museum.",
        "水车建于1850年。",
    ],
    ids=["code", "table", "addresses", "german", "chinese"],
)
def test_other_than_english_prose_is_never_faithful(response: str) -> None:
    report = Detector(OverlapVerifier()).check(SOURCE, response)
    assert report.verdict in (Verdict.UNCHECKABLE, Verdict.HALLUCINATED)
    assert all(claim.status is not Status.SUPPORTED for claim in report.claims)


# Files


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), "is a binary file; extract"),
        ("Кафе закрыто.".encode("cp1251"), "is not UTF-8 text (byte 0)"),
        (b"\xff\xfea", "is not UTF-16 text"),
    ],
)
def test_unreadable_file(data: bytes, why: str, tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes(data)
    assert why in refused(["check", str(file), GOOD], capsys)
    assert why in refused(["check", SOURCE, str(file)], capsys)


def test_missing_file_and_directory(tmp_path: Path, capsys: Output) -> None:
    line = refused(["check", "no/such/file.txt", GOOD], capsys)
    assert "no file 'no/such/file.txt'" in line
    assert "--text" in line
    assert "Is a directory" in refused(["check", SOURCE, str(tmp_path)], capsys)


def test_file_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SOURCE, encoding="utf-8")

    def deny(self: Path) -> bytes:  # the superuser may read everything, so chmod proves nothing
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", deny)
    assert "Permission denied" in refused(["check", str(secret), GOOD], capsys)


@pytest.mark.parametrize("command", [["check", SOURCE, GOOD], ["demo"]], ids=["check", "demo"])
def test_unwritable_place_is_found_before_models_run(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def run(*_: object, **__: object) -> None:
        pytest.fail("a detector was made")

    monkeypatch.setattr("halldetect.detector.Detector.__init__", run)
    there = tmp_path / "there.html"
    there.write_text("before", encoding="utf-8")
    for option in ("--html", "--markdown"):
        for place, why in [
            (tmp_path, "is a directory"),
            (there / "report", "there is no folder"),
            (tmp_path / ("long" * 100), "name too long"),
        ]:
            assert why in refused([*command, option, str(place)], capsys)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser may write everywhere
    for place in (there, tmp_path / "new.html"):
        assert "permission denied" in refused([*command, "--html", str(place)], capsys)
    assert there.read_text(encoding="utf-8") == "before"


@pytest.mark.usefixtures("_small_verifier")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_full_disk_keeps_the_verdict(capsys: Output) -> None:
    assert main(["check", SOURCE, GOOD, "--html", "/dev/full"]) == 2
    captured = capsys.readouterr()
    assert "FAITHFUL" in captured.out
    assert "cannot write '/dev/full'" in captured.err


# Models


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    return tmp_path


PAPER = ["check", SOURCE, GOOD, "--paper", "--verifier", "base", "--extractor"]


@pytest.mark.usefixtures("no_models")
def test_unknown_model_name(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    line = refused(["check", SOURCE, GOOD, "--verifier", "bas"], capsys)
    assert "unknown verifier 'bas'; did you mean base?" in line
    use_overlap_verifier(monkeypatch)
    for wrong, right in [("smollm2", "smollm2-135m"), ("sentence", "sentences")]:
        assert f"unknown extractor {wrong!r}; did you mean {right}?" in refused(
            [*PAPER, wrong], capsys
        )
    assert "add --paper" in refused(["check", SOURCE, GOOD, "--extractor", "gguf"], capsys)


def test_corrupt_model_file(
    no_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    spoiled = no_models / "spoiled.gguf"
    spoiled.write_bytes(b"GGUF\x03\x00\x00\x00 and then nothing of use")
    verifier = no_models / "verifier"
    verifier.mkdir()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        (verifier / name).write_bytes(b"\x00 not what it says")
    options = ["--verifier", str(verifier)]
    assert str(verifier) in refused(["check", SOURCE, GOOD, *options], capsys, 3)
    use_overlap_verifier(monkeypatch)
    assert str(spoiled) in refused([*PAPER, str(spoiled)], capsys, 3)


@pytest.mark.usefixtures("_small_verifier", "no_models")
def test_first_use_without_network(capsys: Output) -> None:
    assert main(["check", SOURCE, GOOD, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert Report.from_json(captured.out).ok
    assert "HALLDETECT_OFFLINE" in refused([*PAPER, "smollm2-135m"], capsys, 3)


@pytest.mark.usefixtures("_small_verifier")
def test_unwritable_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    blocked = tmp_path / "a file where a folder should be"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("HALLDETECT_HOME", str(blocked))
    monkeypatch.delenv("HALLDETECT_OFFLINE", raising=False)
    assert main(["check", SOURCE, GOOD, "--quiet"]) == 0
    assert main([*PAPER, "smollm2-135m", "--quiet"]) == 3
    captured = capsys.readouterr()
    assert "HALLDETECT_HOME" in captured.err
    assert captured.err.count("\n") == 1
