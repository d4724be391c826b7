"""The report for people and for programs: terminal, Markdown, HTML, PDF, SARIF, JSON Schema."""

from __future__ import annotations

from halldetect.render.html import CheckRecord, html, pdf, view
from halldetect.render.markdown import markdown
from halldetect.render.sarif import CheckedFile, github, sarif, sarif_log
from halldetect.render.schema import json_schema
from halldetect.render.short import claim_line, short
from halldetect.render.terminal import terminal

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
