"""The options of a check: made from `Configuration`, the same for every command."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from halldetect import Detector
from halldetect.cli import build_parser, main
from halldetect.cli import options as cli_options
from halldetect.cli.options import configuration_for
from halldetect.cli.serve import settings_for
from halldetect.config import Configuration, Option, options
from tests.support.cli_reference import cli_reference
from tests.support.paths import ROOT

COMMANDS = {
    "check": ["check", "a b", "c d"],
    "demo": ["demo"],
    "batch": ["batch", "in.jsonl", "out.jsonl"],
    "serve": ["serve", "--database", "sqlite:///x.db"],
    "bench": ["bench", "run", "--method", "halldetect", "--dataset", "qags-cnndm", "-o", "x"],
}


built_once = cache(build_parser)


def parsed(command: str, *arguments: str) -> argparse.Namespace:
    return built_once().parse_args([*COMMANDS[command], *arguments])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_defaults_of_the_detector(command: str) -> None:
    assert configuration_for(parsed(command)) == Configuration() == Detector().configuration


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "bench"])
def test_paper_is_the_same_everywhere(command: str) -> None:
    found = configuration_for(parsed(command, "--paper"))
    assert found == Configuration.for_paper() == Detector.paper().configuration
    chosen = configuration_for(parsed(command, "--paper", "--seed", "3"))
    assert chosen == Detector.paper(seed=3).configuration


def test_the_service_checks_with_the_same_configuration() -> None:
    pytest.importorskip("sqlalchemy")
    for arguments in ([], ["--paper"], ["--threshold", "0.25"], ["--error-types", "date=E1"]):
        given = parsed("serve", *arguments)
        assert settings_for(given).checks.configuration == configuration_for(given)


@pytest.mark.parametrize("option", options(), ids=lambda option: option.name)
def test_every_option_reaches_the_configuration(option: Option) -> None:
    if option.flag is None or option.name == "extractor":  # only with --paper
        return
    values = {"device": "cpu", "threshold": "0.25", "on_unchecked": "fail"}
    values |= {"error_types": "number=E1, wrong figure,invented detail=E2"}
    text = values.get(option.name, "7")
    for command in ("check", "demo", "batch", "serve"):
        found = configuration_for(parsed(command, option.flag, text))
        assert found == replace(Configuration(), **{option.name: option.parse(text)})


def test_an_extractor_needs_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "a b", "c d", "--extractor", "gguf"]) == 2
    assert "add --paper" in capsys.readouterr().err


def test_new_options_reach_the_command_line_unchanged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = Option("colour", "red", "which colour", "NAME")
    monkeypatch.setattr(cli_options, "options", lambda: (*options(), new))
    for command in ("check", "demo", "batch", "serve"):
        given = build_parser().parse_args([*COMMANDS[command], "--colour", "blue"])
        assert given.colour == "blue"
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "which colour (default: red)" in capsys.readouterr().out
    assert "which colour (default: red)" in cli_reference()


@pytest.mark.parametrize(
    "option", [option for option in options() if option.flag], ids=lambda option: option.name
)
def test_no_file_repeats_the_flag_of_an_option(option: Option) -> None:
    files = [
        file.relative_to(ROOT).as_posix()
        for file in sorted((ROOT / "src" / "halldetect").rglob("*.py"))
        if f'"{option.flag}"' in file.read_text(encoding="utf-8")
    ]
    assert files == [], "the flag follows from the name of the field"


def test_help_lists_extractors_and_verifiers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    shown = capsys.readouterr().out
    assert "extractors:\n" in shown
    assert "  base               the verifier in the package, the default; no download\n" in shown


def test_the_reference_is_what_the_parser_says() -> None:
    page = Path(ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == cli_reference(), "run: python -m tests.support.cli_reference > docs/cli.md"


@pytest.mark.parametrize(
    "command",
    [
        ["index", "build", "", "-o", "made.index"],
        ["index", "build", "docs", "-o", ""],
        ["check", "A text.", "A text.", "--html", ""],
        ["repair", "A text.", "A text.", "--output", ""],
    ],
)
def test_an_empty_name_is_not_the_current_folder(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(command)
    assert stopped.value.code == 2
    assert "the name is empty" in capsys.readouterr().err
