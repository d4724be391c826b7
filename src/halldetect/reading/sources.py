"""Read a source into sentences, table rows with headers, and turns with speakers.

A verifier reads running text. A table row is read with its header, and the second sentence of a
turn with its speaker. `structured` reads records. All spans refer to the raw text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress, groupby
from string import ascii_lowercase, ascii_uppercase

from halldetect.reading.document import Block, Document, Span, TrackedText
from halldetect.reading.html_page import STRUCK
from halldetect.reading.markdown import read_blocks
from halldetect.reading.normalise import is_plain, normalised
from halldetect.reading.sentences import LINE_ENDS, sentences, trimmed
from halldetect.reading.structured import Statement, read_records, row_text
from halldetect.reading.words import remembered

Area = tuple[Span, list[Statement]]

_SPEAKER = re.compile(
    rf"(?:(?<=[{LINE_ENDS}])|\A)[^\S{LINE_ENDS}]*"
    rf"([A-Z][\w.'’-]{{0,40}}(?: [A-Z][\w.'’-]{{0,40}}){{0,2}}|Q|A):[^\S{LINE_ENDS}]+\S"
)
# A text with fewer turns is a list of labels and values.
MIN_TURNS = 3

# The line under the header of a Markdown table.
_DELIMITERS = re.compile(r"(?:^|[\r\n])[ \t>]*[|:-][|: \t-]*(?:$|[\r\n])")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_HIDING = re.compile(r"<!--|(?<!~)~~(?![~\s])|<(?P<name>[a-z][a-z0-9]*)\b[^<>]*>")
_NOT_SHOWN = re.compile(
    r"\shidden(?=[\s/>=])|\sstyle\s*=\s*[\"'][^\"']*(?:display\s*:\s*none|visibility\s*:\s*hidden)"
)
_UNTRUE = r"(?:false|untrue|incorrect|not true|wrong|inaccurate|myths?|misconceptions?|lies)"
_UNTRUE_WORD = re.compile(rf"{_UNTRUE}|hoax")
# "The following statements are false:", "Common myths about the ferry:", "Myth: It is free."
_DENIAL = re.compile(
    rf"\bfollowing\b[^.]{{0,60}}\b(?:is|are|was|were)\s+(?:all\s+|both\s+)?{_UNTRUE}[\W_]*$"
    rf"|^[\W_]*(?:(?:common|popular)\s+)?{_UNTRUE}(?:\s+(?:claim|statement|rumou?r)s?)?"
    r"(?:\s+about\s[\w ]{1,40})?[*_]*:[\W_]*$",
    re.IGNORECASE,
)
_FALSE_LABEL = re.compile(
    r"[\W_]*(?:false|untrue|not true|myth|hoax|misconception)[*_]*:[*_\s]", re.IGNORECASE
)
_MAX_DENIAL = 300
# The rest of a paragraph, or the next one; a list is one paragraph.
_PARAGRAPH = re.compile(
    r"[ \t]*(?:\n\s*)?(?:[ \t]*[^\s][^\n]*\n?)+"
    r"(?:\s*\n[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t][^\n]*)*"
)


@remembered(512)
def read_source(text: str) -> Document:
    """Read a source document into sentences, some with a different reading.

    Text that a reader does not see, or that is struck out or declared false, is left out.
    """
    document = _read(text)
    lowered = text.translate(_LOWER)
    hidden = [*_hidden(text, lowered), *_denied(document, lowered)]
    return _without(document, hidden) if hidden else document


def _read(text: str) -> Document:
    speakers = _speakers(text)
    records = None if speakers else read_records(text, evidence=True)
    if records is not None:
        return _document(text, records)
    areas = list(_tables(text))
    if not areas and not speakers and is_plain(text):
        return Document(text, sentences(text))
    found: list[Statement] = []
    at = 0
    for area, rows in [*areas, (Span(len(text), len(text)), [])]:
        if area.start < at:
            continue
        for span in sentences(text[at : area.start]):
            place = Span(at + span.start, at + span.end)
            found.append((place, _reading(text, place, speakers)))
        found += rows
        at = area.end
    return _document(text, found)


def _document(text: str, found: Sequence[Statement]) -> Document:
    places, said = zip(*found, strict=True) if found else ((), ())
    return Document(text, places, readings=said if any(said) else ())


def _hidden(text: str, lowered: str) -> Iterator[Span]:
    """Yield comments, struck text and elements that are not displayed, in order."""
    if "<" not in text and "~~" not in text:
        return
    missing: set[str] = set()
    at = 0
    while (mark := _HIDING.search(lowered, at)) is not None:
        at, name = mark.end(), mark["name"]
        closing = {"<!--": "-->", "~~": "~~"}.get(mark[0], f"</{name}>")
        shown = name is not None and name not in STRUCK and not _NOT_SHOWN.search(mark[0])
        end = -1 if shown or closing in missing else lowered.find(closing, at)
        if end < 0 and not shown:
            missing.add(closing)
        elif end >= 0 and (mark[0] != "~~" or "\n\n" not in text[at:end]):
            at = end + len(closing)
            yield Span(mark.start(), at)


def _denied(document: Document, lowered: str) -> Iterator[Span]:
    """Yield what a sentence declares false: the rest of its paragraph, or the next one."""
    text, end = document.text, 0
    starts = [sentence.start for sentence in document.sentences]
    places = (bisect_right(starts, word.start()) - 1 for word in _UNTRUE_WORD.finditer(lowered))
    for at in dict.fromkeys(at for at in places if at >= 0):
        sentence = document.sentences[at]
        said = sentence.cut(text)
        if sentence.start < end or len(said) > _MAX_DENIAL:
            continue
        if _FALSE_LABEL.match(said):
            yield sentence
        elif _DENIAL.search(said) and (block := _PARAGRAPH.match(text, sentence.end)) is not None:
            end = block.end()
            yield Span(sentence.end, end)


def _without(document: Document, hidden: Sequence[Span]) -> Document:
    """Leave out the hidden parts, which are in order; the rest of a sentence is its reading."""
    seen = bytearray(b"\1") * len(document.text)
    for part in hidden:
        seen[part.start : part.end] = bytes(len(part))
    kept: list[Statement] = []
    readings = document.readings or (None,) * len(document.sentences)
    for span, reading in zip(document.sentences, readings, strict=True):
        raw = span.cut(document.text)
        shown = "".join(compress(raw, seen[span.start : span.end]))
        if shown == raw or not ("~~" in (reading or raw) or "<" in (reading or raw)):
            shown = (reading or raw) if any(seen[span.start : span.end]) else ""
        if any(map(str.isalnum, shown)):
            kept.append((span, " ".join(shown.split())))
    return _document(document.text, kept)


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
    start = at = 0
    if text.count(":") < MIN_TURNS:
        return {}
    for match in _SPEAKER.finditer(text):
        start, at = text.rfind("\n", at, match.start(1)) + 1 or start, match.start(1)
        found[start] = (at, match[1])
    names = [name for _, name in found.values()]
    if len(names) < MIN_TURNS or len(set(names)) * 2 > len(names) + 1:
        return {}
    return found


def _tables(text: str) -> Iterator[Area]:
    """Yield Markdown and HTML tables, read like those of a response."""
    lowered = text.translate(_LOWER)
    if ("|" not in text or not _DELIMITERS.search(text)) and "<table" not in lowered:
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
    cells = ["" if line.struck else normalised(line.text).text.strip() for line in block.lines]
    header = [normalised(line.text).text.strip() for line in block.header]
    return row_text(header, cells)
