"""Writes report.schema.json: the schema of pydantic, with ranges and without extra fields.

python -m tests.support.report_schema
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from halldetect import report as report_module
from halldetect.reading.document import Span
from halldetect.report import SCHEMA_VERSION, Report
from halldetect.report.json_form import report_adapter
from tests.support.paths import ROOT

FILE = ROOT / "src" / "halldetect" / "report.schema.json"


def written_schema() -> str:
    """Return the text of the file, from the fields of a report."""
    schema = _with_ranges(report_adapter(Report).json_schema(mode="serialization"))
    types = {Report.__name__: schema, **schema.pop("$defs")}
    for name, kind in types.items():
        if "properties" in kind:
            fields = dataclasses.fields(getattr(report_module, name, Span))
            required = [item.name for item in fields if not item.metadata.get("optional")]
            kind |= {"required": required, "additionalProperties": False}
    del types[Report.__name__]
    types["ClaimReport"]["properties"]["fed_score"]["anyOf"][0]["minimum"] = -1
    types["Cost"]["properties"]["seconds"]["additionalProperties"].pop("maximum")
    values = schema["properties"]["document_metadata"]["items"]["additionalProperties"]
    values["anyOf"] = [{"type": kind["type"]} for kind in values["anyOf"]]
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:halldetect:report:{SCHEMA_VERSION}",
        "title": "HallDetect report",
        **schema,
        # A report without a score cannot carry a verdict.
        "if": {"properties": {"score": {"type": "null"}}},
        "then": {"properties": {"verdict": {"enum": ["abstained", "uncheckable"]}}},
        "$defs": types,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _with_ranges(node: Any) -> Any:
    """Return a schema without titles and defaults; numbers are shares, whole numbers counts."""
    if isinstance(node, list):
        return [_with_ranges(item) for item in node]
    if not isinstance(node, dict):
        return node
    ranges = {"number": {"minimum": 0, "maximum": 1}, "integer": {"minimum": 0}}
    kept = {
        key: _with_ranges(item) for key, item in node.items() if key not in ("title", "default")
    }
    kind = node.get("type")
    return kept | ranges.get(kind, {}) if isinstance(kind, str) else kept


if __name__ == "__main__":
    FILE.write_text(written_schema(), encoding="utf-8")
