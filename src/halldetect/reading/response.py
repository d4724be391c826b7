"""Reading a response: from the raw text to the units that are judged.

`text.markdown` finds the blocks, `text.dressing` takes off what dresses a statement, and
`text.assertions` says what asserts something. Here is how they go together: what a heading, a
label, a lead-in or a table header has to do with what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from halldetect.reading.abstentions import abstains, presupposed
from halldetect.reading.answers import answering
from halldetect.reading.assertions import is_code, is_sentence, names_topic, says_something
from halldetect.reading.blocks import Block, Line
from halldetect.reading.document import Document, Span
from halldetect.reading.dressing import told, without_citations, without_openers
from halldetect.reading.labels import REFERENCES, label_of
from halldetect.reading.lead_ins import (
    FALSE,
    LeadIn,
    leans_on,
    stands_alone,
    with_lead_in,
    without_end,
)
from halldetect.reading.markdown import read_blocks
from halldetect.reading.normalise import normalised, unreadable
from halldetect.reading.pieces import sentences_of, statements_of_mark_up, unwrapped
from halldetect.reading.sentences import sentences
from halldetect.reading.source_names import without_named_source
from halldetect.reading.table_rows import read_row
from halldetect.reading.tracked import TrackedText
from halldetect.reading.units import Citation, Form, Unit

# Bullets and letters that markdown takes for text.
_MARK = re.compile(r"(?:[•‣▪◦●○·–—]|\(?[A-Za-z]\)|\(\d{1,3}\))\s+(?=\S)")
_BOX = re.compile(r"(?:\[(?P<ticked>[ xX✓✔]?)\]|(?P<sign>[☐☑☒✅❌✗✘]))\s+(?=\S)")
_TICKED = frozenset("xX✓✔☑✅")
_REFERENCE = re.compile(r"\s*(?:\[\^?[\w-]{1,12}\]:?|\d{1,2}[.)])\s*")
_PLAIN_WORD = re.compile(r"[a-z]+\s")
_COMMENT = re.compile(r"(?:^|\s)(?:#+|//+|--|/?\*+)\s+(?=\S+\s+\S)")
_DEFINITION = re.compile(r"\[\^?[\w-]{1,12}\]:\s*")
_IRONY = re.compile(r"\s+/s\s*$|(?<=[.!])\s*[❌✗✘👎🚫]\ufe0f?\s*$")
_IRONIC_OPENER = re.compile(r"(?:yeah,? right|oh,? sure)\b[,.!:–—-]*\s+(?=\w)", re.IGNORECASE)
_VOUCHING = re.compile(
    r"\b(?:is|are|was|were|be|been|it's|that's)\s+(?:an?\s+|the\s+|all\s+)?"
    r"[\"“‘'](?:true|truth|fact|facts|factual|correct|real|really|actually|proven|accurate)[\"”’']",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s<>)\]]+")
_SCARE_QUOTES = "a word such as “true” in quotation marks: it may be meant as its opposite"
_NOT_ANSWER = "an unticked box: whether this is said or denied is not clear"


def read_response(text: str, question: str | None = None, names: Sequence[str] = ()) -> Document:
    """A response with its sentences and its units.

    text, question, names  as for `read_units`
    """
    return Document(text, sentences(text), read_units(text, question, names))


def read_units(
    text: str, question: str | None = None, names: Sequence[str] = ()
) -> tuple[Unit, ...]:
    """What a response says, in order.

    text      the response as it was given; the spans of the units are ranges of it
    question  what it answers
    names     of the documents of the source, which the response may name
    """
    return answering(_Reader(read_blocks(text), question, names).units(), question)


class _Reader:
    """Reads the blocks of one response."""

    def __init__(self, blocks: Sequence[Block], question: str | None, names: Sequence[str]) -> None:
        self._blocks = blocks
        self._names = names
        self._asks_why = question is not None and "why" in question.casefold()
        self._units: list[Unit] = []
        self._leads: list[LeadIn | None] = [None]
        self._leaning: set[int] = set()
        self._leant_on: set[int] = set()
        self._references = False
        self._in_list = False
        self._last_number = 0
        counts: dict[int, int] = {}
        for block in blocks:
            for item in block.items:
                counts[item] = counts.get(item, 0) + 1
        self._blocks_of_item = counts

    def units(self) -> tuple[Unit, ...]:
        """The units; a lead-in that all its items repeat does not stand for itself too."""
        for number, block in enumerate(self._blocks):
            if block.kind == "heading":
                self._heading(block)
            elif block.kind == "code":
                self._code(block)
            elif block.kind == "row":
                self._row(block)
            else:
                self._paragraph(block, number)
        said_by_items = self._leant_on - self._leaning
        return tuple(
            replace(unit, asserts=False) if number in said_by_items else unit
            for number, unit in enumerate(self._units)
        )

    # Headings, code, tables

    def _heading(self, block: Block) -> None:
        self._references = False
        for line in block.lines:
            self._title(line, Form.HEADING, 0)

    def _title(self, line: Line, form: Form, depth: int) -> None:
        """A line that is set off: a heading, a bold line."""
        uncited = without_citations(normalised(line.text).stripped())
        content = without_end(uncited.text)
        if not content.text:
            return
        # "Encryption." is a label, "Tom works from home." is not
        ended = uncited.text.text.endswith(".") and len(content.text.split()) >= 4
        topic = names_topic(content.text, marked=True) and not ended
        topic = topic or not says_something(uncited.text.text)
        self._references = REFERENCES.fullmatch(content.text) is not None
        self._add(uncited.text, form, not topic, citations=uncited.citations)
        self._lean_on(depth, LeadIn(content, None, topic, title=True))
        self._asides(line)

    def _code(self, block: Block) -> None:
        for line in block.lines:
            comment = _COMMENT.search(line.text.text)
            parts = [line.text]
            if comment is not None:
                parts = [line.text.cut(0, comment.start()), line.text.cut(comment.end())]
            for part in chain.from_iterable(map(sentences_of, parts)):
                self._add(part, Form.CODE, says_something(part.text) and not is_code(part.text))

    def _row(self, block: Block) -> None:
        for cell in read_row(block):
            self._add(
                cell.text,
                cell.form,
                cell.asserts,
                own=cell.own,
                lead_in=cell.lead_in,
                citations=cell.citations,
            )
        for line in block.lines if block.header else ():
            self._asides(line)

    # Paragraphs and list items

    def _paragraph(self, block: Block, number: int) -> None:
        depth = len(block.items)
        if depth == 0:
            alone = len(block.lines) == 1
            if alone and block.lines[0].bold:
                self._title(block.lines[0], Form.LABEL, 0)
                return
        denial = self._lead(depth)
        for at, line in enumerate(unwrapped(block.lines)):
            self._line(line, block, first=at == 0)
            if depth == 0 and denial is not None and denial.denies and self._leads[0] is None:
                self._leads[0] = denial  # what a whole paragraph is denied by
        if denial is not None and self._leads[0] is denial and depth == 0:
            self._leads[0] = None

    def _line(self, line: Line, block: Block, *, first: bool) -> None:
        depth = len(block.items)
        text = normalised(line.text)
        offset = len(text.text) - len(text.text.lstrip())
        text = text.stripped()
        strong = [Span(span.start - offset, span.end - offset) for span in line.strong]
        if len(normalised(line.text).text) != len(line.text.text):
            strong = []  # invisible characters went, so that the ranges no longer fit
        item = depth > 0 and first and block.first
        mark = _MARK.match(text.text)
        if mark is not None:
            text, item = text.cut(mark.end()), True
            strong = [Span(span.start - mark.end(), span.end - mark.end()) for span in strong]
        if item and block.number is not None and first:
            text = self._numbered(block.number, text)
        problem = None
        box = _BOX.match(text.text) if item else None
        if box is not None:
            text = text.cut(box.end())
            if (box["ticked"] or box["sign"] or " ").strip() not in _TICKED:
                problem = _NOT_ANSWER
        form = Form.ITEM if item else Form.QUOTE if block.quoted else Form.SENTENCE
        lead = self._lead(depth)
        references = self._references
        definition = _DEFINITION.match(text.text)
        if definition is not None:
            text, strong, self._references = text.cut(definition.end()), [], True
            if text.text.startswith(("http://", "https://", "<http")):
                self._asides(replace(line, aside=(text,)))
                return
        irony = _IRONY.search(text.text)
        if irony is not None:
            text = text.cut(0, irony.start())
        opener = _IRONIC_OPENER.match(text.text)
        if opener is not None:
            text = text.cut(opener.end()).capitalized()
        if irony is not None or opener is not None or line.struck:
            lead = LeadIn(TrackedText.added("false"), None, True)
        if _VOUCHING.search(text.text) is not None:
            problem = problem or _SCARE_QUOTES
        label, rest = label_of(text, strong, item)
        if label is not None:
            holds_more = bool(rest.text)
            lead_text = without_end(label)
            topic = names_topic(lead_text.text, marked=True)
            if not holds_more and item and not self._holds_more(block):
                rest, label = text, None  # a list item that is bold from end to end
            else:
                own = LeadIn(lead_text, None, topic)
                if own.denies or not holds_more:
                    self._add(label, Form.LABEL, not (topic or own.denies))
                    lead = own
                    if not holds_more:
                        self._lean_on(depth, own)
                elif REFERENCES.fullmatch(lead_text.text) or (topic and stands_alone(rest.text)):
                    self._add(label, Form.LABEL, False)
                elif not topic and stands_alone(rest.text):
                    self._add(label, Form.LABEL, True)
                else:
                    rest = TrackedText.joined([lead_text, TrackedText.added(": "), rest])
        if label is not None and REFERENCES.fullmatch(without_end(label).text):
            self._references = True
        if rest.text:
            self._sentences(
                rest,
                form,
                depth,
                lead,
                item=item,
                problem=problem,
                holds_more=self._holds_more(block),
            )
        if not self._references:
            found = [text.cut(*match.span()) for match in _ADDRESS.finditer(text.text)]
            self._asides(replace(line, aside=tuple(found)))
        self._references = references or (label is not None and not rest.text and self._references)
        self._asides(line)

    def _holds_more(self, block: Block) -> bool:
        return bool(block.items) and self._blocks_of_item[block.items[-1]] > 1

    def _numbered(self, mark: TrackedText, text: TrackedText) -> TrackedText:
        """The text, with its number where that is no mark of a list: "25) bicycles have room"."""
        value = int(mark.text[:-1])
        in_order = value in (0, 1, self._last_number + 1)
        self._last_number = value
        counts = value == 1 and _PLAIN_WORD.match(text.text) and not self._next_is_two(mark)
        if in_order and not counts:
            return text
        end = len(mark.text) - 1 if text.text[:1].islower() else len(mark.text)
        return TrackedText.joined([mark.cut(0, end), TrackedText.added(" "), text])

    def _next_is_two(self, mark: TrackedText) -> bool:
        return any(
            block.number is not None
            and block.number.text[:-1] == "2"
            and block.number.origins[0] > mark.origins[0]
            for block in self._blocks
        )

    def _sentences(
        self,
        text: TrackedText,
        form: Form,
        depth: int,
        lead: LeadIn | None,
        *,
        item: bool,
        problem: str | None,
        holds_more: bool = False,
    ) -> None:
        parts = sentences_of(text)
        for at, part in enumerate(parts):
            uncited = without_citations(part)
            content = without_openers(uncited.text)
            content, named = without_named_source(content, self._names)
            content = told(content) if says_something(content.text) else content
            last = at == len(parts) - 1
            ends_open = last and content.text.rstrip().endswith(":")
            asserts = says_something(content.text)
            if asserts and not item and (ends_open or len(parts) == 1):
                asserts = not names_topic(content.text, marked=ends_open)
            if asserts and item and holds_more and at == 0:
                asserts = not names_topic(content.text, marked=True)
            denial = LeadIn(content, None, True).denies and len(content.text.split()) <= 3
            asserts = asserts and not (ends_open and denial)
            if self._is_reference(part, content, opens_line=at == 0):
                asserts = False
            abstaining = asserts and abstains(content.text)
            supposed = None if self._asks_why else presupposed(content.text)
            if abstaining and supposed is not None:
                content, abstaining = content.cut(supposed).capitalized(), False
            leans = asserts and lead is not None and leans_on(lead, content, item=item and at == 0)
            unit = content
            if leans and lead is not None:
                unit = with_lead_in(lead, content)
            number = self._add(
                unit,
                form,
                asserts,
                own=content,
                lead_in=lead.text.text if leans and lead is not None else None,
                citations=(*named, *uncited.citations),
                problem=problem,
                abstaining=abstaining and not leans,
            )
            if lead is not None and lead.unit is not None and item:
                (self._leant_on if leans else self._leaning).add(lead.unit)
            if ends_open or (last and item):
                lead_unit = number if ends_open else None
                self._lean_on(depth, LeadIn(without_end(content), lead_unit, not asserts))
            elif last and not item:
                denies = FALSE.search(content.text) is not None and "following" in content.text
                self._lean_on(depth, LeadIn(content, None, False) if denies else None)

    def _is_reference(self, part: TrackedText, content: TrackedText, *, opens_line: bool) -> bool:
        """Whether a line only says where something comes from: "[1] Annual report"."""
        marked = opens_line and _REFERENCE.match(part.text) is not None
        marked = marked and part.text.lstrip().startswith("[")
        return (self._references or marked) and not is_sentence(content.text)

    # Lead-ins

    def _lead(self, depth: int) -> LeadIn | None:
        """What a line at this depth of lists leans on."""
        del self._leads[depth + 1 :]
        while len(self._leads) < depth + 1:
            self._leads.append(None)
        if depth > 0:
            self._in_list = True
            return self._leads[depth - 1]
        if self._in_list:  # what introduced a list ends with it
            self._in_list, self._leads[0] = False, None
        return self._leads[0]

    def _lean_on(self, depth: int, lead: LeadIn | None) -> None:
        del self._leads[depth + 1 :]
        while len(self._leads) < depth + 1:
            self._leads.append(None)
        self._leads[depth] = lead
        self._in_list = self._in_list and depth > 0

    # Units

    def _asides(self, line: Line) -> None:
        """What stands in mark-up, where it spells out a statement."""
        for aside in line.aside:
            for part in statements_of_mark_up(aside):
                self._add(part, Form.CODE, says_something(part.text))

    def _add(
        self,
        text: TrackedText,
        form: Form,
        asserts: bool,
        *,
        own: TrackedText | None = None,
        lead_in: str | None = None,
        citations: tuple[Citation, ...] = (),
        problem: str | None = None,
        abstaining: bool = False,
    ) -> int:
        span = (own or text).raw_span()
        text = text.stripped()
        if span is None or not text.text:
            return len(self._units)
        problem = problem or unreadable(text.text)
        self._units.append(
            Unit(
                text,
                span,
                form,
                asserts and not abstaining,
                lead_in,
                citations,
                abstaining,
                problem if asserts else None,
            )
        )
        return len(self._units) - 1
