"""Read a source into sentences, table rows with headers, and turns with speakers.

A verifier reads running text. A table row is read with its header, and the second sentence of a
turn with its speaker. `structured` reads JSON, logs and signatures. All spans refer to the raw
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from halldetect.reading.blocks import Block
from halldetect.reading.document import Document, Span, TrackedText
from halldetect.reading.markdown import read_blocks
from halldetect.reading.normalise import is_plain, normalised
from halldetect.reading.references import begins_with_pronoun
from halldetect.reading.sentences import lines, sentences, trimmed
from halldetect.reading.structured import Area, log_lines, read_json, signatures

_SEPARATOR = re.compile(r"[ \t|:-]+")
_HTML_TABLE = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_SPEAKER = re.compile(r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}|Q|A):\s+\S")
# A text with fewer turns is a list of labels and values.
MIN_TURNS = 3
# "Kell bridge" is a title; "notes.txt", "report.pdf, page 3" and "Document 2" are not.
_TITLE = re.compile(r"(?!Document \d+$)(?!.*\.\w{2,5}\b)(?=.*[^\W\d_]{3})[^\W\d_][^\n]{2,120}")


def read_source(text: str) -> Document:
    """Read a source document into sentences, some with a different reading."""
    values = read_json(text)
    if values is not None:
        places, read = zip(*values, strict=True)
        return Document(text, tuple(places), readings=tuple(read))
    tables = [*_markdown_tables(text), *_html_tables(text)]
    # Sorted by start only: a signature comes before its lines.
    areas = sorted([*tables, *signatures(text), *log_lines(text)], key=lambda area: area[0].start)
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


def with_title(document: Document, name: str) -> Document:
    """Add the title to the first sentence of a document, if that begins with a pronoun.

    A name that is not a title is ignored.
    """
    if not document.sentences or _TITLE.fullmatch(name) is None:
        return document
    first = document.sentences[0].cut(document.text)
    if not begins_with_pronoun(first):
        return document
    readings = document.readings or (None,) * len(document.sentences)
    return replace(document, readings=(f"{name}: {readings[0] or first}", *readings[1:]))


def _reading(text: str, sentence: Span, speakers: dict[int, tuple[int, str]]) -> str | None:
    """Return the sentence with its speaker and plain letters, if that changes it."""
    raw = sentence.cut(text)
    reading = normalised(TrackedText.of(raw, 0, len(raw))).text
    if speakers:
        speaker = speakers.get(text.rfind("\n", 0, sentence.start) + 1)
        if speaker is not None and sentence.start > speaker[0]:
            reading = f"{speaker[1]}: {reading}"
    return None if reading == raw else reading


def _speakers(text: str) -> dict[int, tuple[int, str]]:
    """Return the start of the turn and the speaker, by the start of each line of a dialogue."""
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
        rule = line.cut(text)
        if number == 0 or number <= last or not ("|" in rule and "--" in rule):
            continue
        if not _SEPARATOR.fullmatch(rule):
            continue
        last = number
        while last + 1 < len(all_lines) and "|" in all_lines[last + 1].cut(text):
            last += 1
        area = Span(all_lines[number - 1].start, all_lines[last].end)
        blocks = _rows(area.cut(text))
        if len(blocks) == last - number + 1:
            places = [all_lines[number - 1], *all_lines[number + 1 : last + 1]]
            yield area, [(place, _row(block)) for place, block in zip(places, blocks, strict=True)]


def _html_tables(text: str) -> Iterator[Area]:
    """Yield tables like those of a response; an unclosed table ends with the text."""
    start: int | None = None
    for tag in _HTML_TABLE.finditer(text):
        if not tag[1]:
            start = tag.start()
        elif start is not None:
            yield from _html_table(text, Span(start, tag.end()))
            start = None
    if start is not None:
        yield from _html_table(text, Span(start, len(text)))


def _html_table(text: str, area: Span) -> Iterator[Area]:
    rows: list[tuple[Span, str | None]] = []
    for block in _rows(area.cut(text)):
        cells = [span for line in block.lines if (span := line.text.raw_span()) is not None]
        place = trimmed(text, area.start + cells[0].start, area.start + cells[-1].end)
        if place is not None:
            rows.append((place, _row(block)))
    if rows:
        yield area, rows


def _rows(table: str) -> list[Block]:
    return [block for block in read_blocks(table) if block.kind == "row"]


def _row(block: Block) -> str:
    cells = [normalised(line.text).text.strip() for line in block.lines]
    header = [normalised(line.text).text.strip() for line in block.header]
    return row_text(header, cells)


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as text: "Kettles: Q1 2025 14,200; Q2 2025 15,620."

    Args:
        header: The header cells; empty for the header row.
        cells: The cells of the row.
    """
    if not header:
        return ", ".join(filter(None, cells))
    names = [*header[1:], *[""] * len(cells)]
    named = [f"{name} {cell}".strip() for name, cell in zip(names, cells[1:], strict=False) if cell]
    values = "; ".join(named)
    subject = cells[0] if cells else ""
    if not (subject and values):
        return subject or values
    return f"{subject}: {values}" + ("" if values.endswith((".", "!", "?")) else ".")
