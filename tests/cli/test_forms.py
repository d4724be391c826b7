"""What check reads and prints: files by suffix, web addresses, forms of the report, hints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halldetect import Report
from halldetect.cli import build_parser, main
from halldetect.cli.check import FORMATS
from halldetect.cli.output import print_json
from tests.support.fakes import use_overlap_verifier

SOURCE = "The mill was built in 1790. Today it is a museum."
WRONG = "Today it is a museum.\n\nThe mill was built in 1850."
PAGE = """<html><head><title>The mill</title></head><body><p>The mill was built in 1790.</p>
<p>Today it is a <b>museum</b>.</p><script>ignored()</script></body></html>"""


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)


def usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_on_standard_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, WRONG, "--format", name, "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "1850" in out
    begins = {
        "short": "hallucinated (score",
        "json": "{",
        "markdown": "#",
        "html": "<!doctype html>",
        "sarif": "{",
        "github": "hallucinated (score",
    }
    assert out.lstrip().lower().startswith(begins.get(name, "✗ hallucinated"))
    if name == "json":
        assert Report.from_json(out).threshold == 0.5
    if name == "sarif":
        assert json.loads(out)["version"] == "2.1.0"


def test_json_is_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", SOURCE, WRONG, "--json", "--format", "json", "--quiet"]) == 1
    assert Report.from_json(capsys.readouterr().out).claims
    assert main(["check", SOURCE, WRONG, "--json", "--format", "short", "--quiet"]) == 1
    assert capsys.readouterr().out.startswith("hallucinated")


def test_github_notes_name_the_lines_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b").mkdir()
    (tmp_path / "a,b" / "50%.md").write_text(WRONG, encoding="utf-8")
    assert main(["check", SOURCE, "a,b/50%.md", "--format", "github", "--quiet"]) == 1
    verdict, note = capsys.readouterr().out.splitlines()
    assert verdict.startswith("a,b/50%.md: hallucinated")
    place, _, message = note.removeprefix("::error ").partition("::")
    assert place == (
        "file=a%2Cb/50%25.md,line=3,endLine=3,col=1,endColumn=28,title=contradicted claim"
    )
    assert message.startswith("contradicted: “The mill was built in 1850.”")
    assert "1790" in message


@pytest.mark.parametrize("name", ["::stop-commands::x", "a\n::error ::b", "##[error]c"])
def test_a_file_name_is_not_a_github_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(WRONG, encoding="utf-8")
    (tmp_path / "s.md").write_text(SOURCE, encoding="utf-8")
    rules = '[[answers]]\nfiles = "[:a#]*"\nsources = "s.md"\n'
    (tmp_path / ".halldetect.toml").write_text(rules, encoding="utf-8")
    for command in (
        ["check", SOURCE, name, "--format", "github", "--quiet"],
        ["check-files", "--format", "github", "--quiet"],
        ["check-files", "--quiet"],
    ):
        assert main(command) == 1
        for line in capsys.readouterr().out.splitlines():
            assert line.startswith("::error file=") or not line.startswith("::")
            assert "##[" not in line.partition(" file=")[0]


def test_github_calls_what_was_not_checked_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "", "It is a museum.", "--format", "github", "--quiet"]) == 3
    assert "::error title=not checked::uncheckable" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["html", "HTM", "xhtml"])
def test_html_is_read_by_its_suffix(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / f"mill.{ending}"
    source.write_text(PAGE, encoding="utf-8")
    assert main(["check", str(source), WRONG, "--json"]) == 1
    report = Report.from_json(capsys.readouterr().out)
    assert report.documents == ("The mill was built in 1790.\n\nToday it is a museum.",)


def test_a_page_without_text_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "empty.html"
    source.write_text("<html><script>1</script></html>", encoding="utf-8")
    assert "has no text" in usage_error(["check", str(source), WRONG], capsys)


def test_a_response_in_html_has_no_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answer.html").write_text("<p>The mill was built\nin 1850.</p>", encoding="utf-8")
    assert main(["check", SOURCE, "answer.html", "--format", "github", "--quiet"]) == 1
    assert "::error file=answer.html,title=" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["http://127.0.0.1/mill"], ["--source", "https://example.org"]]
)
def test_a_web_address_is_never_fetched(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    message = usage_error(["check", *arguments, "Today it is a museum."], capsys)
    assert "is a web address; save the page to a file" in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "manaul.md", "Some words."],
        ["calibrate", "manaul.md", "cut.json"],
        ["check", "Some words.", "--source", "name=manua.md"],
        ["check-files", "manul.md"],
        ["batch", "manuals.md", "out.jsonl"],
        ["index", "build", "manual.txt", "-o", "made.index"],
    ],
)
def test_missing_file_names_a_similar_one(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manual.md").write_text(SOURCE, encoding="utf-8")
    rules = '[[answers]]\nfiles = "*.md"\nsources = "manual.md"\n'
    (tmp_path / ".halldetect.toml").write_text(rules, encoding="utf-8")
    assert "; did you mean 'manual.md'?" in usage_error(arguments, capsys)


def test_json_lines_are_filled(capsys: pytest.CaptureFixture[str]) -> None:
    response = "It is a museum. It was built in 1790. It was built in 1850. Zebras sing."
    main(["check", SOURCE, response, "--json", "--quiet"])
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert len(json.loads(text)["claims"]) == 4
    assert len(lines) < 140
    assert len(Report.from_json(text).to_json().splitlines()) > 1.3 * len(lines)
    assert not [line for line in lines if len(line) > 100 and line.rstrip(",")[-1] in "}]"]
    print_json({"name": "\ud800"})  # a file name that is not UTF-8
    assert json.loads(capsys.readouterr().out) == {"name": "\ud800"}


OWN_VERIFIER = """
from tests.support.fakes import OverlapVerifier

class Judge(OverlapVerifier):
    description = {"name": "my own"}

class Demanding:
    def __init__(self, model):
        pass
"""


def test_verifier_of_the_users_own_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_models.py").write_text(OWN_VERIFIER, encoding="utf-8")
    command = ["check", SOURCE, "Today it is a museum.", "--json", "--verifier"]
    assert main([*command, "my_models:Judge"]) == 0
    made = Report.from_json(capsys.readouterr().out).provenance
    assert made.verifier["name"] == "my own"
    assert made.configuration["verifier"] == "object:Judge"
    for name in ("my_models:Judgee", "my_models:Demanding", "no_models:Judge", "io:BytesIO"):
        assert f"cannot use the verifier {name}" in usage_error([*command, name], capsys)


def test_a_file_in_place_of_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.md"
    file.write_text(SOURCE, encoding="utf-8")
    message = usage_error([str(file), "b.md"], capsys)
    assert f"did you mean halldetect check {file} ...?" in message


def test_options_may_stand_between_the_arguments() -> None:
    parsed = build_parser().parse_args(["check", "a.md", "--source", "b.md", "answer.md"])
    assert (parsed.texts, parsed.source) == (["a.md", "answer.md"], ["b.md"])
    parsed = build_parser().parse_args(["batch", "a.jsonl", "--fail-on", "bad", "b.jsonl", "out"])
    assert (parsed.source, parsed.target) == (["a.jsonl", "b.jsonl"], "out")
    parsed = build_parser().parse_args(["check", "--source", "b.md", "--", "-x"])
    assert parsed.texts == ["-x"]


def test_index_info_lists_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mill.md", "a\x1b[31m.md"):
        (tmp_path / name).write_text(SOURCE, encoding="utf-8")
    assert main(["index", "build", ".", "-o", "mills.idx", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["index", "info", "mills.idx"]) == 0
    assert capsys.readouterr().out.endswith("\n\n  a␛[31m.md\n  mill.md\n")
