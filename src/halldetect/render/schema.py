"""The published JSON Schema of a report, derived by pydantic from its dataclasses."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from halldetect.reading.document import Span
from halldetect.report import (
    SCHEMA_VERSION,
    CitationReport,
    CitationScores,
    ClaimReport,
    Cost,
    ErrorReport,
    Evidence,
    PartReport,
    Probabilities,
    Report,
)
from halldetect.report.json_form import report_adapter

_UNIT: dict[str, Any] = {"minimum": 0, "maximum": 1}
_COUNT: dict[str, Any] = {"minimum": 0}

# What the types do not say: ranges and meanings, by dataclass and field.
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
    (ClaimReport, "support"): {**_UNIT, "description": "Calibrated support; 1 is fully supported."},
    (ClaimReport, "fed_score"): {
        "minimum": -1,
        "maximum": 1,
        "description": "Best entailment minus best contradiction.",
    },
    (ClaimReport, "by_scale"): {
        "description": "The best entailing window at each scale, coarse to fine."
    },
    (ClaimReport, "proof"): {
        "description": "The shortest passage found that settles the claim by itself."
    },
    (ClaimReport, "origin"): {
        "description": "extracted, or restored where the extractor left out some or all of it."
    },
    (ClaimReport, "read_as"): {
        "description": "What the verifier has read, where the claim leans on an earlier sentence."
    },
    (ClaimReport, "parts"): {
        "description": "Pieces of a failing claim, each judged alone; they decide nothing."
    },
    (ClaimReport, "error"): {
        "description": "What is wrong with a failing claim, where that is known."
    },
    (ClaimReport, "citations"): {
        "description": "The documents that the claim cites, and what each alone says of it."
    },
    (ErrorReport, "claim_words"): {"description": "The words of the claim that are wrong."},
    (ErrorReport, "source_words"): {
        "description": "What the source, or the claim that is contradicted, has in their place; "
        "empty where it has nothing."
    },
    (CitationReport, "document"): {
        "description": "Index into documents; null where no document has that number."
    },
    (CitationScores, "precision"): {
        **_UNIT,
        "description": "Share of the citations whose document supports the claim.",
    },
    (CitationScores, "recall"): {
        **_UNIT,
        "description": "Share of the claims that a document they cite supports.",
    },
    (Report, "citations"): {"description": "Null where the response cites no document."},
    (PartReport, "spans"): {"description": "The pieces of the part in the response."},
    (PartReport, "support"): {**_UNIT, "description": "As for claims."},
    (Report, "document_names"): {
        "description": "A name per document, where the caller gave names; else empty."
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
    """Return the JSON Schema (draft 2020-12) of what `Report.to_json` writes."""
    derived = report_adapter().json_schema(mode="serialization")
    types = {Report.__name__: derived, **derived["$defs"]}
    objects = {name: _object(name, types) for name in types if "properties" in types[name]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:halldetect:report:{SCHEMA_VERSION}",
        "title": "HallDetect report",
        "description": "The outcome of checking one response against its source.",
        **objects.pop(Report.__name__),
        # Nothing that was not scored may carry a verdict.
        "if": {"properties": {"score": {"type": "null"}}},
        "then": {"properties": {"verdict": {"enum": ["abstained", "uncheckable"]}}},
        "$defs": dict(sorted(objects.items())),
    }


def published() -> str:
    """Return the text of report.schema.json; a test keeps the file equal to it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _object(name: str, types: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a dataclass: every field is required, and there are no others."""
    notes = {field: note for (cls, field), note in _NOTES.items() if cls.__name__ == name}
    fields = types[name]["properties"]
    return {
        "type": "object",
        "properties": {
            field: {**_compact(node, types), **notes.get(field, {})}
            for field, node in fields.items()
        },
        "required": list(fields),
        "additionalProperties": False,
    }


def _compact(node: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """Return pydantic's schema of a type without titles and defaults, with states in place."""
    target = types.get(node.get("$ref", "").rpartition("/")[2], {})
    if "enum" in target:
        return {"enum": target["enum"]}
    if "anyOf" in node:
        options = [_compact(option, types) for option in node["anyOf"]]
        if all(set(option) == {"type"} for option in options):
            return {"type": [option["type"] for option in options]}
        return {"anyOf": options}
    kept: dict[str, Any] = {key: node[key] for key in ("$ref", "type") if key in node}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            kept[key] = _compact(node[key], types)
    return kept
