"""The examples of docs/integrations.md and docs/cookbook.md run, and the table is true."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
REQUIREMENTS = (ROOT / "tests" / "integrations" / "requirements.txt").read_text()
COOKBOOK = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE + COOKBOOK, re.DOTALL | re.MULTILINE)
PACKAGES = {
    "deepeval": "deepeval",
    "guardrails": "guardrails-ai",
    "haystack": "haystack-ai",
    "inspect": "inspect-ai",
    "langchain": "langchain",
    "langsmith": "langsmith",
    "litellm": "litellm",
    "llama_index": "llama-index-core",
    "llm_plugin": "llm",
    "mcp_server": "mcp",
    "mlflow": "mlflow-skinny",
    "nemo_guardrails": "nemoguardrails",
    "opentelemetry": "opentelemetry-sdk",
    "pytest_plugin": "pytest",
    "ragas": "ragas",
    "trulens": "trulens-core",
}
ROWS = re.findall(r"^\| ([^|]+) \| ([\d.]+) \| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)


def modules() -> set[str]:
    shared = {"__init__", "checker", "run_page"}
    folder = ROOT / "src" / "halldetect" / "integrations"
    return {path.stem for path in folder.glob("*.py")} - shared


def test_the_table_has_every_module_with_its_size_and_version() -> None:
    assert {module for _, _, module, _ in ROWS} == modules()
    for _, version, module, lines in ROWS:
        text = (ROOT / "src" / "halldetect" / "integrations" / f"{module}.py").read_text()
        assert abs(len(text.splitlines()) - int(lines)) <= 10, module
        if module in PACKAGES:
            assert f"\n{PACKAGES[module]}=={version}\n" in REQUIREMENTS, module


@pytest.mark.integrations
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("block", [block for block in BLOCKS if "def test_" not in block])
def test_an_example_runs(
    block: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    monkeypatch.chdir(str(tmp_path))
    if "sentence_transformers" in block:
        pytest.importorskip("numpy")
    exec(compile(block, "docs/integrations.md", "exec"), {})
