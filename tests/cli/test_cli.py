"""The command line as a user meets it: statuses, streams, forms of input and output."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import halldetect
from halldetect import Report, Verdict, render
from halldetect.cli import main
from halldetect.report import demo
from tests.support.fakes import OverlapVerifier, use_overlap_verifier
from tests.support.paths import ROOT

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "It is a museum today."
WRONG = "The mill was built in 1850."


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line with everything real but the weights."""
    use_overlap_verifier(monkeypatch)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))

    return give


def status_of(arguments: list[str]) -> int:
    """The exit status, also where argparse exits."""
    try:
        return main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_faithful_is_0_hallucinated_1_uncheckable_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, GOOD]) == 0
    assert "FAITHFUL" in capsys.readouterr().out
    assert main(["check", SOURCE, WRONG]) == 1
    out = capsys.readouterr().out
    assert "HALLUCINATED" in out
    assert "built in 1790" in out
    assert main(["check", SOURCE, ""]) == 3
    assert "the response is empty" in capsys.readouterr().out


def test_json_is_the_only_thing_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, WRONG, "--json"]) == 1
    captured = capsys.readouterr()
    report = Report.from_json(captured.out)
    assert report.verdict is Verdict.HALLUCINATED
    assert report.documents == (SOURCE,)
    jsonschema.validate(json.loads(captured.out), render.json_schema())


def test_files_are_read_and_reports_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, response = tmp_path / "source.txt", tmp_path / "response.txt"
    source.write_text(SOURCE, encoding="utf-8")
    response.write_text(GOOD, encoding="utf-8")
    page, notes = tmp_path / "report.html", tmp_path / "report.md"
    arguments = ["check", str(source), str(response), "--html", str(page), "--markdown", str(notes)]
    assert main(arguments) == 0
    text = page.read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "source.txt" in text
    assert "response.txt" in text
    assert GOOD in notes.read_text(encoding="utf-8")
    assert "FAITHFUL" in capsys.readouterr().out


@pytest.mark.slow  # needs the extra pdf
def test_a_report_is_written_as_pdf(tmp_path: Path) -> None:
    pytest.importorskip("weasyprint", exc_type=ImportError)
    sheet = tmp_path / "report.pdf"
    assert main(["check", SOURCE, GOOD, "--pdf", str(sheet)]) == 0
    assert sheet.read_bytes().startswith(b"%PDF-")


def test_a_pdf_without_its_library_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setattr("halldetect.detector.Detector.check", None)
    assert main(["check", SOURCE, GOOD, "--pdf", str(tmp_path / "a.pdf")]) == 3
    assert "[pdf]" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_announce_themselves(tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "source.txt"
    source.write_text("Das Café öffnet um 7 Uhr.", encoding=encoding)
    assert main(["check", str(source), "Das Café öffnet um 7 Uhr."]) == 0


def test_standard_input_for_either(
    stdin: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    stdin("Das Café öffnet um 7 Uhr.".encode())
    assert main(["check", "-", "Das Café öffnet um 7 Uhr."]) == 0
    stdin(WRONG.encode())
    assert main(["check", SOURCE, "-"]) == 1
    capsys.readouterr()
    stdin(b"text")
    assert main(["check", "-", "-"]) == 2
    assert "only once" in capsys.readouterr().err


def test_several_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("Rye bread needs a long rest.", encoding="utf-8")
    second.write_text(SOURCE, encoding="utf-8")
    further = ["--source", str(first), "--source", str(second), "--json"]
    assert main(["check", GOOD, *further]) == 0
    assert len(Report.from_json(capsys.readouterr().out).documents) == 2
    assert main(["check", "Tea is hot.", GOOD, *further]) == 0
    assert len(Report.from_json(capsys.readouterr().out).documents) == 3
    assert main(["check", GOOD, "--source", "no such words"]) == 2


def test_text_forces_literals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, "museum.txt"]) == 2
    assert "--text" in capsys.readouterr().err
    assert main(["check", SOURCE, "museum.txt", "--text"]) in (1, 3)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("notes.txt", True),
        ("my notes.txt", True),
        ("./notes", True),
        ("/var/notes", True),
        ("docs/notes", True),
        ("C:\\notes", True),
        ("https://example.org/page", True),
        ("notes.gguf", True),
        ("The mill is open.", False),
        ("Paris", False),
        ("It cost 3.50", False),
        ("3.50", False),
        ("either and/or both", False),
        ("", False),
        ("line\nnotes.txt", False),
        ("long " * 99 + "notes.txt", False),
    ],
)
def test_what_looks_like_a_path(words: str, path: bool) -> None:
    from halldetect.cli.text_arguments import looks_like_path

    assert looks_like_path(words) is path


def test_a_response_may_begin_with_a_dash() -> None:
    assert main(["check", SOURCE, "- Today it is a museum."]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "check takes one SOURCE and one RESPONSE, but 0 were given"),
        (["check", "only one"], "one SOURCE and one RESPONSE"),
        (["check", "a b", "c d", "e f"], "but 3 were given"),
        (["check", "a b", "c d", "--threshold", "2"], "between 0 and 1"),
        (["check", "a b", "c d", "--threshold", "half"], "is not a number"),
        (["check", "a b", "c d", "--device", "abacus"], "invalid choice"),
        (["check", "a b", "c d", "--threads", "0"], "threads"),
        (["check", "a b", "c d", "--treshold", "1"], "--treshold 1; did you mean --threshold?"),
        (["check", "a b", "c d", "--format=githb"], "did you mean github?"),
        (["chekc", "a.md", "b.md"], "did you mean check?"),
        (["models", "pul"], "did you mean pull?"),
        (["qqq"], "known names: check, compare"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_options_reach_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--threshold", "0.25", "--seed", "3", "--threads", "2"]
    main(["check", SOURCE, GOOD, "--json", "--question", "Is it?", *options])
    report = Report.from_json(capsys.readouterr().out)
    assert report.question == "Is it?"
    assert report.threshold == 0.25
    configuration = report.provenance.configuration
    assert (configuration["seed"], configuration["threads"]) == (3, 2)


def test_schema_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == render.json_schema()
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out == f"halldetect {halldetect.__version__}\n"


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of([]) == 0
    captured = capsys.readouterr()
    assert "usage: halldetect" in captured.out
    assert captured.err == ""


class Interrupted(OverlapVerifier):
    def judge(self, pairs: Any) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "halldetect.models.verifiers.load_verifier", lambda spec, **_: Interrupted()
    )
    assert main(["check", SOURCE, GOOD]) == 130
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == "halldetect: interrupted"
    assert captured.out == ""


def test_a_defect_is_one_line_and_status_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(report: Report) -> str:
        raise KeyError("colour")

    monkeypatch.setattr(render, "terminal", broken)
    assert main(["check", SOURCE, GOOD]) == 3
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("HALLDETECT_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["check", SOURCE, GOOD])


def halldetect_process(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "halldetect", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def output_of(process: subprocess.Popen[bytes], seconds: float = 60) -> tuple[bytes, bytes]:
    """What it wrote until it ended; it is not left running if it does not end."""
    with process:
        try:
            return process.communicate(timeout=seconds)
        finally:
            process.kill()


def test_help_comes_in_half_a_second() -> None:
    """Half a second of a processor on which Python itself starts in 40 ms."""

    def seconds(start: Callable[[], subprocess.Popen[bytes]], says: bytes) -> float:
        """Of processor time: independent of the load of the machine."""
        before = os.times()
        process = start()
        out, _ = output_of(process)
        assert process.returncode == 0
        assert says in out
        after = os.times()
        return after[2] + after[3] - before[2] - before[3]

    def bare() -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, "-c", "pass"], stdout=pipe, stderr=pipe)

    usage = partial(halldetect_process, "--help")
    python = min(seconds(bare, b"") for _ in range(3))
    needed = (seconds(usage, b"exit status: 0 faithful") for _ in range(3))
    assert any(taken < max(0.5, 12.5 * python) for taken in needed)


def test_a_reader_that_leaves_is_no_error() -> None:
    with halldetect_process("schema") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_full_disk_under_standard_output_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "halldetect", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert run.returncode == 2
    assert run.stderr.startswith(b"halldetect: cannot write to standard output:")
    assert run.stderr.count(b"\n") == 1


def test_output_is_utf8_whatever_the_locale() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    process = halldetect_process("check", "The café.", "", "--json", env=environment)
    out, err = output_of(process)
    assert process.returncode == 3
    assert "café" in out.decode()
    assert err == b""


BUSY = """
import sys, time
from halldetect.models import verifiers
from halldetect.cli import main
from tests.support.fakes import OverlapVerifier

class Busy(OverlapVerifier):
    def judge(self, pairs):
        print("busy", flush=True)
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                pass  # as native code does

verifiers.load_verifier = lambda spec, **_: Busy()
sys.exit(main(["check", "It is old.", "It is very old."]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as on a terminal")
def test_ctrl_c_while_a_model_is_busy() -> None:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout is not None
    busy = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = output_of(process)
    assert busy == b"busy\n", err
    assert (process.returncode, out, err) == (130, b"", b"halldetect: interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="signals as on a terminal")
def test_ctrl_c_while_waiting_for_input() -> None:
    process = halldetect_process("check", "-", "Some response.", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"x" * 200_000)  # more than a pipe holds: returns when it is being read
    process.send_signal(signal.SIGINT)
    out, err = output_of(process)
    assert (process.returncode, out, err) == (130, b"", b"halldetect: interrupted\n")


EARLY = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
from halldetect.__main__ import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as on a terminal")
@pytest.mark.parametrize("module", ["halldetect.cli", "halldetect.cli.output"])
def test_ctrl_c_during_imports(module: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", EARLY, module],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=60,
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, b"", b"halldetect: interrupted\n")


def test_the_script_catches_an_early_ctrl_c() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"halldetect": "halldetect.__main__:main"}


def test_demo_says_what_came_out_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 3  # words alone cannot tell four euros from six
    captured = capsys.readouterr()
    assert "SOURCE" in captured.out
    assert "'A single ticket costs six euros.' is supported, not contradicted" in captured.err
    main(["demo", "--json", "--quiet"])
    captured = capsys.readouterr()
    assert Report.from_json(captured.out).response == demo.RESPONSE
    assert captured.err == ""


@pytest.mark.slow
def test_demo_with_real_weights_recognises_all_three_claims() -> None:
    process = halldetect_process("demo", "--json")
    out, err = output_of(process, 300)
    assert process.returncode == 0, err.decode()
    report = Report.from_json(out.decode())
    assert demo.deviations(report) == []
    assert all(claim.proof for claim in report.claims)


def unnumbered(text: str) -> str:
    """Without what depends on the processor: scores, bars, and the closest of poor passages."""
    shown = re.sub(r"\d\.\d\d|[━·│]{9,}|\d+(?= pairs)", "#", text)
    return re.sub(r"Closest passage: “[^”]*”", "Closest passage: #", shown).strip()


@pytest.mark.slow
def test_the_readme_shows_what_the_demo_prints() -> None:
    environment = {**os.environ, "COLUMNS": "88"}
    process = halldetect_process("demo", env=environment)
    out, _ = output_of(process, 300)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("```text\n")[2].partition("```")[0]
    assert unnumbered(out.decode()) == unnumbered(shown)


@pytest.fixture
def empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    return tmp_path


def test_models_list(empty_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "SIZE", "LICENCE"]
    assert lines[1].startswith("base  ")
    assert lines[2].split()[:4] == ["large", "in", "the", "package,"]
    assert lines[3].startswith("smollm2-135m (gguf)")
    assert all("absent" in line for line in lines[3:-2])
    assert lines[-1] == f"cache: {empty_store}"


def test_models_pull_and_verify_without_a_model(
    empty_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pull", "smollm2-135m"]) == 3
    advice = capsys.readouterr().err
    assert "unset HALLDETECT_OFFLINE" in advice
    assert "models pull" not in advice, "that is what was just tried"
    assert main(["models", "pull", "smollm"]) == 2
    assert "did you mean smollm2-135m?" in capsys.readouterr().err
    assert main(["models", "verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["base", "large"]
    assert all(line.endswith("in the package") for line in lines)
    assert main(["models", "verify", "base"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[:1]
    assert main(["models", "verify", "large"]) == 3, "its base is not here"
    assert capsys.readouterr().out.splitlines() == lines[1:]
    assert main(["models", "verify", "smollm2-135m"]) == 3
    assert "models pull smollm2-135m" in capsys.readouterr().err


def test_models_verify_finds_a_spoiled_file(
    empty_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = empty_store / "models" / "smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF and then nothing")
    assert main(["models", "list"]) == 0
    assert "corrupt" in capsys.readouterr().out
    assert main(["models", "verify"]) == 3
    captured = capsys.readouterr()
    assert "smollm2" not in captured.out
    assert "is corrupt" in captured.err


def test_a_source_can_be_given_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a=b.txt"
    file.write_text(SOURCE)
    named, plain = f"history={file}", str(file)
    assert main(["check", GOOD, "--source", named, "--source", plain, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["document_names"] == ["history", "a=b.txt"]
    assert main(["check", GOOD, "--source", "history=none.txt"]) == 2
    assert "none.txt" in capsys.readouterr().err
