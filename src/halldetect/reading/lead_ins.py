"""Headings, labels, lead-ins and table headers, joined to the texts that need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from halldetect.reading.assertions import is_code, is_sentence, names_topic, no_assertion
from halldetect.reading.citations import remove_citations
from halldetect.reading.document import Block, Citation, Span, TrackedText
from halldetect.reading.normalise import normalised
from halldetect.reading.sentences import sentences_of
from halldetect.reading.structured import read_records
from halldetect.reading.words import AUXILIARIES, FUNCTION_WORDS, PREPOSITIONS, may_be_past

_LABEL = re.compile(r"([^.:!?\n]{1,60}):\s+(?=\S)")
_LABEL_END = re.compile(r"[\s:.–—-]+\Z")
_AFTER_BOLD = re.compile(r"\s*(?:[:–—-]|\.(?=\s))\s*")
REFERENCES = re.compile(
    r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|links?|"
    r"further reading|see also|read more|more information)(?: used| cited)?",
    re.IGNORECASE,
)
_ON_ANSWER = re.compile(rf"(?:{REFERENCES.pattern}|confidence(?: score)?)[,:]", re.IGNORECASE)
FALSE = re.compile(  # but not the value in "overwrite=False"
    r"(?<!=)\b(?:false|wrong|incorrect|untrue|myths?|misconceptions?|lies|not true|fiction|fake|"
    r"rumou?rs?|debunked|hoax(?:es)?|never happened|inaccurate|mistaken)\b",
    re.IGNORECASE,
)
_OPEN_WORDS = "|".join(sorted((AUXILIARIES | PREPOSITIONS) - {"following"}))
_OPEN_END = re.compile(
    rf"\b(?:{_OPEN_WORDS}|that|includ(?:e[sd]?|ing)|(?:cover|contain|offer|provide|require|need)s?|"
    r"sold|found|said|says)$",
    re.IGNORECASE,
)
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
# A longer lead-in or header is not repeated in every item or row.
MAX_LEAD = 300
_FRAGMENT = re.compile(
    r"(?i)(?:I|s?he|they|we|you|h?is|her|their|my|our|are|was|were|ha[sd]|can|must"
    r"|not(?! \w+ly| all| every| only))\b"
)
_ADDED = re.compile(r"([^,(]+)[,(]\s*(\w+)")


@dataclass(frozen=True)
class LeadIn:
    """A heading, label or line before the items or lines that need it, without its colon.

    `unit` is its index among the units, None if it is not one; `title` is True for a heading or a
    bold line.
    """

    text: TrackedText
    unit: int | None = None
    title: bool = False

    @cached_property
    def denies(self) -> bool:
        """True if it declares the text after it false."""
        return len(self.text.text) < 120 and FALSE.search(self.text.text) is not None

    @cached_property
    def completes(self) -> bool:
        """True if an item may need it: it is short and more than a topic."""
        long = len(self.text.text) > MAX_LEAD
        return not long and not names_topic(self.text.text, marked=False)


def is_independent(text: str, *, at_least: int = 2) -> bool:
    """Return True if the text after a label is a sentence that does not need the label.

    "Not included" and "11 am to 5 pm" need it. A text without an end must have `at_least` words.
    """
    if _FRAGMENT.match(text) or (len(text.split()) < at_least and not text.endswith(".")):
        return False
    if (added := _ADDED.match(text)) is not None and may_be_past(added[2].lower()):
        text = added[1] + text.rstrip()[-1]  # "Ann Hall, based in York"
    ends = text.rstrip().endswith((".", "!")) and not re.match(r"[€$£]?\d", text)  # "940 euros."
    return is_sentence(text) or (ends and len(text.split()) >= 4)


def strip_end(text: TrackedText) -> TrackedText:
    """Remove the colon, full stop or dash at the end."""
    end = _LABEL_END.search(text.text[-20:])
    return (text if end is None else text.cut(0, len(text.text) - len(end.group()))).stripped()


def label_of(
    text: TrackedText, strong: Sequence[Span], item: bool
) -> tuple[TrackedText | None, TrackedText]:
    """Split a line, which may be a list item, into its label, None without one, and the rest."""
    first = next((span for span in strong if span.start <= 0 < span.end), None) if strong else None
    if first is not None:
        label, rest = text.cut(0, first.end), text.cut(first.end)
        after = _AFTER_BOLD.match(rest.text)
        if not rest.text.strip():
            alone = item or label.text.rstrip().endswith(":")
            return (label, rest.stripped()) if alone else (None, text)
        if _LABEL_END.search(label.text.rstrip()[-1:]) is not None:
            return label, rest.stripped()
        return (None, text) if after is None else (label, rest.cut(after.end()))
    match = _LABEL.match(text.text)
    if match is None:
        return None, text
    named = match[1]
    generic = names_topic(named + ":", marked=False) or REFERENCES.fullmatch(named) is not None
    if generic or FALSE.search(named) or (item and len(named.split()) <= 6):
        return text.cut(0, match.end()).stripped(), text.cut(match.end())
    return None, text


def needs_lead_in(lead: LeadIn, content: TrackedText, *, item: bool) -> bool:
    """Return True if a text is incomplete without the lead-in before it.

    `item` is True for the first sentence of a list item.
    """
    if lead.denies:
        return True
    if not item or not lead.completes:
        return False
    if lead.title and _LABEL.match(content.text):
        return False  # "Rent: 940 euros" already names its topic
    return content.text[:1].islower() or not is_sentence(content.text)


def with_lead_in(lead: LeadIn, item: TrackedText) -> TrackedText:
    """Join an item to the lead-in that it needs."""
    if lead.denies:
        return TrackedText.joined([TrackedText.added("It is not true that "), _lowered(item)])
    opened = _OPEN_END.search(lead.text.text) is not None
    joiner = " " if opened else ", " if _LABEL.match(item.text) else ": "
    return TrackedText.joined(
        [lead.text, TrackedText.added(joiner), _lowered(item) if opened else item]
    )


def _lowered(text: TrackedText) -> TrackedText:
    """Lower-case the first word, unless it may be a name."""
    if text.text.split(maxsplit=1)[0].lower() not in FUNCTION_WORDS - {"i"}:
        return text
    return TrackedText(text.text[:1].lower() + text.text[1:], text.origins)


class Cell(NamedTuple):
    """The statement of a table cell, "Tea, Q2 2025: 5", or of a line of code.

    `reason`: why it is not judged. `own`: its own words if these are not all of the text.
    """

    text: TrackedText
    reason: str | None = None
    own: TrackedText | None = None
    lead_in: str | None = None
    citations: tuple[Citation, ...] = ()


def read_row(block: Block, *, english: bool = True) -> Iterator[Cell]:
    """Yield the cells of a row, each with the first cell of the row and its header.

    A row without a header is the header of its table.
    """
    read = [remove_citations(normalised(line.text).stripped()) for line in block.lines]
    cells, marks = [_spelled(cell) for cell, _ in read], [citations for _, citations in read]
    if not block.header:
        for cell in filter(lambda cell: cell.text, cells):
            topic = names_topic(cell.text, marked=True, english=english)
            yield Cell(cell, no_assertion(cell.text) or ("a table header" if topic else None))
        return
    subject = cells[0]
    topic = names_topic(subject.text, marked=True)
    filled = [n for n in range(1, len(cells)) if any(map(str.isalnum, cells[n].text))]
    if subject.text and (not filled or (not topic and is_sentence(subject.text))):
        yield Cell(subject, None if filled else no_assertion(subject.text))
    header = [normalised(line.text).stripped() for line in block.header]
    for number in filled:
        value = cells[number]
        lead = _named(subject, header[number] if number < len(header) else TrackedText("", ()))
        alone = not lead.text or (topic and is_independent(value.text, at_least=5))
        yield Cell(
            value if alone else TrackedText.joined([lead, TrackedText.added(": "), value]),
            own=TrackedText.joined([subject, value]) if number == filled[0] else value,
            lead_in=None if alone else lead.text,
            citations=marks[number] + (marks[0] if number == 1 else ()),
        )


def _spelled(cell: TrackedText) -> TrackedText:
    """Replace a tick or a cross that fills a cell by "yes" or "no"."""
    sign = _SIGNS.get(cell.text.rstrip("\ufe0f"))
    return cell if sign is None else cell.edited([(0, len(cell.text), sign)])


def _named(subject: TrackedText, name: TrackedText) -> TrackedText:
    """Join the first cell of a row and the header of a column: "Revenue, Q2 2025"."""
    if _GENERIC_HEADER.fullmatch(name.text) or len(name.text) > MAX_LEAD:
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
        skipped = no_assertion(read.text) or names_topic(read.text, marked=True)
        yield Cell(read, "code" if skipped else None, own)
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
