"""The blocks of a text and their lines, without mark-up."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.reading.document import Span
from halldetect.reading.tracked import TrackedText


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block without its mark-up.

    text    what it says
    strong  the ranges of it that are bold
    aside   what stands in its mark-up: link addresses and titles, comments, attributes
    struck  whether all of it is struck out; struck words inside a line are left out
    tags    of block HTML that were opened ("td") and closed ("/td") since the line before it
    """

    text: TrackedText
    strong: tuple[Span, ...] = ()
    aside: tuple[TrackedText, ...] = ()
    struck: bool = False
    tags: tuple[str, ...] = ()

    @property
    def bold(self) -> bool:
        """Whether all of it is bold."""
        words = self.text.text.strip()
        return bool(words) and any(
            span.cut(self.text.text).strip().rstrip(":") == words.rstrip(":")
            for span in self.strong
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, table row or run of code.

    kind    "paragraph", "heading", "row" or "code"
    lines   of a row: its cells
    items   the list items it stands in, outermost first, by number; empty outside lists
    first   whether it is the first block of its innermost list item
    number  the mark of that item ("3."), where the item is numbered
    quoted  whether it stands in a block quote
    header  of a row: the cells of the header
    """

    kind: str
    lines: tuple[Line, ...]
    items: tuple[int, ...] = ()
    first: bool = False
    number: TrackedText | None = None
    quoted: bool = False
    header: tuple[Line, ...] = ()
