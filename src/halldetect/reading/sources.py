"""Read a source into sentences, table rows with headers, and turns with speakers.

A verifier reads running text. A table row is read with its header, and the second sentence of a
turn with its speaker. `structured` reads JSON, logs and signatures. All spans refer to the raw
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from halldetect.reading.document import Block, Document, Span, TrackedText
from halldetect.reading.markdown import read_blocks
from halldetect.reading.normalise import is_plain, normalised
from halldetect.reading.references import begins_with_pronoun
from halldetect.reading.sentences import lines, sentences, trimmed
from halldetect.reading.structured import Statement, read_records, row_text

Area = tuple[Span, list[Statement]]

_SPEAKER = re.compile(r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}|Q|A):\s+\S")
# A text with fewer turns is a list of labels and values.
MIN_TURNS = 3
# "Kell bridge" is a title; "notes.txt", "report.pdf, page 3" and "Document 2" are not.
_TITLE = re.compile(r"(?!Document \d+$)(?!.*\.\w{2,5}\b)(?=.*[^\W\d_]{3})[^\W\d_][^\n]{2,120}")


def read_source(text: str) -> Document:
    """Read a source document into sentences, some with a different reading."""
    speakers = _speakers(text)
    records = None if speakers else read_records(text)
    if records is not None:
        places, said = zip(*records, strict=True)
        return Document(text, tuple(places), readings=tuple(said) if any(said) else ())
    areas = list(_tables(text))
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


def _tables(text: str) -> Iterator[Area]:
    """Yield Markdown and HTML tables, read like those of a response."""
    lowered = text.lower()
    if "|" not in text and "<table" not in lowered:
        return
    at = 0
    for is_row, group in groupby(read_blocks(text), key=lambda block: block.kind == "row"):
        rows: list[Statement] = []
        for block in group if is_row else ():
            spans = [span for line in block.lines if (span := line.text.raw_span()) is not None]
            if spans:
                rows.append((Span(spans[0].start, spans[-1].end), _row(block)))
        if not rows:
            continue
        first, last = rows[0][0].start, rows[-1][0].end
        start, end = text.rfind("\n", at, first) + 1, text.find("\n", last)
        if text[start:first].strip(" \t|>"):  # not a Markdown row: it has tags
            start, end = lowered.rfind("<table", at, first), lowered.find("</table", last)
            end = lowered.find(">", end) + 1
        else:
            rows = [(_line_of(text, place), said) for place, said in rows]
        at = len(text) if end < 0 else end
        yield Span(max(start, 0), at), rows


def _line_of(text: str, place: Span) -> Span:
    end = text.find("\n", place.end)
    start = text.rfind("\n", 0, place.start) + 1
    return trimmed(text, start, len(text) if end < 0 else end) or place


def _row(block: Block) -> str:
    cells = [normalised(line.text).text.strip() for line in block.lines]
    header = [normalised(line.text).text.strip() for line in block.header]
    return row_text(header, cells)
