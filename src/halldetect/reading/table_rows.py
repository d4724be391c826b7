"""A row of a table in a response: each cell with the first one of its row and its header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from halldetect.reading.assertions import is_sentence, names_topic, says_something
from halldetect.reading.blocks import Block
from halldetect.reading.dressing import Uncited, without_citations
from halldetect.reading.lead_ins import joined_names, stands_alone
from halldetect.reading.normalise import normalised
from halldetect.reading.tracked import TrackedText
from halldetect.reading.units import Citation, Form


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says.

    text       as it is judged: "Tea, Q2 2025: 5"
    form       a table row, or a heading for the cells of the header
    asserts    whether it says something that can be true or false
    own        its own words; None: all of the text
    lead_in    the first cell and the header that were put before it
    citations  the marks found in it
    """

    text: TrackedText
    form: Form
    asserts: bool
    own: TrackedText | None = None
    lead_in: str | None = None
    citations: tuple[Citation, ...] = ()


def read_row(block: Block) -> Iterator[Cell]:
    """What the cells of a row say, in order.

    block  the row; without a header it is the header of its table
    """
    cells = [without_citations(normalised(line.text).stripped()) for line in block.lines]
    if not block.header:
        for cell in cells:
            topic = names_topic(cell.text.text, marked=True)
            if cell.text.text:
                asserts = says_something(cell.text.text) and not topic
                yield Cell(cell.text, Form.HEADING, asserts)
        return
    subject = cells[0].text
    filled = [n for n in range(1, len(cells)) if any(map(str.isalnum, cells[n].text.text))]
    if not filled:
        if subject.text:
            yield Cell(subject, Form.ROW, says_something(subject.text))
        return
    if not names_topic(subject.text, marked=True) and is_sentence(subject.text):
        yield Cell(subject, Form.ROW, True)
    header = [normalised(line.text).stripped() for line in block.header]
    for number in filled:
        name = header[number] if number < len(header) else TrackedText("", ())
        yield _value(cells, number, name, first=number == filled[0])


def _value(cells: list[Uncited], number: int, name: TrackedText, *, first: bool) -> Cell:
    """A cell that is not the first of its row.

    cells   of the row
    number  which of them
    name    the header of its column
    first   whether it is the first that says something, to which the first cell of the row belongs
    """
    subject, value = cells[0].text, cells[number].text
    lead = joined_names(subject, name)
    topic = names_topic(subject.text, marked=True)
    alone = not lead.text or (topic and stands_alone(value.text, at_least=5))
    return Cell(
        value if alone else TrackedText.joined([lead, TrackedText.added(": "), value]),
        Form.ROW,
        True,
        own=TrackedText.joined([subject, value]) if first else value,
        lead_in=None if alone else lead.text,
        citations=cells[number].citations + (cells[0].citations if number == 1 else ()),
    )
