"""The published JSON Schema of a report, which `halldetect schema` prints."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the JSON that `Report.to_json` writes."""
    file = resources.files("halldetect") / "report.schema.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))
