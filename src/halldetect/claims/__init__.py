"""Phase I: the claims of a response."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.reading.document import Span


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence that says something by itself.

    text     its words, in their order
    spans    where they stand in the response; several where words between them are left out
    read_as  the part as the verifier reads it, where that is not its text
    """

    text: str
    spans: tuple[Span, ...]
    read_as: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a response says: a sentence, or without the guard what an extractor wrote.

    text         the claim
    span         the part of the response it comes from; None where that is not known
    span_reason  why there is no span
    origin       "extracted"; "restored" for a sentence that the extractor left out in whole or
                 part
    problem      why it cannot be judged; None if it can
    read_as      the claim as the verifier reads it, where that is not its text: with names for
                 pronouns, or after the sentence it leans on
    parts        pieces of the sentence; judged only to say which of them fails
    citations    labels of the documents that it cites: "1", "2, 4"
    """

    text: str
    span: Span | None
    span_reason: str | None = None
    origin: str = "extracted"
    problem: str | None = None
    read_as: str | None = None
    parts: tuple[Part, ...] = ()
    citations: tuple[str, ...] = ()

    @property
    def hypothesis(self) -> str:
        """What the verifier reads."""
        return self.text if self.read_as is None else self.read_as
