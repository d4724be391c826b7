"""Reading a source: sentences as they stand, table rows with their headers, turns with speakers.

`text.json_source` reads JSON, `text.tool_output` logs, test results and signatures.

A verifier reads running text. A row of a table says little without the header, and the second
sentence of a turn does not say who speaks; both are read as text that does. Their spans are those
of the raw text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from halldetect.reading.blocks import Block
from halldetect.reading.document import Document, Span
from halldetect.reading.json_source import read_json
from halldetect.reading.markdown import read_blocks
from halldetect.reading.normalise import is_plain, normalised
from halldetect.reading.sentences import lines, sentences
from halldetect.reading.tool_output import Area, signatures, whole_lines
from halldetect.reading.tracked import TrackedText

_SEPARATOR = re.compile(r"(?=.*\|)(?=.*--)[ \t|:-]+")
_HTML_ROW = re.compile(r"<tr\b[^>]*>(.*?)(?:</tr>|(?=<tr\b)|</table>)", re.IGNORECASE | re.DOTALL)
_HTML_TABLE = re.compile(r"<table\b.*?(?:</table>|\Z)", re.IGNORECASE | re.DOTALL)
_HTML_CELL = re.compile(
    r"<t[hd]\b[^>]*>(.*?)(?=<t[hd]\b|</t[hd]>|</tr>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^>]*>")
_SPEAKER = re.compile(r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}|Q|A):\s+\S")
# A text with fewer turns than this is a list of labels and values.
MIN_TURNS = 3


def read_source(text: str) -> Document:
    """A source document with its sentences, and how those are read that need it."""
    values = read_json(text)
    if values is not None:
        spans_of, readings_of = zip(*values, strict=True)
        return Document(text, tuple(spans_of), readings=tuple(readings_of))
    tables = [*_markdown_tables(text), *_html_tables(text)]
    # Sorted by place only: a signature comes before the lines that it consists of.
    areas = sorted([*tables, *signatures(text), *whole_lines(text)], key=lambda area: area[0].start)
    speakers = _speakers(text)
    if not areas and not speakers and is_plain(text):
        return Document(text, sentences(text))
    spans: list[Span] = []
    readings: list[str | None] = []
    at = 0
    for area, rows in [*areas, (Span(len(text), len(text)), [])]:
        if area.start < at:
            continue
        for span in sentences(text[at : area.start]):
            place = Span(at + span.start, at + span.end)
            spans.append(place)
            readings.append(_reading(text, place, speakers))
        for place, reading in rows:
            spans.append(place)
            readings.append(reading)
        at = area.end
    return Document(text, tuple(spans), readings=tuple(readings) if any(readings) else ())


def _reading(text: str, sentence: Span, speakers: dict[int, tuple[int, str]]) -> str | None:
    """The sentence with its speaker and its letters, where that makes a difference."""
    raw = sentence.cut(text)
    reading = raw if is_plain(raw) else normalised(TrackedText.of(raw, 0, len(raw))).text
    start = text.rfind("\n", 0, sentence.start) + 1
    speaker = speakers.get(start)
    if speaker is not None and sentence.start > speaker[0]:
        reading = f"{speaker[1]}: {reading}"
    return None if reading == raw else reading


def _speakers(text: str) -> dict[int, tuple[int, str]]:
    """By the start of each line of a dialogue where its turn begins, and who speaks."""
    found = {}
    for line in lines(text):
        match = _SPEAKER.match(text, line.start, line.end)
        if match is not None:
            start = text.rfind("\n", 0, line.start) + 1
            found[start] = (line.start, match[1])
    names = [name for _, name in found.values()]
    if len(names) < MIN_TURNS or len(set(names)) * 2 > len(names) + 1:
        return {}
    return found


def _markdown_tables(text: str) -> Iterator[Area]:
    if "|" not in text:
        return
    all_lines = list(lines(text))
    last = -1
    for number, line in enumerate(all_lines):
        if number == 0 or number <= last or not _SEPARATOR.fullmatch(line.cut(text)):
            continue
        last = number
        while last + 1 < len(all_lines) and "|" in all_lines[last + 1].cut(text):
            last += 1
        area = Span(all_lines[number - 1].start, all_lines[last].end)
        blocks = [block for block in read_blocks(area.cut(text)) if block.kind == "row"]
        if len(blocks) == last - number + 1:
            places = [all_lines[number - 1], *all_lines[number + 1 : last + 1]]
            yield area, [(place, _row(block)) for place, block in zip(places, blocks, strict=True)]


def _row(block: Block) -> str:
    cells = [normalised(line.text).text.strip() for line in block.lines]
    header = [normalised(line.text).text.strip() for line in block.header]
    return row_text(header, cells)


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """A row as text: "Kettles: Q1 2025 14,200; Q2 2025 15,620."

    header  the cells of the header; empty for the header itself
    cells   those of the row
    """
    if not header:
        return ", ".join(filter(None, cells))
    named = []
    for number, cell in enumerate(cells[1:], 1):
        name = header[number] if number < len(header) else ""
        if cell:
            named.append(f"{name} {cell}".strip())
    values = "; ".join(named)
    subject = cells[0] if cells else ""
    if not (subject and values):
        return subject or values
    return f"{subject}: {values}" + ("" if values.endswith((".", "!", "?")) else ".")


def _html_tables(text: str) -> Iterator[Area]:
    for table in _HTML_TABLE.finditer(text) if "<t" in text.lower() else ():
        header: list[str] = []
        rows: list[tuple[Span, str | None]] = []
        for row in _HTML_ROW.finditer(text, *table.span()):
            cells = [
                " ".join(_TAG.sub(" ", cell[1]).split()) for cell in _HTML_CELL.finditer(row[1])
            ]
            if any(cells):
                rows.append((Span(*row.span()), row_text(header, cells)))
                header = header or cells
        if rows:
            yield Span(*table.span()), rows
