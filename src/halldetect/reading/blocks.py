"""The blocks of a text and their lines, without mark-up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from halldetect.reading.document import Span, TrackedText

# A long line without a sentence end, and a line that begins mid-sentence.
_WRAPPED = re.compile(r".{50,}[^.!?:;\s]", re.DOTALL)
_CONTINUES = re.compile(r"\s*[a-z0-9(\"'“‘]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block without its mark-up.

    Attributes:
        text: The words.
        strong: The bold ranges.
        aside: Text in the mark-up: link addresses and titles, comments, attributes.
        struck: True if the whole line is struck out; struck words inside a line are left out.
        tags: Block HTML tags opened ("td") and closed ("/td") since the previous line.
    """

    text: TrackedText
    strong: tuple[Span, ...] = ()
    aside: tuple[TrackedText, ...] = ()
    struck: bool = False
    tags: tuple[str, ...] = ()

    @property
    def bold(self) -> bool:
        """True if the whole line is bold."""
        words = self.text.text.strip()
        return bool(words) and any(
            span.cut(self.text.text).strip().rstrip(":") == words.rstrip(":")
            for span in self.strong
        )


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, table row or run of code.

    Attributes:
        kind: "paragraph", "heading", "row" or "code".
        lines: The lines; the cells of a row.
        items: Numbers of the enclosing list items, outermost first; empty outside lists.
        first: True for the first block of its innermost list item.
        number: The mark of that item ("3.") if it is numbered.
        header: The header cells of a row.
        quoted: True inside a block quote.
    """

    kind: str
    lines: tuple[Line, ...]
    items: tuple[int, ...] = ()
    first: bool = False
    number: TrackedText | None = None
    header: tuple[Line, ...] = ()
    quoted: bool = False


def unwrapped(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines; join those broken only because of their length."""
    pending: Line | None = None
    for line in lines:
        if pending is None:
            pending = line
        elif (
            _WRAPPED.fullmatch(pending.text.text.rstrip())
            and _CONTINUES.match(line.text.text)
            and pending.struck == line.struck
        ):
            joined = TrackedText.joined([pending.text, TrackedText.added(" "), line.text])
            pending = Line(joined, pending.strong, (*pending.aside, *line.aside), line.struck)
        else:
            yield pending
            pending = line
    if pending is not None:
        yield pending
