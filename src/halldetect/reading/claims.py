"""The claims of a response: each asserting unit in the form that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from halldetect.reading.document import Document, Span
from halldetect.reading.references import readings


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a response.

    Attributes:
        text: The statement as it is judged.
        span: Its place in the response; None if unknown.
        span_reason: Why there is no span.
        problem: Why it cannot be judged; None if it can.
        read_as: The statement with its references resolved. A claim that fails unchanged is
            judged again in this form, which can only rescue it.
        citations: Labels of the cited documents, such as "1" or "2, 4".
    """

    text: str
    span: Span | None
    span_reason: str | None = None
    problem: str | None = None
    read_as: str | None = None
    citations: tuple[str, ...] = ()


def read_claims(response: Document) -> tuple[Claim, ...]:
    """Return the asserting units of a response as claims, in order."""
    claims = []
    for unit in response.units:
        if not unit.asserts:
            continue
        cited = tuple(citation.label for citation in unit.citations)
        claims.append(Claim(unit.text, unit.span, problem=unit.problem, citations=cited))
    return tuple(_with_references(claims))


def _with_references(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with `read_as` set where a reference was resolved."""
    found = readings([claim.text for claim in claims])
    return [
        claim if reading is None else replace(claim, read_as=reading.text)
        for claim, reading in zip(claims, found, strict=True)
    ]
