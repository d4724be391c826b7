"""What is written of each row, and its JSON form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from halldetect.batch.rows import Row
from halldetect.report import Report, Status, Verdict


class Level(StrEnum):
    RESPONSE = "response"
    CLAIM = "claim"


def result_lines(row: Row, report: Report | None, problem: str | None, level: Level) -> bytes:
    """The lines of one row. `problem` is why there is no report."""
    results = (
        _claims(row, report, problem) if level is Level.CLAIM else [_response(row, report, problem)]
    )
    return b"".join(dump(result).encode() + b"\n" for result in results)


def dump(value: Any) -> str:
    """Compact JSON that can always be written as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate in an id or a carried column
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def _response(row: Row, report: Report | None, problem: str | None) -> dict[str, Any]:
    counts = Counter(claim.status for claim in report.claims) if report else Counter[Status]()
    return {
        "id": row.id,
        "verdict": report.verdict if report else Verdict.UNCHECKABLE,
        "reason": report.reason if report else problem,
        "bad_row": report is None,
        "score": report.score if report else None,
        "fed_score": report.fed_score if report else None,
        "claims": {status.value: counts[status] for status in Status},
        "columns": row.columns,
        "report": report.to_dict() if report else None,
    }


def _claims(row: Row, report: Report | None, problem: str | None) -> Iterator[dict[str, Any]]:
    """One result a claim; a row without claims still has one, so that none is lost."""
    claims = report.to_dict()["claims"] if report else []
    nothing: dict[str, Any] = {
        "text": None,
        "span": None,
        "span_reason": None,
        "status": Status.UNCHECKABLE,
        "reason": report.reason if report else problem,
        "score": None,
        "fed_score": None,
        "entailing": None,
        "contradicting": None,
        "contradiction": None,
        "by_scale": [],
        "origin": None,
    }
    for at, claim in enumerate(claims or [nothing], start=1):
        yield {
            "id": row.id,
            "verdict": report.verdict if report else Verdict.UNCHECKABLE,
            "bad_row": report is None,
            "claim": at if claims else None,
            **claim,
            "columns": row.columns,
        }
