"""Split a response into the units to judge.

`markdown` finds the blocks, `citations` removes marks and openers, `assertions` recognises
statements, `lead_ins` joins headings, labels and table headers to the text after them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from halldetect.reading.answers import abstains, answering
from halldetect.reading.assertions import OF_SOURCE, is_sentence, names_topic, no_assertion
from halldetect.reading.citations import remove_citations, remove_openers, split_named_source
from halldetect.reading.document import Block, Citation, Document, Line, Span, TrackedText, Unit
from halldetect.reading.languages import ENGLISH
from halldetect.reading.lead_ins import (
    FALSE,
    REFERENCES,
    LeadIn,
    is_independent,
    label_of,
    needs_lead_in,
    read_code,
    read_row,
    strip_end,
    with_lead_in,
)
from halldetect.reading.markdown import joined, read_blocks
from halldetect.reading.normalise import normalised, unreadable
from halldetect.reading.sentences import sentences_of
from halldetect.reading.words import may_be_verb, words

# Bullets and letters that Markdown does not parse as list marks.
_MARK = re.compile(r"(?:[•‣▪◦●○·–—]|\(?[A-Za-z]\)|\(\d{1,3}\))\s+(?=\S)")
_BOX = re.compile(r"(?:\[(?P<ticked>[ xX✓✔]?)\]|(?P<sign>[☐☑☒✅❌✗✘]))\s+(?=\S)")
_TICKED = frozenset("xX✓✔☑✅")
# Read as one character, which keeps the place of the first: "&eacute;".
ENTITY = re.compile(r"&#?\w{1,31};")
_DEFINITION = re.compile(r"\[\^?[\w-]{1,12}\]:\s*")
_NUMBERED_SOURCE = re.compile(r"\s*\[\^?[\w-]{1,12}\]")
# A longer line without a sentence end continues in a line that begins mid-sentence.
_MIN_WRAPPED = 50
_CONTINUES = re.compile(r"\s*[a-z0-9(\"'“‘]")
_LINK_TITLE = re.compile(r"\S+\s+[\"'(](.+)[\"')]\s*")
_OBJECT = re.compile(r"\s*+(?:\[\s*+)?\{")
_SIGN_OFF = re.compile(r"(?i)(?:(?:best|kind|warm) )?regards|sincerely|yours |cheers\b")
_SIGNER = re.compile(r"[^\W\d_][\w'’.-]*(?:,? [^\W\d_][\w'’.-]*| &){0,5},?")  # or an office
_UNTICKED = "an unticked box: it is not clear if this is said or denied"

# A lead-in that states a fact of its own: "After the crash of 2018 three things changed:"
_PRESUPPOSING = re.compile(
    r"(?:after|although|as|because|despite|due to|following|given|since|when|while)\b",
    re.IGNORECASE,
)


def read_response(
    text: str, question: str | None = None, names: Sequence[str] = (), language: str = ENGLISH
) -> Document:
    """Read a response into units.

    Args:
        text: The raw response; the spans of the units are ranges of it.
        question: The question that it answers.
        names: The names of the source documents, which the response may cite.
        language: That of the response; rules that know English words apply to "en" only.
    """
    english = language == ENGLISH
    units = _Reader(text, question, names, english).units()
    return Document(text, (), answering(units, question, english=english))


def _is_json(text: str) -> bool:
    """Return True for a text that is a JSON object, or a list with one in front."""
    try:
        return _OBJECT.match(text) is not None and bool(json.loads(text))
    except (ValueError, RecursionError):
        return False


class _LineStart(NamedTuple):
    """A line without the marks at its start; `item` is True for the first line of a list item."""

    text: TrackedText
    strong: Sequence[Span]
    item: bool
    problem: str | None = None


class _Reader:
    """Reads the blocks of one response."""

    def __init__(
        self, text: str, question: str | None, names: Sequence[str], english: bool
    ) -> None:
        self._text = text
        whole = Block("code", (Line(TrackedText.of(text, 0, len(text))),))
        self._blocks = [whole] if _is_json(text) else read_blocks(text)
        self._names = names
        self._english = english
        self._asks_why = question is not None and "why" in question.casefold()
        self._units: list[Unit] = []
        self._leads: list[LeadIn | None] = [None]
        # Units of lead-ins that some item does not repeat, and of those that some item repeats.
        self._needed: set[int] = set()
        self._repeated: set[int] = set()
        self._references = False
        self._in_list = False
        self._last_number = 0
        self._signed = False  # as by "Best regards,"
        self._blocks_of_item = Counter(chain.from_iterable([block.items for block in self._blocks]))

    def units(self) -> tuple[Unit, ...]:
        """Return the units; most lead-ins that all their items repeat are judged only there."""
        for block in self._blocks:
            if block.kind == "heading":
                self._references = False
                for line in block.lines:
                    self._title(line)
            elif block.kind == "code":
                for cell in read_code(block, self._text):
                    self._add(*cell)
            elif block.kind == "row":
                for cell in read_row(block, english=self._english):
                    self._add(*cell)
                for line in block.lines if block.header else ():
                    self._asides(line.aside)
            else:
                self._paragraph(block)
        said_by_items = {
            number
            for number in self._repeated - self._needed
            if not _PRESUPPOSING.match(self._units[number].text)
        }
        return tuple(
            replace(unit, reason="a lead-in") if number in said_by_items else unit
            for number, unit in enumerate(self._units)
        )

    # Headings

    def _title(self, line: Line) -> None:
        """Read a heading or a bold line."""
        text, citations = remove_citations(normalised(line.text).stripped())
        content = strip_end(text)
        if not content.text:
            return
        # "Encryption." is a label, "Tom works from home." is not.
        ended = text.text.endswith(".") and len(content.text.split()) >= 4
        topic = names_topic(content.text, marked=True, english=self._english) and not ended
        self._references = REFERENCES.fullmatch(content.text) is not None
        reason = no_assertion(text.text, english=self._english) or ("a heading" if topic else None)
        self._add(text, reason, citations=citations)
        self._set_lead(0, LeadIn(content, None, title=True))
        self._asides(line.aside)

    # Paragraphs and list items

    def _paragraph(self, block: Block) -> None:
        depth = len(block.items)
        if depth == 0 and len(block.lines) == 1 and block.lines[0].bold:
            self._title(block.lines[0])
            return
        denial = self._lead(depth, item=bool(_MARK.match(normalised(block.lines[0].text).text)))
        for at, line in enumerate(_unwrapped(block.lines)):
            start = line.text.origins[0] if at and depth else 0
            flush = self._text[max(0, start - 4) : start].rstrip("*_").endswith("\n")
            if flush and line.text.text.rstrip().endswith(":"):
                block, depth = block._replace(items=()), 0  # Markdown adds it to the last item
            self._line(line, block, first=at == 0)
            if depth == 0 and denial is not None and denial.denies and self._leads[0] is None:
                self._leads[0] = denial  # it denies the whole paragraph
        if denial is not None and self._leads[0] is denial and depth == 0 and not self._in_list:
            self._leads[0] = None

    def _line(self, line: Line, block: Block, *, first: bool) -> None:
        start = self._strip_marks(line, block, first=first)
        lead = self._lead(len(block.items), item=start.item)
        in_references = self._references
        definition = _DEFINITION.match(start.text.text)
        if definition is not None:
            start = start._replace(text=start.text.cut(definition.end()), strong=[])
            self._references = True
            if start.text.text.startswith(("http://", "https://", "<http")):
                self._asides([start.text])
                return
        if line.struck:
            lead = LeadIn(TrackedText.added("false"))
        label, rest, lead = self._label(start, block, lead)
        named = label is not None and REFERENCES.fullmatch(strip_end(label).text) is not None
        self._references = self._references or named
        if rest.text:
            self._sentences(rest, start, block, lead)
        self._references = in_references or (named and not rest.text)
        self._asides(line.aside)

    def _strip_marks(self, line: Line, block: Block, *, first: bool) -> _LineStart:
        """Remove bullets, numbers and check boxes."""
        text, problem = normalised(line.text), None
        # Once invisible characters are removed, the ranges no longer fit.
        strong: Sequence[Span] = line.strong if len(text.text) == len(line.text.text) else ()
        item = bool(block.items) and first and block.first
        if mark := _MARK.match(text.text):
            text, item = text.cut(mark.end()), True
            strong = [Span(span.start - mark.end(), span.end - mark.end()) for span in strong]
        text = text.stripped()
        if item and block.number is not None and first:
            text = self._numbered(block.number, text)
        if item and (box := _BOX.match(text.text)):
            ticked = (box["ticked"] or box["sign"] or " ").strip() in _TICKED
            text, problem = text.cut(box.end()), None if ticked else _UNTICKED
        return _LineStart(text, strong, item, problem)

    def _label(
        self, start: _LineStart, block: Block, lead: LeadIn | None
    ) -> tuple[TrackedText | None, TrackedText, LeadIn | None]:
        """Return the label of a line, the text to judge, and the lead-in of that text."""
        label, rest = label_of(start.text, start.strong, start.item)
        if label is None:
            return None, rest, lead
        name = strip_end(label)
        topic = names_topic(name.text, marked=True, english=self._english)
        if not rest.text and start.item and not self._holds_more(block):
            return None, start.text, lead  # a list item that is entirely bold
        own = LeadIn(name)
        if own.denies or not rest.text:
            self._add(label, "a lead-in" if own.denies else "a label" if topic else None)
            if not rest.text:
                self._set_lead(len(block.items), own)
            return label, rest, own
        if REFERENCES.fullmatch(name.text) or is_independent(rest.text):
            topic = topic or REFERENCES.fullmatch(name.text) is not None
            self._add(label, "a label" if topic else None)
        else:
            rest = TrackedText.joined([name, TrackedText.added(": "), rest])
        return label, rest, lead

    def _holds_more(self, block: Block) -> bool:
        return bool(block.items) and self._blocks_of_item[block.items[-1]] > 1

    def _numbered(self, mark: TrackedText, text: TrackedText) -> TrackedText:
        """Keep a number that belongs to the text: "25) bicycles have room"."""
        value = int(mark.text[:-1])
        in_order = value in (0, 1, self._last_number + 1)
        self._last_number = value
        if in_order:
            return text
        end = len(mark.text) - 1 if text.text[:1].islower() else len(mark.text)
        return TrackedText.joined([mark.cut(0, end), TrackedText.added(" "), text])

    def _sentences(
        self, line: TrackedText, start: _LineStart, block: Block, lead: LeadIn | None
    ) -> None:
        parts = sentences_of(line)
        depth, item = len(block.items), start.item
        for at, part in enumerate(parts):
            text, citations = remove_citations(part)
            opened = remove_openers(text) if self._english else text
            content, named = split_named_source(opened, self._names)
            reason = no_assertion(content.text, english=self._english)
            if self._signed and _SIGNER.fullmatch(content.text) and not is_sentence(content.text):
                reason = reason or "a signature"
            self._signed = reason == "a signature" or bool(_SIGN_OFF.match(content.text))
            last = at == len(parts) - 1
            ends_open = last and content.text.rstrip().endswith(":")
            nested = item and at == 0 and self._holds_more(block)
            alone = not item and (ends_open or len(parts) == 1)
            if reason is None and self._is_reference(part, content, opens_line=at == 0):
                reason = "a reference"
            elif reason is None and (
                (alone and names_topic(content.text, marked=ends_open, english=self._english))
                or (nested and names_topic(content.text, marked=True, english=self._english))
                or (ends_open and len(content.text.split()) <= 3 and FALSE.search(content.text))
            ):
                reason = "a heading"
            needed = lead if reason is None else None
            if needed is not None and not needs_lead_in(needed, content, item=item and at == 0):
                needed = None
            if not (reason or needed) and abstains(content.text, asks_why=self._asks_why):
                reason = "an abstention"
            number = self._add(
                content if needed is None else with_lead_in(needed, content),
                reason,
                own=content,
                lead_in=None if needed is None else needed.text.text,
                citations=(*named, *citations),
                problem=start.problem,
            )
            if lead is not None and lead.unit is not None and item:
                (self._repeated if needed else self._needed).add(lead.unit)
            if ends_open or (last and item and depth):
                lead_unit = number if ends_open else None
                self._set_lead(depth, LeadIn(strip_end(content), lead_unit))
            elif last and not item:
                denies = "following" in content.text and FALSE.search(content.text) is not None
                self._set_lead(depth, LeadIn(content) if denies else None)

    def _is_reference(self, part: TrackedText, content: TrackedText, *, opens_line: bool) -> bool:
        """Return True for a line that only cites a source: "[1] Annual report, page 3"."""
        marked = opens_line and _NUMBERED_SOURCE.match(part.text) is not None
        if not (self._references or marked) or is_sentence(content.text):
            return False
        verb = any(may_be_verb(word.norm) for word in words(content.text))
        return not verb or OF_SOURCE.search(content.text) is not None

    # Lead-ins

    def _lead(self, depth: int, *, item: bool = False) -> LeadIn | None:
        """Return the lead-in of a line at this list depth; an `item` may have an unknown mark."""
        self._resize(depth)
        if depth > 0:
            self._in_list = True
            return self._leads[depth - 1]
        if self._in_list and not item:  # the lead-in of a list ends with it
            self._leads[0] = None
        self._in_list = item
        return self._leads[0]

    def _set_lead(self, depth: int, lead: LeadIn | None) -> None:
        self._resize(depth)
        self._leads[depth] = lead
        self._in_list = self._in_list and depth > 0

    def _resize(self, depth: int) -> None:
        self._leads = [*self._leads, *[None] * (depth + 1)][: depth + 1]

    # Units

    def _asides(self, asides: Sequence[TrackedText]) -> None:
        """Add the statements hidden in mark-up."""
        for aside in asides:
            for part in _statements_of_mark_up(aside):
                self._add(part, no_assertion(part.text))

    def _add(
        self,
        text: TrackedText,
        reason: str | None = None,
        own: TrackedText | None = None,
        lead_in: str | None = None,
        citations: tuple[Citation, ...] = (),
        problem: str | None = None,
    ) -> int:
        """Add a unit, judged unless there is a reason; return its index."""
        span = (own or text).raw_span()
        text = text.stripped()
        if span is None or not text.text:
            return len(self._units)
        if entity := ENTITY.match(self._text, span.end - 1):
            span = Span(span.start, entity.end())
        problem = (problem or unreadable(text.text)) if reason is None else None
        self._units.append(Unit(text, span, lead_in, citations, problem, reason))
        return len(self._units) - 1


def _statements_of_mark_up(aside: TrackedText) -> Iterator[TrackedText]:
    """Yield the statements in a link address, a title, a comment or an attribute."""
    text = aside.text
    title = _LINK_TITLE.fullmatch(text)
    if " " in text and title is None and not text.startswith(("http://", "https://", "www.")):
        yield from sentences_of(aside)
        return
    if title is not None:
        yield from sentences_of(aside.cut(title.start(1), title.end(1)))
    for slug in re.finditer(r"[^/?#=&\s]+", text):
        spelled = re.sub(r"%20|[-_+]", lambda match: " " * len(match.group()), slug.group())
        plain = " ".join(spelled.split())
        if len(plain.split()) >= 4 and is_sentence(plain):
            part = aside.cut(slug.start(), slug.end())
            yield TrackedText(spelled, part.origins)


def _unwrapped(lines: Sequence[Line]) -> Iterator[Line]:
    """Return the lines; join those broken only because of their length."""
    groups = [[lines[0]]]
    for line, before in zip(lines[1:], lines, strict=False):
        long = len(groups[-1]) > 1 or len(before.text.text) > _MIN_WRAPPED
        ended = before.text.text.rstrip().endswith((".", "!", "?", ":", ";"))
        continues = _CONTINUES.match(line.text.text) and before.struck == line.struck
        if long and not ended and continues:
            groups[-1].append(line)
        else:
            groups.append([line])
    return map(joined, groups)
