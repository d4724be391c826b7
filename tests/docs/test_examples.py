"""The examples of the README and the pages: Python runs, commands are ones the program takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from halldetect.claims.extraction import extract_claims
from halldetect.claims.extractors.by_rule import ClauseExtractor
from halldetect.cli import build_parser, main
from halldetect.serve.schemas import CheckRequest
from halldetect.text.reading import read_response
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_is_valid_and_imports_what_exists(page: Path) -> None:
    for block in blocks(page, "python"):
        tree = ast.parse(block)
        if page.name == "integrations.md":  # run with the frameworks, in tests/integrations
            continue
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), page.name, "exec"), {})


def test_a_request_of_the_service_page_is_valid() -> None:
    (body,) = re.findall(r"-d '(\{.*\})'", (ROOT / "docs" / "serve.md").read_text(encoding="utf-8"))
    CheckRequest.model_validate_json(body)


def test_the_sentence_of_the_claims_page_is_split_as_it_says() -> None:
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    section = text.partition("## How a sentence is split\n")[2]
    sentence = section.partition("`")[2].partition("`")[0]
    claims = extract_claims(read_response(sentence), ClauseExtractor()).claims
    assert [part.text for claim in claims for part in claim.parts] == [
        "Norvik was fined in Spain",
        "Norvik was fined in 2016",
        "Norvik was fined by the tax office",
    ]


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks(README, "python")
    exec(block, {})
    verdict, finding, claim = capsys.readouterr().out.splitlines()
    assert verdict.startswith("hallucinated ")
    assert finding.startswith("contradicted: “The last boat returns at 22:30.”")
    assert claim.startswith("contradicted 0.")
