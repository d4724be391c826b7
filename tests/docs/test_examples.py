"""The examples of the README and the pages: Python runs, commands are ones the program takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from halldetect import Report, check
from halldetect.cli import build_parser, main
from tests.support.doc_examples import PAGES
from tests.support.fakes import use_overlap_verifier
from tests.support.paths import ROOT

README = ROOT / "README.md"
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


parser = cache(build_parser)  # slow to build
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
        assert callable(parser().parse_args(arguments).run)


def test_there_are_commands_to_try() -> None:
    assert len(ALL) > 10


# Run elsewhere: with the frameworks, in tests/integrations; by tests/docs/test_extending.py.
ELSEWHERE = {"integrations.md", "extending.md"}
FRAMEWORKS = ("langchain",)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what the examples read, and a verifier that costs nothing."""
    use_overlap_verifier(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bridges.txt").write_text("The bridge opened in 1932.", encoding="utf-8")
    assert main(["index", "build", "bridges.txt", "-o", "company.index", "--quiet"]) == 0


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_runs(page: Path, request: pytest.FixtureRequest) -> None:
    if page.name in ELSEWHERE:
        return
    for block in blocks(page, "python"):
        if any(f"{name}_" in block for name in FRAMEWORKS):
            ast.parse(block)  # run in tests/integrations
            continue
        if "127.0.0.1:8000" in block:
            service = request.getfixturevalue("service")
            block = block.replace("http://127.0.0.1:8000", service.url)
        values: dict[str, Any] = {}
        exec(compile(block, page.name, "exec"), values)
        for name in [name for name in values if name.startswith("test_")]:
            _run_test(values[name])


def _grounded(response: str, source: Any, **more: Any) -> Report:
    report = check(source, response, **more)
    assert report.ok, report
    return report


def _run_test(test: Callable[..., None]) -> None:
    """Call a test of an example as pytest would, with each of its cases."""
    marks = getattr(test, "pytestmark", [])
    cases = [dict(zip(mark.args[0], case, strict=True)) for mark in marks for case in mark.args[1]]
    for case in cases or [{}]:
        test(grounded=_grounded, **case)


def test_the_readme_with_real_weights(capsys: pytest.CaptureFixture[str]) -> None:
    first, rag, *_ = blocks(README, "python")
    exec(first, {})
    verdict, finding, claims = capsys.readouterr().out.splitlines()
    assert verdict.startswith("hallucinated ")
    assert finding.startswith("contradicted: “The last boat returns at 22:30.”")
    assert "contradicted" in claims
    values: dict[str, Any] = {}
    exec(rag, values)
    assert values["answer"] == "A single ticket costs four euros."
