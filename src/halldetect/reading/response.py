"""Read a response into the sentences to judge.

`markdown` removes the mark-up. Then each line loses its list mark, each sentence its citations and
its opener. Every sentence is judged, that of a heading too, but for questions, courtesies,
abstentions and references. What a line declares false is read as denied. `cells` reads table rows
and code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from halldetect.reading.answers import abstains, answering
from halldetect.reading.assertions import MAX_TOPIC, OF_SOURCE, is_sentence, is_topic, no_assertion
from halldetect.reading.cells import MAX_HEADER, read_code, read_row
from halldetect.reading.citations import remove_citations, remove_openers, split_named_source
from halldetect.reading.document import Block, Citation, Document, Line, Span, TrackedText, Unit
from halldetect.reading.languages import ENGLISH
from halldetect.reading.markdown import joined, read_blocks
from halldetect.reading.normalise import normalised, unreadable
from halldetect.reading.sentences import sentences_of
from halldetect.reading.words import FUNCTION_WORDS, count_words, may_be_verb, words

# Bullets and letters that Markdown does not parse as list marks.
_MARK = re.compile(r"(?:[•‣▪◦●○·–—]|\(?[A-Za-z]\)|\(\d{1,3}\))\s+(?=\S)")
_BOX = re.compile(r"(?:\[(?P<ticked>[ xX✓✔]?)\]|(?P<sign>[☐☑☒✅❌✗✘]))\s+(?=\S)")
_TICKED = frozenset("xX✓✔☑✅")
_UNTICKED = "an unticked box: it is not clear if this is said or denied"
# Read as one character, which keeps the place of the first: "&eacute;".
ENTITY = re.compile(r"&#?\w{1,31};")
_DEFINITION = re.compile(r"\[\^?[\w-]{1,12}\]:\s*")
_NUMBERED_SOURCE = re.compile(r"\s*\[\^?[\w-]{1,12}\]")
_SOURCES = re.compile(
    r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|links?|"
    r"further reading|see also|read more|more information)(?: used| cited)?(?P<end>[\s:.*_]*)",
    re.IGNORECASE,
)
_FALSE = (
    r"(?<!=)\b(?:false|wrong|incorrect|untrue|myths?|misconceptions?|lies|not true|fiction|fake|"
    r"rumou?rs?|debunked|hoax(?:es)?|never happened|inaccurate|mistaken)\b"
)
# "Common myths:", "The following is wrong: ...", a heading "Myths"
_DENIAL = re.compile(
    rf"(?:(?=[^.!?:\n]{{0,120}}{_FALSE})[^.!?:\n]{{1,120}}:\s*|[^.:]*\bfollowing\b[^.:]*{_FALSE}[^.:!?]*[.:!?]?"
    rf"|(?P<title>[^.!?\n]{{0,60}}{_FALSE}[^.!?\n]{{0,60}}\Z))",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(r"(?i)(?:(?:best|kind|warm) )?regards|sincerely|yours |cheers\b")
_SIGNER = re.compile(r"[^\W\d_][\w'’.-]*(?:,? [^\W\d_][\w'’.-]*| &){0,5},?")  # or an office
_LABEL = re.compile(r"[^.:!?\n]{1,60}:\s+\S")
# A longer line without a sentence end continues in a line that begins mid-sentence.
_MIN_WRAPPED = 50
_CONTINUES = re.compile(r"\s*[a-z0-9(\"'“‘]")
_LINK_TITLE = re.compile(r"\S+\s+[\"'(](.+)[\"')]\s*")
_OBJECT = re.compile(r"\s*+(?:\[\s*+)?\{")


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


class _Lead(NamedTuple):
    """What stands above a list or its inner items: its text, its unit, and if it is a heading."""

    text: TrackedText
    unit: int
    heading: bool


class _Context(NamedTuple):
    """Where a sentence stands: in a title, after a lead, below a denial, among sources."""

    title: bool
    problem: str | None
    lead: _Lead | None
    denied: bool = False
    cited: bool = False


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
        self._parents = {item for block in self._blocks for item in block.items[:-1]}
        # The text before a list, and that of each enclosing item: "Not included:", "- Children".
        self._leads: dict[int, _Lead] = {}
        # Units of leads that some item repeats, and of those that some item does not.
        self._repeated: set[int] = set()
        self._needed: set[int] = set()
        self._denied = ""  # "next": by the line before, "list": by one before the list
        self._sources = False  # below a heading or a label "Sources"
        self._signed = False  # as by "Best regards,"
        self._last_number = 0

    def units(self) -> tuple[Unit, ...]:
        """Return the units; a short lead that all its items repeat is judged only there."""
        for block in self._blocks:
            if block.kind in ("code", "row"):
                read = read_code(block, self._text) if block.kind == "code" else read_row(block)
                for cell in read:
                    self._add(*cell)
                for line in block.header:
                    self._asides(line)
            else:
                self._paragraph(block)
        said_by_items = {
            number
            for number in self._repeated - self._needed
            if count_words(self._units[number].text) <= MAX_TOPIC
        }
        return tuple(
            replace(unit, reason=unit.reason or "a lead-in") if at in said_by_items else unit
            for at, unit in enumerate(self._units)
        )

    def _paragraph(self, block: Block) -> None:
        depth, heading = len(block.items), block.kind == "heading"
        heading = heading or (depth == 0 and block.lines[0].bold)
        item = depth > 0 or _MARK.match(normalised(block.lines[0].text).text) is not None
        if heading:
            self._denied, self._sources = "", False
        elif not item:
            self._leads = {}
            self._denied = self._denied.replace("list", "")
        title = heading or (block.first and block.items[-1] in self._parents)
        for at, line in enumerate(_unwrapped(block.lines)):
            text, problem, marked = self._without_mark(line, block, first=at == 0)
            begins = marked or (depth > 0 and at == 0)
            lead = self._leads.get(max(depth - 1, 0)) if begins else None
            before = len(self._units)
            self._line(text, line, _Context(title, problem, lead))
            if len(self._units) > before and (title or text.text.endswith(":")):
                flush = at > 0 and self._is_flush(line)  # Markdown adds it to the last item
                self._set_lead(0 if flush else depth, heading)
            self._asides(line)
        if self._denied and (item or not heading):
            self._denied = "list"

    def _set_lead(self, depth: int, heading: bool) -> None:
        """Keep the last unit for the items below it."""
        self._leads = {key: kept for key, kept in self._leads.items() if key < depth}
        text = self._units[-1].tracked.stripped(" :.")
        self._leads[depth] = _Lead(text, len(self._units) - 1, heading)

    def _is_flush(self, line: Line) -> bool:
        start = line.text.origins[0]
        return self._text[max(0, start - 4) : start].rstrip("*_").endswith("\n")

    def _without_mark(
        self, line: Line, block: Block, *, first: bool
    ) -> tuple[TrackedText, str | None, bool]:
        """Remove bullets, numbers and check boxes; also return a problem, and if it had a mark.

        An unticked box is a problem.
        """
        text, problem = normalised(line.text), None
        item = bool(block.items) and first and block.first
        if mark := _MARK.match(text.text):
            text, item = text.cut(mark.end()), True
        text = text.stripped()
        if item and block.number is not None and first:
            text = self._numbered(block.number, text)
        if item and (box := _BOX.match(text.text)):
            ticked = (box["ticked"] or box["sign"] or " ").strip() in _TICKED
            text, problem = text.cut(box.end()), None if ticked else _UNTICKED
        return text, problem, mark is not None

    def _numbered(self, mark: TrackedText, text: TrackedText) -> TrackedText:
        """Keep a number that belongs to the text: "25) bicycles have room"."""
        value = int(mark.text[:-1])
        in_order = value in (0, 1, self._last_number + 1)
        self._last_number = value
        if in_order:
            return text
        end = len(mark.text) - 1 if text.text[:1].islower() else len(mark.text)
        return TrackedText.joined([mark.cut(0, end), TrackedText.added(" "), text])

    def _line(self, text: TrackedText, line: Line, context: _Context) -> None:
        """Read the sentences of a line."""
        cited = self._sources
        if definition := _DEFINITION.match(text.text):
            text, cited = text.cut(definition.end()), True
            if text.text.startswith(("http://", "https://", "<http")):
                self._asides(Line(TrackedText("", ()), aside=(text,)))
                return
        label = _SOURCES.match(text.text)
        if label is not None and (label.end() == len(text.text) or ":" in label["end"]):
            self._add(text.cut(0, label.end()), "a label")
            self._sources, cited = label.end() == len(text.text), True
            text = text.cut(label.end()).stripped()
        denial = _DENIAL.match(text.text)
        if denial is not None and (context.title or denial["title"] is None):
            declared = text.cut(0, denial.end()).stripped()
            bare = denial["title"] is not None or declared.text.endswith(":")
            self._add(declared, "a lead-in" if bare else None)
            text = text.cut(denial.end()).stripped()
            self._denied = self._denied if text.text else "next"
        denied = denial is not None or bool(self._denied) or line.struck
        context = context._replace(denied=denied, cited=cited)
        bold = line.text.text[: line.strong[0].end] if line.strong else ""
        for at, part in enumerate(sentences_of(text) if text.text else ()):
            label_text = at == 0 and bold.strip(" .:").endswith(part.text.strip(" .:"))
            self._sentence(part, context._replace(title=context.title or label_text))
            context = context._replace(lead=None)

    def _sentence(self, part: TrackedText, context: _Context) -> None:
        text, citations = remove_citations(part)
        opened = remove_openers(text) if self._english else text
        content, named = split_named_source(opened, self._names)
        reason = no_assertion(content.text, english=self._english)
        if self._signed and _SIGNER.fullmatch(content.text) and not is_sentence(content.text):
            reason = reason or "a signature"
        self._signed = reason == "a signature" or bool(_SIGN_OFF.match(content.text))
        marked = _NUMBERED_SOURCE.match(part.text) is not None
        if reason is None and (context.cited or marked) and _only_cites(content.text):
            reason = "a reference"
        elif (context.title or content.text.endswith(":")) and is_topic(content.text):
            reason = reason or "a heading"
        lead = context.lead if reason is None else None
        if lead is not None:
            needs = _needs(content.text, lead)
            (self._repeated if needs else self._needed).add(lead.unit)
            lead = lead if needs else None
        denied = context.denied and reason is None
        if not (reason or denied or lead) and abstains(content.text, asks_why=self._asks_why):
            reason = "an abstention"
        read = content
        if denied:
            read = TrackedText.joined(
                [TrackedText.added("It is not true that "), _lowered(content)]
            )
        elif lead is not None:
            read = TrackedText.joined([lead.text, TrackedText.added(": "), content])
        self._add(
            read,
            reason,
            content,
            lead_in=None if lead is None else lead.text.text,
            citations=(*named, *citations),
            problem=context.problem,
        )

    def _asides(self, line: Line) -> None:
        """Add the statements hidden in mark-up."""
        for aside in line.aside:
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
    ) -> None:
        """Add a unit, judged unless there is a reason."""
        span = (own or text).raw_span()
        text = text.stripped()
        if span is None or not text.text:
            return
        if entity := ENTITY.match(self._text, span.end - 1):
            span = Span(span.start, entity.end())
        problem = (problem or unreadable(text.text)) if reason is None else None
        self._units.append(Unit(text, span, lead_in, citations, problem, reason))


def _lowered(text: TrackedText) -> TrackedText:
    """Lower-case the first word, unless it may be a name."""
    if text.text.split(maxsplit=1)[0].lower() not in FUNCTION_WORDS - {"i"}:
        return text
    return TrackedText(text.text[:1].lower() + text.text[1:], text.origins)


def _needs(content: str, lead: _Lead) -> bool:
    """Return True for a list item that needs what stands above: "breakfast"."""
    if len(lead.text.text) > MAX_HEADER or (lead.heading and _LABEL.match(content)):
        return False  # below a heading "Rent: 940 euros" already names its topic
    return content[:1].islower() or not is_sentence(content)


def _only_cites(content: str) -> bool:
    """Return True for the name of a source: "Annual report, page 3"."""
    verb = any(may_be_verb(word.norm) for word in words(content))
    return not is_sentence(content) and (not verb or OF_SOURCE.search(content) is not None)


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
