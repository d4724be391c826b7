"""The published JSON Schema of a report, derived by pydantic from its dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

from halldetect import report as report_module
from halldetect.reading.document import Span
from halldetect.report import SCHEMA_VERSION, ClaimReport, Report
from halldetect.report.json_form import report_adapter

# Numbers are shares from 0 to 1, whole numbers are counts, unless a field is named here.
_RANGES: dict[str, dict[str, Any]] = {
    f"{ClaimReport.__name__}.fed_score": {"minimum": -1, "maximum": 1},
    f"{Report.__name__}.schema_version": {"const": SCHEMA_VERSION},
}
_SHARE = {"minimum": 0, "maximum": 1}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the JSON that `Report.to_json` writes."""
    derived = report_adapter(Report).json_schema(mode="serialization")
    types = {Report.__name__: derived, **derived["$defs"]}
    objects = {name: _object(name, types) for name in types if "properties" in types[name]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:halldetect:report:{SCHEMA_VERSION}",
        "title": "HallDetect report",
        **objects.pop(Report.__name__),
        # A report without a score cannot carry a verdict.
        "if": {"properties": {"score": {"type": "null"}}},
        "then": {"properties": {"verdict": {"enum": ["abstained", "uncheckable"]}}},
        "$defs": dict(sorted(objects.items())),
    }


def published() -> str:
    """Return the text of report.schema.json; a test keeps the file equal to it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _object(name: str, types: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a dataclass: fields of the paper are optional, others required."""
    fields = types[name]["properties"]
    described = getattr(report_module, name, Span)
    optional = {
        item.name for item in dataclasses.fields(described) if item.metadata.get("paper_only")
    }
    return {
        "type": "object",
        "description": inspect.getdoc(described),
        "properties": {
            field: {**_compact(node, types), **_RANGES.get(f"{name}.{field}", {})}
            for field, node in fields.items()
        },
        "required": [field for field in fields if field not in optional],
        "additionalProperties": False,
    }


def _compact(node: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """Return pydantic's schema of a type with ranges and states, without titles and defaults."""
    target = types.get(node.get("$ref", "").rpartition("/")[2], {})
    if "enum" in target:
        return {"enum": target["enum"]}
    if "anyOf" in node:
        options = [_compact(option, types) for option in node["anyOf"]]
        if all("type" in option for option in options):
            ranges = {key: value for option in options for key, value in option.items()}
            return {**ranges, "type": [option["type"] for option in options]}
        return {"anyOf": options}
    kept: dict[str, Any] = {key: node[key] for key in ("$ref", "type") if key in node}
    if kept.get("type") == "number":
        kept |= _SHARE
    elif kept.get("type") == "integer":
        kept["minimum"] = 0
    if isinstance(node.get("items"), dict):
        kept["items"] = _compact(node["items"], types)
    if isinstance(node.get("additionalProperties"), dict):  # seconds have no maximum
        kept["additionalProperties"] = {**_compact(node["additionalProperties"], types)}
        kept["additionalProperties"].pop("maximum", None)
    return kept
