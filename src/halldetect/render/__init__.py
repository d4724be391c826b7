"""The report for people and for programs: terminal, Markdown, HTML, PDF, SARIF, JSON Schema."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from halldetect.render.html import CheckRecord, html, pdf, view
from halldetect.render.markdown import markdown
from halldetect.render.sarif import CheckedFile, github, sarif, sarif_log
from halldetect.render.terminal import terminal
from halldetect.report.short_text import claim_line, short

__all__ = [
    "CheckRecord",
    "CheckedFile",
    "claim_line",
    "github",
    "html",
    "json_schema",
    "markdown",
    "pdf",
    "sarif",
    "sarif_log",
    "short",
    "terminal",
    "view",
]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the JSON that `Report.to_json` writes."""
    file = resources.files("halldetect") / "report.schema.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))
