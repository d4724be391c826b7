"""The report for people and for programs: terminal, Markdown, HTML, SARIF, GitHub, JSON Schema."""

from __future__ import annotations

from halldetect.render.audit import CheckRecord, pdf
from halldetect.render.github import github
from halldetect.render.html import html, payload
from halldetect.render.markdown import markdown
from halldetect.render.sarif import CheckedFile, sarif, sarif_log
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
    "payload",
    "pdf",
    "sarif",
    "sarif_log",
    "short",
    "terminal",
]
