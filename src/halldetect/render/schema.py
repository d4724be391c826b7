"""The published JSON Schema of a report, derived from its dataclasses."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import StrEnum
from typing import Any

from halldetect.report import (
    SCHEMA_VERSION,
    ClaimReport,
    Cost,
    Evidence,
    Probabilities,
    Report,
)
from halldetect.text.document import Span

_UNIT: dict[str, Any] = {"minimum": 0, "maximum": 1}
_COUNT: dict[str, Any] = {"minimum": 0}

# What a type alone cannot say: ranges and meaning, by dataclass and field.
_NOTES: dict[tuple[type, str], dict[str, Any]] = {
    (Span, "start"): {**_COUNT, "description": "First character, in Unicode code points."},
    (Span, "end"): {**_COUNT, "description": "One past the last character."},
    (Probabilities, "entailment"): {**_UNIT, "description": "The window says what the claim says."},
    (Probabilities, "neutral"): {**_UNIT, "description": "The window leaves the claim open."},
    (Probabilities, "contradiction"): {
        **_UNIT,
        "description": "The window says otherwise; null when the verifier cannot tell.",
    },
    (Evidence, "document"): {**_COUNT, "description": "Index into documents."},
    (Evidence, "span"): {"description": "The window's place in its document."},
    (Evidence, "scales"): {"description": "Every m at which this very window came up."},
    (ClaimReport, "span"): {"description": "The claim's place in the response."},
    (ClaimReport, "span_reason"): {"description": "Why there is no span."},
    (ClaimReport, "reason"): {"description": "Why the claim could not be checked."},
    (ClaimReport, "score"): {**_UNIT, "description": "Calibrated support; 1 is fully supported."},
    (ClaimReport, "fed_score"): {
        "minimum": -1,
        "maximum": 1,
        "description": "Best entailment minus best contradiction.",
    },
    (ClaimReport, "by_scale"): {
        "description": "The best entailing window at each scale, coarse to fine."
    },
    (ClaimReport, "origin"): {
        "description": "extracted, named (a name for a pronoun), or restored by the guard."
    },
    (Report, "reason"): {"description": "Why there is no verdict."},
    (Report, "score"): {**_UNIT, "description": "0 faithful, 1 hallucinated; null if unknown."},
    (Report, "fed_score"): {**_UNIT, "description": "The score of the paper's formula."},
    (Report, "calibrated_score"): {**_UNIT, "description": "The calibrated score."},
    (Report, "threshold"): {**_UNIT, "description": "Hallucinated at this score or above."},
    (Report, "schema_version"): {"const": SCHEMA_VERSION},
    **{(Cost, field.name): _COUNT for field in dataclasses.fields(Cost) if field.name != "seconds"},
}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what Report.to_json() writes."""
    defs: dict[str, Any] = {}
    body = _object(Report, defs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:halldetect:report:{SCHEMA_VERSION}",
        "title": "HallDetect report",
        "description": "The outcome of checking one response against its source.",
        **body,
        # Nothing that was not scored may carry a verdict.
        "if": {"properties": {"score": {"type": "null"}}},
        "then": {"properties": {"verdict": {"const": "uncheckable"}}},
        "$defs": dict(sorted(defs.items())),
    }


def _object(cls: type, defs: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    return {
        "type": "object",
        "properties": {
            name: {**_type(hints[name], defs), **_NOTES.get((cls, name), {})} for name in names
        },
        "required": names,
        "additionalProperties": False,
    }


_SCALARS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _type(hint: Any, defs: dict[str, Any]) -> dict[str, Any]:
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        options = [_type(argument, defs) for argument in arguments]
        if all(set(option) == {"type"} for option in options):
            return {"type": [option["type"] for option in options]}
        return {"anyOf": options}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], defs)}
    if origin is dict:
        values = _type(arguments[1], defs)
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [str(member) for member in hint]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        name = hint.__name__
        if name not in defs:
            defs[name] = {}
            defs[name] = _object(hint, defs)
        return {"$ref": f"#/$defs/{name}"}
    raise TypeError(f"no JSON Schema for {hint!r}")


def published() -> str:
    """The text of report.schema.json; a test keeps the file equal to it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
