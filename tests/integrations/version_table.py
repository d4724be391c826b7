"""Writes versions into the table of docs/integrations.md.

python -m tests.integrations.version_table
"""

from __future__ import annotations

import re

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "integrations.md"
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) \| `(\w+)` \|", re.MULTILINE)
# The package of each module whose name says something else; promptfoo is not of Python.
PACKAGES = {
    "guardrails": "guardrails-ai",
    "haystack": "haystack-ai",
    "inspect": "inspect-ai",
    "llama_index": "llama-index-core",
    "mcp_server": "mcp",
    "mlflow": "mlflow-skinny",
    "nemo_guardrails": "nemoguardrails",
    "opentelemetry": "opentelemetry-sdk",
    "pytest_plugin": "pytest",
    "trulens": "trulens-core",
}


def with_measured_rows(page: str) -> str:
    """The page with the versions that are tested.

    Args:
        page: the text of the page.
    """
    return ROW.sub(_measured, page)


def _measured(row: re.Match[str]) -> str:
    name, stated, module = row[1], row[2], row[3]
    return f"| {name} | {_version(module) or stated} | `{module}` |"


def _version(module: str) -> str | None:
    """The version that the tests install; None where they install none."""
    package = PACKAGES.get(module, module)
    for file in ("tests/integrations/requirements.txt", ".ci/constraints.txt"):
        pins = (ROOT / file).read_text(encoding="utf-8")
        if found := re.search(rf"^{re.escape(package)}==([\d.]+)", pins, re.MULTILINE):
            return found[1]
    return None


if __name__ == "__main__":
    PAGE.write_text(with_measured_rows(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
