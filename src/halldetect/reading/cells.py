"""Cells of table rows with their headers, and the values, comments and lines of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from halldetect.reading.assertions import is_code, is_sentence, no_assertion
from halldetect.reading.citations import remove_citations
from halldetect.reading.document import Block, Citation, TrackedText
from halldetect.reading.normalise import normalised
from halldetect.reading.sentences import sentences_of
from halldetect.reading.structured import read_records

_GENERIC_HEADER = re.compile(
    r"(?:values?|details?|description|answer|information|results?|notes?|data)?", re.IGNORECASE
)
_SIGNS = dict.fromkeys("✓✔☑✅", "yes") | dict.fromkeys("✗✘❌☒🚫⛔", "no")
_ASSIGNMENT = re.compile(
    r"(?:(?:const|let|var|export|final|set)\s+)?(?P<name>[^\W\d]\w{2,40})\s*[:=]=?\s*"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[€$£]?\d[\d.,]*%?|true|false)[;,]?",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"(?:^|\s)(?:#+|//+|--|/?\*+)\s+(?=\S+\s+\S)")
_VALUE = re.compile(r"[:;\d]")
# Fields about the answer itself.
_ON_ANSWER = re.compile(
    r"(?:sources?|references?|citations?|links?|confidence(?: score)?)[,:]", re.IGNORECASE
)
# A longer header is not repeated in every row.
MAX_HEADER = 300


class Cell(NamedTuple):
    """The statement of a table cell, "Tea, Q2 2025: 5", or of a line of code.

    `reason`: why it is not judged. `own`: its own words if these are not all of the text.
    """

    text: TrackedText
    reason: str | None = None
    own: TrackedText | None = None
    lead_in: str | None = None
    citations: tuple[Citation, ...] = ()


def read_row(block: Block) -> Iterator[Cell]:
    """Yield the cells of a row, each with the first cell of the row and its header.

    A row without a header is the header of its table.
    """
    read = [remove_citations(normalised(line.text).stripped()) for line in block.lines]
    cells, marks = [_spelled(cell) for cell, _ in read], [citations for _, citations in read]
    if not block.header:
        for cell in filter(lambda cell: cell.text, cells):
            yield Cell(cell, no_assertion(cell.text) or "a table header")
        return
    subject = cells[0]
    filled = [n for n in range(1, len(cells)) if any(map(str.isalnum, cells[n].text))]
    if subject.text and (not filled or is_sentence(subject.text)):
        yield Cell(subject, None if filled else no_assertion(subject.text))
    header = [normalised(line.text).stripped() for line in block.header]
    for number in filled:
        value = cells[number]
        lead = _named(subject, header[number] if number < len(header) else TrackedText("", ()))
        alone = not lead.text or _is_alone(value.text)
        yield Cell(
            value if alone else TrackedText.joined([lead, TrackedText.added(": "), value]),
            own=TrackedText.joined([subject, value]) if number == filled[0] else value,
            lead_in=None if alone else lead.text,
            citations=marks[number] + (marks[0] if number == 1 else ()),
        )


def _is_alone(value: str) -> bool:
    """Return True for a sentence that needs no header."""
    return len(value.split()) >= 4 and value.endswith((".", "!")) and is_sentence(value)


def _spelled(cell: TrackedText) -> TrackedText:
    """Replace a tick or a cross that fills a cell by "yes" or "no"."""
    sign = _SIGNS.get(cell.text.rstrip("\ufe0f"))
    return cell if sign is None else cell.edited([(0, len(cell.text), sign)])


def _named(subject: TrackedText, name: TrackedText) -> TrackedText:
    """Join the first cell of a row and the header of a column: "Revenue, Q2 2025"."""
    if _GENERIC_HEADER.fullmatch(name.text) or len(name.text) > MAX_HEADER:
        return subject
    comma = TrackedText.added(", " if subject.text else "")
    return TrackedText.joined([subject, comma, name])


def read_code(block: Block, text: str) -> Iterator[Cell]:
    """Yield the records of a code block in a text, or its assignments, comments and lines."""
    spans = [span for line in block.lines if (span := line.text.raw_span()) is not None]
    start = text.rfind("\n", 0, spans[0].start) + 1 if spans else 0
    records = read_records(text[start : spans[-1].end]) if spans else None
    for span, said in records or ():
        own = TrackedText.of(text, start + span.start, start + span.end)
        read = own if said is None else TrackedText.added(said)
        if _ON_ANSWER.match(read.text) and not is_sentence(read.text.partition(": ")[2]):
            yield Cell(read, "a note on the answer", own)
            continue
        header = not _VALUE.search(read.text) and not is_sentence(read.text)
        yield Cell(read, "code" if header or no_assertion(read.text) else None, own)
    for line in () if records else block.lines:
        code, assigned = line.text, _ASSIGNMENT.fullmatch(line.text.text)
        if assigned is not None:
            name, value = (code.cut(*assigned.span(at)) for at in ("name", "value"))
            name = TrackedText(name.text.replace("_", " "), name.origins)
            parts = [name, TrackedText.added(": "), value.stripped("\"'")]
            yield Cell(TrackedText.joined(parts))
            continue
        comment = _COMMENT.search(code.text)
        at, rest = (len(code.text),) * 2 if comment is None else comment.span()
        for part in (*sentences_of(code.cut(0, at)), *sentences_of(code.cut(rest))):
            yield Cell(part, "code" if no_assertion(part.text) or is_code(part.text) else None)
