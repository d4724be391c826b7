"""One row of the list of highest scores: what is said of it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from halldetect.render.passages import Passages
from halldetect.render.phrases import decisive_evidence, numbered, one_line
from halldetect.report import Report

_QUOTE = 220


@dataclass(frozen=True, slots=True)
class Worst:
    id: str
    score: float
    page: str
    claim: str | None = None
    status: str | None = None
    quote: str | None = None


def page_name(place: int) -> str:
    """By the place of the row, so that no id gets into the name of a file."""
    return f"{place:09}.html"


def shown(place: int, result: dict[str, Any]) -> Worst:
    report = Report.from_dict(result["report"])
    id, page = one_line(str(result["id"]))[:200] or f"row {place}", page_name(place)
    claims = [claim for _, claim in numbered(report)]
    if not claims:
        return Worst(id, result["score"], page)
    claim = min(
        (item for item in claims if item.status is claims[0].status),
        key=lambda item: 1.0 if item.score is None else item.score,
    )
    evidence = decisive_evidence(claim)
    quote = None if evidence is None else Passages(report).quote(claim, evidence, _QUOTE)
    return Worst(
        id,
        result["score"],
        page,
        one_line(claim.text)[:400],
        claim.status.value,
        None if quote is None else one_line(quote),
    )
