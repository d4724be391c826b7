"""The JSON and YAML snippets of the pages: each is valid, and what it names exists."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from halldetect.cli import build_parser, main
from halldetect_serve.proxy.messages import ChatRequest
from halldetect_serve.schemas import Problem
from tests.support.doc_examples import PAGES
from tests.support.fakes import use_overlap_verifier
from tests.support.paths import ROOT

# The pages with snippets of each language. test_commands.py runs the TOML file of ci.md,
# tests/packaging/test_schemas.py its YAML files.
EXPECTED = {
    "json": ["agents.md", "agents.md", "integrations.md", "quickstart.md", "serve.md", "serve.md"],
    "yaml": ["ci.md", "ci.md", "integrations.md", "integrations.md"],
    "toml": ["ci.md"],
}


def snippets(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_every_snippet_has_a_test() -> None:
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for language in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(language, []).append(page.name)
    assert {name: found[name] for name in found.keys() - {"sh", "python", "text"}} == EXPECTED


def commands(value: Any) -> list[list[str]]:
    """Return the commands in a configuration, each as its words."""
    if isinstance(value, list):
        return [command for item in value for command in commands(item)]
    if not isinstance(value, dict):
        return []
    own = value.get("command")
    found = [] if own is None else [[*own.split(), *value.get("args", [])]]
    return found + [command for item in value.values() for command in commands(item)]


@pytest.mark.parametrize("page", ["agents.md", "integrations.md"])
def test_command_of_a_configuration_is_known(page: str) -> None:
    for snippet in snippets(page, "json"):
        ((program, *arguments),) = commands(json.loads(snippet))
        assert program == "halldetect"
        assert callable(build_parser().parse_args(arguments).run)


def test_row_of_a_batch_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    (row,) = snippets("quickstart.md", "json")
    (tmp_path / "answers.jsonl").write_text(row, encoding="utf-8")
    place = str(tmp_path / "results.jsonl")
    assert main(["batch", str(tmp_path / "answers.jsonl"), place, "--quiet"]) == 0
    (line,) = Path(place).read_text(encoding="utf-8").splitlines()
    result = json.loads(line)
    assert (result["id"], result["verdict"]) == ("1", "hallucinated")


def test_error_and_request_fit_the_service() -> None:
    error, request = snippets("serve.md", "json")
    Problem.model_validate_json(error)
    asked = json.loads(request.replace("[...]", "[{}]"))
    options = ChatRequest.model_validate(asked).halldetect
    assert options is not None
    assert options.model_dump(exclude_unset=True) == asked["halldetect"]


def test_names_of_adapters_exist() -> None:
    promptfoo, litellm = map(yaml.safe_load, snippets("integrations.md", "yaml"))
    ((check,),) = [test["assert"] for test in promptfoo["tests"]]
    name = Path(check["value"]).name
    line = re.search(
        rf"`{name}` with the line `(.*?)`", (ROOT / "docs/integrations.md").read_text()
    )
    assert line is not None
    exec(line[1], {})
    (guardrail,) = litellm["guardrails"]
    module, _, kind = guardrail["litellm_params"]["guardrail"].rpartition(".")
    source = (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").read_text("utf-8")
    assert kind in [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
