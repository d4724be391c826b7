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
GOOD = "Today it is a museum."
SENTENCES = ["--extractor", "sentences"]


@pytest.fixture
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with everything real but the weights."""
    use_overlap_verifier(monkeypatch)


def small_detector() -> Detector:
    return Detector(OverlapVerifier())


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int) -> str:
    """The one line on standard error of a command that gave no result."""
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


@pytest.mark.usefixtures("small_verifier")
@pytest.mark.parametrize("response", ["", "   ", "\n\n\t"])
def test_an_empty_response(response: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, response, *SENTENCES]) == 3
    assert "the response is empty" in capsys.readouterr().out


@pytest.mark.usefixtures("small_verifier")
@pytest.mark.parametrize("source", ["", " \n "])
def test_an_empty_source(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", source, GOOD, *SENTENCES]) == 3
    assert "the source has no text" in capsys.readouterr().out


def test_a_binary_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = tmp_path / "image.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)))
    line = refused(["check", SOURCE, str(image)], capsys, 2)
    assert "is a binary file; extract its text first" in line


def test_a_file_in_another_encoding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tmp_path / "old.txt"
    old.write_bytes("Le café est fermé.".encode("latin-1"))
    assert "is not UTF-8 text (byte 6)" in refused(["check", str(old), GOOD], capsys, 2)
    old.write_bytes(b"\xff\xfea")
    assert "is not UTF-16 text" in refused(["check", str(old), GOOD], capsys, 2)


def test_nul_bytes_in_a_text() -> None:
    report = small_detector().check("The mill\x00 is old.", "The mill is\x00 old.")
    assert report.verdict is not Verdict.UNCHECKABLE
    assert "\x00" not in report.to_json()
    assert Report.from_json(report.to_json()) == report


@pytest.mark.usefixtures("small_verifier")
def test_lone_surrogates(capsys: pytest.CaptureFixture[str]) -> None:
    bad_argument = os.fsdecode(b"Today it is a \xff museum.")
    assert main(["check", SOURCE, bad_argument, "--json", *SENTENCES]) in (0, 1)
    report = Report.from_json(capsys.readouterr().out)
    assert report.response == "Today it is a \N{REPLACEMENT CHARACTER} museum."
    assert "U+FFFD" in report.provenance.notes[0]


@pytest.mark.usefixtures("small_verifier")
@pytest.mark.parametrize("which", ["source", "response"])
def test_ten_megabytes(tmp_path: Path, which: str, capsys: pytest.CaptureFixture[str]) -> None:
    large = tmp_path / "large.txt"
    large.write_text("The mill was built in 1790. " * 380_000, encoding="utf-8")
    texts = [str(large), GOOD] if which == "source" else [SOURCE, str(large)]
    start = time.perf_counter()
    assert main(["check", *texts, *SENTENCES]) == 3
    assert time.perf_counter() - start < 20
    assert f"the {which} has 10,640,000 characters" in " ".join(capsys.readouterr().out.split())


def test_a_line_of_100000_characters_without_a_full_stop() -> None:
    line = ("mill " * 20_000).strip() + "!"
    assert len(line) == 100_000
    report = small_detector().check(SOURCE, line)
    assert report.verdict is Verdict.UNCHECKABLE
    assert "tokens" in (report.reason or "")
    wall = small_detector().check(SOURCE, "x" * 100_000)
    assert wall.verdict in (Verdict.UNCHECKABLE, Verdict.HALLUCINATED)
    as_source = small_detector().check(f"{line} {SOURCE}", GOOD)
    assert as_source.verdict is Verdict.FAITHFUL


def test_thousands_of_sentences() -> None:
    many = " ".join(f"Mill number {n} is old." for n in range(2000))
    as_source = small_detector().check(many, "Mill number 1432 is old.")
    assert as_source.verdict is Verdict.FAITHFUL
    sentences = " ".join(f"Hut {n} is new." for n in range(2000))
    as_response = small_detector().check("Hut 7 is new.", sentences)
    assert as_response.verdict is Verdict.HALLUCINATED
    assert len(as_response.claims) == 2000


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
def test_what_is_no_english_prose_is_never_called_faithful(response: str) -> None:
    report = small_detector().check(SOURCE, response)
    assert report.verdict in (Verdict.UNCHECKABLE, Verdict.HALLUCINATED)
    assert all(claim.status is not Status.SUPPORTED for claim in report.claims)


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["check", "no/such/file.txt", GOOD], capsys, 2)
    assert "no file 'no/such/file.txt'" in line
    assert "--text" in line


def test_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is a directory" in refused(["check", SOURCE, str(tmp_path)], capsys, 2)
    assert "is a directory" in refused(["check", SOURCE, GOOD, "--html", str(tmp_path)], capsys, 2)


@pytest.mark.parametrize("option", ["--html", "--markdown"])
@pytest.mark.parametrize("command", [["check", SOURCE, GOOD], ["demo"]], ids=["check", "demo"])
def test_a_place_that_cannot_be_written_is_found_before_the_models_run(
    command: list[str],
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*_: object, **__: object) -> None:
        pytest.fail("a detector was made")

    monkeypatch.setattr("halldetect.detector.Detector.__init__", run)
    there = tmp_path / "there.html"
    there.write_text("before", encoding="utf-8")
    for place, why in [
        (tmp_path, "is a directory"),
        (tmp_path / "none" / "report", "there is no folder"),
        (there / "report", "there is no folder"),
        (tmp_path / ("long" * 100), "name too long"),
    ]:
        assert why in refused([*command, option, str(place)], capsys, 2)
    asked = []

    def deny(path: Path, mode: int) -> bool:  # the superuser may write everywhere
        asked.append(path)
        return False

    monkeypatch.setattr("halldetect.cli.output.os.access", deny)
    for place in (there, tmp_path / "new.html"):
        assert "permission denied" in refused([*command, option, str(place)], capsys, 2)
    assert asked == [there, tmp_path], "a file of its own, else the folder it would lie in"
    assert there.read_text(encoding="utf-8") == "before"


def test_no_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SOURCE, encoding="utf-8")

    def deny(self: Path) -> bytes:  # the superuser may read everything, so chmod proves nothing
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", deny)
    assert "no permission to read" in refused(["check", str(secret), GOOD], capsys, 2)


@pytest.mark.usefixtures("small_verifier")
def test_a_report_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "no folder" / "report.html"
    assert "there is no folder" in refused(
        ["check", SOURCE, GOOD, "--html", str(nowhere)], capsys, 2
    )
    if Path("/dev/full").exists():
        assert main(["check", SOURCE, GOOD, "--html", "/dev/full", *SENTENCES]) == 2
        captured = capsys.readouterr()
        assert "FAITHFUL" in captured.out
        assert "cannot write '/dev/full'" in captured.err


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    return tmp_path


@pytest.mark.usefixtures("no_models")
def test_an_unknown_model_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(["check", SOURCE, GOOD, *SENTENCES, "--verifier", "bas"], capsys, 2)
    assert "unknown verifier 'bas'; did you mean base?" in line
    use_overlap_verifier(monkeypatch)
    for wrong, right in [("smollm2", "smollm2-135m"), ("sentence", "sentences")]:
        line = refused(["check", SOURCE, GOOD, "--extractor", wrong], capsys, 2)
        assert f"unknown extractor {wrong!r}; did you mean {right}?" in line


def test_a_corrupt_model_file(
    no_models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoiled = no_models / "spoiled.gguf"
    spoiled.write_bytes(b"GGUF\x03\x00\x00\x00 and then nothing of use")
    verifier = no_models / "verifier"
    verifier.mkdir()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        (verifier / name).write_bytes(b"\x00 not what it says")
    options = [*SENTENCES, "--verifier", str(verifier)]
    assert str(verifier) in refused(["check", SOURCE, GOOD, *options], capsys, 3)
    use_overlap_verifier(monkeypatch)
    options = ["--extractor", str(spoiled)]
    assert str(spoiled) in refused(["check", SOURCE, GOOD, *options], capsys, 3)


@pytest.mark.usefixtures("small_verifier", "no_models")
def test_no_network_on_first_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, GOOD, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    report = Report.from_json(captured.out)
    assert report.provenance.extractor["name"] == "clauses"
    line = refused(["check", SOURCE, GOOD, "--extractor", "smollm2-135m"], capsys, 3)
    assert "HALLDETECT_OFFLINE" in line


@pytest.mark.usefixtures("small_verifier")
def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "a file where a folder should be"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("HALLDETECT_HOME", str(blocked))
    monkeypatch.delenv("HALLDETECT_OFFLINE", raising=False)
    assert main(["check", SOURCE, GOOD, "--quiet"]) == 0
    assert main(["check", SOURCE, GOOD, "--extractor", "smollm2-135m", "--quiet"]) == 3
    captured = capsys.readouterr()
    assert "HALLDETECT_HOME" in captured.err
    assert captured.err.count("\n") == 1
