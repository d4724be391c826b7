"""The examples of the README and the pages: Python runs, commands are ones the program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from halldetect.cli import build_parser, main
from tests.support.paths import ROOT

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
SEPARATORS = {"&&", ";", "|", "&"}


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(page: Path) -> Iterator[list[str]]:
    """The halldetect commands of a page's shell examples, each as its arguments."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while "halldetect" in words:
                words = words[words.index("halldetect") + 1 :]
                if not words or words[0] in SEPARATORS:
                    continue
                stop = next((at for at, word in enumerate(words) if word in SEPARATORS), len(words))
                yield words[:stop]
                words = words[stop:]


ALL = [
    pytest.param(arguments, id=f"{page.name}: {shlex.join(arguments)}")
    for page in PAGES
    for arguments in commands(page)
]


@pytest.mark.parametrize("arguments", ALL)
def test_a_command_is_one_the_program_takes(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
    else:
        assert callable(build_parser().parse_args(arguments).run)


def test_there_are_commands_to_try() -> None:
    assert len(ALL) > 10


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks(README, "python")
    exec(block, {})
    verdict, claim = capsys.readouterr().out.splitlines()
    assert verdict.startswith("hallucinated ")
    assert claim.startswith("contradicted The last boat returns at 22:30.")
