"""Sentences with exact offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from halldetect.reading.document import Document, Span, TrackedText
from halldetect.reading.normalise import normalised

# Every character that ends a line for str.splitlines().
LINE_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_CONTENT = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_LINE = re.compile(rf"\S(?:[^{LINE_ENDS}]*\S)?")
# A line without these inside it, but for a list mark, is one sentence.
_STOP_INSIDE = re.compile("[.!?…。！？｡।॥؟۔።].")
_MAY_SPLIT = re.compile(rf"[.!?…。！？｡।॥؟۔።{LINE_ENDS}].", re.DOTALL)
# What nupunkt looks at.
_MAY_END = re.compile(r"[.!?…](?=[\s)\"'’”»;}\]*:@({\[!?])")
# Full stops that need no space after them; nupunkt knows only the Latin ones.
_WIDE_STOP = re.compile("[。！？｡।॥؟۔።]+[\"'”’»」』）)\\]]*")
# nupunkt's list of abbreviations, learned from legal and scanned texts, contains thousands of
# common words ("cancer", "bank"). A full stop between such a word and a capital ends a sentence.
_FULL_STOP = re.compile(r"(?<![\w.@/])([^\W\d_]+)\.[\"'”’»)\]*]*(?=\s+[\"'“‘«(\[*]*([^\W\d_]))")
_SHORTENED = frozenset(
    "admin approx assn assoc assocs bldg blvd bros calif capt chap chaps comdr cont corp dept "
    "depts dist econ equiv esqs excl figs geog govt hosp ibid illus incl inst lieut messrs mevr "
    "minn misc orig penn prof publ repr resp sect sept sergt suppl supt tech temp tenn trans "
    "transl univ viz vols wash".split()
)
_SHORT_WORDS = frozenset(
    "ago all app at axe bat bed bee bin bro bus can cap car cod cow day dig fed how ill in lab leg "
    "low me met mum no ok ore pen pet pin pop pub raw row sat saw sir so sub sum sun tax ten vet "
    "wig win yea".split()
)
# A full stop after a unit or "p.m." ends a sentence before a word that begins one, and a full stop
# after a letter that labels a thing does: "at gate B. Helmets are free."
_AFTER_UNIT = re.compile(
    r"(?:\b[ap]\.m\.|\d ?(?:m|km|cm|mm|kg|g|l|h|min|mi|ft|lb|oz|ha)\.)"
    r"(?=\s+(?:The|A|An|Its?|He|She|They|His|Her|Their|This|That|These|Those|There|In|On|At|For|But"
    r"|And|If|No|All|Each|We|You|When|After|Before)\b)"
    r"|\b(?:gate|room|hall|platform|terminal|zone|block|building|section|class|group|type|plan"
    r"|option) [A-Z]\.(?=\s+[A-Z][a-z])"
)
_STOP_BEFORE_SPACE = re.compile(r"\.\s")
# The end of a sentence that needs no look at nupunkt or the rules above.
_PLAIN_END = re.compile(r"(?<=\s)(?:([a-z]{4,})\.|[a-z]{2,}[!?])(?= [A-Z][a-z]* )")
# A full stop that ends no sentence: after abbreviations of other languages, after a number before a
# German or Turkish noun, after a letter of Hindi, which has its own full stop.
_GOES_ON = re.compile(
    r"\b(?i:ang|ca|dhr|ds|inż|jh|mevr|mln|mrd|sr|sra|św|tys|tzw|ul|англ|г|гг|долл|им|млн|млрд|св"
    r"|руб|тыс|ул|z\.B|u\.a|d\.h|m\.in|[^\W\d_A-Za-z]\.[^\W\d_A-Za-z])\.|[\u0900-\u0963]\."
    r"|\d{1,2}\.(?=\s(?:Januar|Februar|März|April|Mai|Juni|Juli|August"
    r"|September|Oktober|November|Dezember|Jahrhundert|Minute|Cadde|[a-zäöüß]))"
)
# nupunkt knows no Arabic letters. A Thai sentence ends with a space, but few spaces end one.
_ARABIC_STOP = re.compile(r"(?<=[\u0620-\u06ff]{2})[.!]+(?=\s+[\u0620-\u06ff«])")
_THAI_END = re.compile(
    r"[\u0e01-\u0e4e](?<!ว่า)(?<!คือ)(?<!ของ)(?<!และ)(?<!โดย)(?<!ถึง)(?<!ชื่อ)"
    r"(?=\s(?!และ|ที่|ซึ่ง|หรือ|โดย|แต่|เพื่อ|ว่า|รวม)[\u0e01-\u0e4e])"
)
_MIN_THAI = 60
# Footnote marks after a full stop belong to the sentence before, unless a line or "[2] adds" does.
_FOOTNOTES = re.compile(r"(?:\s?\[(?:\w|\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*)\])+(?=\s|$)(?!\s[a-z])")
# A lone list mark, which is never a sentence: "1.", "(a)", "IV.", "12)".
_MARK_ALONE = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxlcIVXLC]{1,6})[.)]{1,2}")
# At the start of a line, also the number of an item of a long list.
_LINE_MARK = re.compile(rf"{_MARK_ALONE.pattern}|\d{{4,6}}[.)]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
WINDOW = 1_000
_OPENING = re.compile(r"[“„‘«‹](?=\w)")  # nupunkt takes “Dr for a word
# The middle of a run without a space, longer than any word.
_RUN = re.compile(r"(?<=\S{40})\S{40,}(?=\S{40})")


def read_document(text: str) -> Document:
    """Return the text with its sentences."""
    return Document(text, sentences(text))


def sentences(text: str) -> tuple[Span, ...]:
    """Return the sentences of a text, in order, without surrounding white space.

    No sentence crosses a line end. Together the spans hold every character that is not white
    space.
    """
    found: list[Span] = []
    for line in lines(text):
        found += _sentences_of_line(text, line)
    return tuple(found)


def lines(text: str) -> Iterator[Span]:
    """Yield the non-empty lines, without surrounding white space."""
    for match in _LINE.finditer(text):
        yield Span(match.start(), match.end())


def trimmed(text: str, start: int, end: int) -> Span | None:
    """Return the range without white space at its ends; None if nothing is left."""
    content = _CONTENT.search(text, start, end)
    return None if content is None else Span(content.start(), content.end())


def _sentences_of_line(text: str, line: Span) -> list[Span]:
    mark = _LINE_MARK.match(text, line.start, line.end)
    if _STOP_INSIDE.search(text, mark.end() if mark else line.start, line.end) is None:
        return [line]
    content = line.cut(text)
    plain = [end.end() for end in _PLAIN_END.finditer(content) if end[1] not in _SHORTENED]
    ends: set[int] = set()
    for start, stop in pairwise([0, *plain, len(content)]):
        ends |= {start + end for end in _ends(content[start:stop], content.isascii())}
    if len(ends) == 1:
        return [line]
    if _FOOTNOTES.match(content) is None:
        notes = {end: _FOOTNOTES.match(content, end) for end in ends}
        ends = {end if note is None else note.end() for end, note in notes.items()}
    places = pairwise([0, *sorted(ends)])
    pieces = [piece for place in places if (piece := trimmed(content, *place)) is not None]
    return [Span(line.start + a.start, line.start + a.end) for a in _joined(content, pieces)]


def _ends(part: str, ascii_only: bool) -> set[int]:
    """Return the ends of the sentences in a part of a line that begins and ends with a sentence."""
    if _STOP_INSIDE.search(part) is None:
        return {len(part)}
    ends = set(_known_ends(part)) if _MAY_END.search(part) else set()
    if _STOP_BEFORE_SPACE.search(part):
        ends |= {match.end() for match in _AFTER_UNIT.finditer(part)}
    ends |= {match.end() for match in _FULL_STOP.finditer(part) if _ends_sentence(*match.groups())}
    if not ascii_only:
        for rule in (_WIDE_STOP, _ARABIC_STOP):
            ends |= {match.end() for match in rule.finditer(part)}
        ends -= {match.end() for match in _GOES_ON.finditer(part)}
        last = 0
        for match in _THAI_END.finditer(part):
            if match.end() - last >= _MIN_THAI:
                last = match.end()
                ends.add(last)
    return ends | {len(part)}


def _known_ends(content: str) -> Iterator[int]:
    """Yield the ends of the sentences of a line, according to nupunkt.

    Long lines are read in windows, and long runs without a space are changed, because nupunkt can
    take quadratic time. A window begins with the last sentence before it, which may be cut.
    """
    content = _RUN.sub(lambda run: "x" * len(run[0]), _OPENING.sub('"', content))
    start = 0
    while len(content) - start > WINDOW:
        spans = list(_splitter().span_tokenize(content[start : start + WINDOW]))
        yield from (start + end for _, end in spans[:-1])
        start += spans[-1][0] if len(spans) > 1 and spans[-1][0] else WINDOW
    yield from (start + end for _, end in _splitter().span_tokenize(content[start:]))


def _ends_sentence(word: str, following: str) -> bool:
    """Return True if a full stop between two words ends a sentence in spite of nupunkt."""
    if not following.isupper() or word.casefold() in _SHORTENED:
        return False
    if word.islower():
        return len(word) > 3 or word in _SHORT_WORDS
    return len(word) > 4 and word[1:].islower()


def _joined(content: str, pieces: list[Span]) -> list[Span]:
    """Join pieces without words (a list mark, closing quotes, an emoji) to a neighbour."""
    whole: list[Span] = []
    pending: int | None = None
    for piece in pieces:
        start = piece.start if pending is None else pending
        wordless = _LETTER_OR_DIGIT.search(content, piece.start, piece.end) is None
        if wordless and whole and pending is None:
            whole[-1] = Span(whole[-1].start, piece.end)
        elif wordless or (
            piece is not pieces[-1] and _MARK_ALONE.fullmatch(content, piece.start, piece.end)
        ):
            pending = start
        else:
            whole.append(Span(start, piece.end))
            pending = None
    if pending is not None:
        whole.append(Span(pending, pieces[-1].end))
    return whole


@cache
def _splitter() -> Any:
    # Imported on first use to keep the import of the package fast.
    import nupunkt

    return nupunkt.load("default")


def sentences_of(text: TrackedText) -> list[TrackedText]:
    """Return the normalised sentences of a text."""
    text = normalised(text)
    if _MAY_SPLIT.search(text.text) is None:
        return [text.stripped()] if text.text.strip() else []
    return [text.cut(span.start, span.end) for span in sentences(text.text)]
