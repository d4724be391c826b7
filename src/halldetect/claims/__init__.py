"""Phase I: the claims of a response."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.text.document import Span


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a response says.

    text         the claim
    span         the part of the response it comes from; None where that is not known
    span_reason  why there is no span
    origin       "extracted"; "named" where a name stands for a pronoun of the response;
                 "restored" for a sentence that the extractor left out in whole or part
    problem      why it cannot be judged; None if it can
    """

    text: str
    span: Span | None
    span_reason: str | None = None
    origin: str = "extracted"
    problem: str | None = None
