"""Units: what a text says, piece by piece, as it is judged and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halldetect.reading.document import Span
from halldetect.reading.tracked import TrackedText


class Form(StrEnum):
    """How a unit is written."""

    SENTENCE = "sentence"
    ITEM = "list item"
    ROW = "table row"
    HEADING = "heading"
    LABEL = "label"
    QUOTE = "quote"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Citation:
    """A mark that points to a source.

    label  what it points to, without brackets: "1", "Smith 2020"
    span   where the mark stands in the raw text
    """

    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table cell, heading or label of a text.

    tracked    the text that is judged: without marks, citations and openers, with the lead-in or
               the headers that it leans on
    span       its own words in the raw text, without what it leans on
    form       how it is written
    asserts    whether it says something that can be true or false
    lead_in    the heading, lead-in or headers that were put before it; None where there are none
    citations  the marks found in it
    abstains   whether it says that no answer is given
    problem    why it cannot be judged; None if it can
    """

    tracked: TrackedText
    span: Span
    form: Form
    asserts: bool
    lead_in: str | None = None
    citations: tuple[Citation, ...] = ()
    abstains: bool = False
    problem: str | None = None

    @property
    def text(self) -> str:
        """The text that is judged."""
        return self.tracked.text

    def raw_span(self, span: Span) -> Span:
        """Where a range of the judged text stands in the raw text.

        A range that only holds what was added stands where the unit stands.
        """
        return self.tracked.raw_span(span) or self.span
