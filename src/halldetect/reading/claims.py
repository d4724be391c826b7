"""The claims of a response, each in the form that is judged, and the parts that are not judged."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from halldetect.reading.assertions import could_assert
from halldetect.reading.citations import remove_openers
from halldetect.reading.document import Document, Span, TrackedText, UncheckedPart
from halldetect.reading.languages import ENGLISH
from halldetect.reading.references import readings
from halldetect.reading.response import ENTITY
from halldetect.reading.words import ARTICLES, is_finite_verb, may_be_past, may_be_verb, words

_STRUCK = re.compile(r"(?:~~|<(?:s|del|strike)>)[\s*_]*$", re.IGNORECASE)
_LIST_MARK = re.compile(r"[\s>*+•-]*[(\[]?")
_NUMBER = re.compile(r"\d{1,9}|[a-z]", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:[\w-]{1,12}\]:\s*<?)?(?:https?:|www\.)", re.IGNORECASE)
_GAP = re.compile(rb"\0+")
# Characters searched for mark-up around a part.
_NEAR = 300
# One false clause among many true ones hardly lowers the support of the whole sentence. So a
# sentence of at least four clauses is judged clause by clause.
MIN_WORDS = 25
MIN_CLAUSES = 4
_BORDER = re.compile(
    r"(?:;\s+)(?:and\s+|but\s+)?|,\s+(?:(?:and|but|while|whereas)\s+)?"
    r"|(?<!\s)\s++(?:and|but|while)\s++(?=(?:the|its?|an?|he|she|they|there|[A-Z][\w-]*|\d[\d.,]*)\s)"
)
# A verb after one of these belongs to a dependent clause.
_DEPENDENT = frozenset(
    "after although as because before if or since so than that though to until when where which "
    "while who whom whose with".split()
)
# The verb of a clause follows its subject within these words.
_SUBJECT_WORDS = 6


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a response.

    Attributes:
        text: The statement as it is judged.
        span: Its place in the response; None if unknown.
        span_reason: Why there is no span.
        problem: Why it cannot be judged; None if it can.
        read_as: The statement with its references resolved. A claim that fails unchanged is
            judged again in this form, which can only rescue it.
        citations: Labels of the cited documents, such as "1" or "2, 4".
        language: Its code; rules that know English words apply to "en" only.
        not_found: True if a search of the knowledge had no passage for it.
    """

    text: str
    span: Span | None
    span_reason: str | None = None
    problem: str | None = None
    read_as: str | None = None
    citations: tuple[str, ...] = ()
    language: str = ENGLISH
    not_found: bool | None = field(default=None, metadata={"optional": True})


def read_claims(response: Document, language: str = ENGLISH) -> tuple[Claim, ...]:
    """Return the asserting units of a response as claims, long English ones cut into clauses."""
    english = language == ENGLISH
    parts = [
        (unit, part)
        for unit in response.units
        if unit.asserts
        for part in ([unit.tracked] if unit.lead_in or not english else clauses(unit.tracked))
    ]
    texts = [part.text for _, part in parts]
    found = readings(texts) if english else [None] * len(texts)
    return tuple(
        Claim(
            part.text,
            unit.span if part is unit.tracked else part.raw_span() or unit.span,
            problem=unit.problem,
            read_as=None if reading is None else reading.text,
            citations=tuple(citation.label for citation in unit.citations),
            language=language,
        )
        for (unit, part), reading in zip(parts, found, strict=True)
    )


def clauses(sentence: TrackedText) -> list[TrackedText]:
    """Return the clauses of a long sentence of many; else the sentence as it is."""
    text = sentence.text
    borders = list(_BORDER.finditer(text))
    if len(borders) < MIN_CLAUSES - 1 or len(words(text)) < MIN_WORDS:
        return [sentence]
    starts = [0, *(border.end() for border in borders)]
    ends = [*(border.start() for border in borders), len(text)]
    found: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if found and not _is_clause(text[start:end]):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    # Other parts are more often the items of a list than clauses.
    if len(found) < max(MIN_CLAUSES, 0.6 * len(starts)) or not _is_clause(text[: found[0][1]]):
        return [sentence]
    return [sentence.cut(*place) for place in found]


def _is_clause(text: str) -> bool:
    """Return True if a text has a subject, and soon after it a verb in a finite form."""
    sequence = words(text)
    for position, word in enumerate(sequence[: _SUBJECT_WORDS + 1]):
        norm, before = word.norm, sequence[position - 1].norm
        if norm in _DEPENDENT or (position == 0 and norm.endswith(("ing", "ed", "ly"))):
            return False
        if position == 0 or before in ARTICLES:
            continue
        if is_finite_verb(norm) or may_be_past(norm):
            return True
        # "weighs", "retires": after a subject in the singular
        if may_be_verb(norm) or (
            norm.endswith("s") and not word.capital and not before.endswith("s")
        ):
            return position < len(sequence) - 1
    return False


def unchecked_parts(response: Document) -> tuple[UncheckedPart, ...]:
    """Return the parts of a response that are not judged, in order.

    Every letter and digit lies in the span of a claim or in one of these parts.
    """
    text = response.text
    judged, own = bytearray(len(text)), bytearray(len(text))
    kinds: list[tuple[int, str] | None] = [None] * len(text)
    for number, unit in enumerate(response.units):
        for start, end in unit.tracked.raw_runs() or [(unit.span.start, unit.span.end)]:
            if unit.asserts:
                judged[start:end] = b"\1" * (end - start)
                start, end = max(start, unit.span.start), min(end, unit.span.end)
                own[start:end] = b"\1" * (end - start)
            else:
                kinds[start:end] = [(number, unit.reason or "")] * (end - start)
        for place, citation in enumerate(unit.citations):
            mark = (-1 - place, "a citation mark")
            kinds[citation.span.start : citation.span.end] = [mark] * len(citation.span)
    for entity in ENTITY.finditer(text):
        start, end = entity.span()
        if own[start]:
            own[start:end] = b"\1" * (end - start)
        elif (kind := kinds[start]) is not None:
            kinds[start:end] = [kind] * (end - start)

    line_ends = [match.start() for match in re.finditer("\n", text)]
    parts = []
    for gap in _GAP.finditer(own):
        places = [
            at
            for at in range(*gap.span())
            if text[at].isalnum() or (kinds[at] and not text[at].isspace())
        ]
        keys = (kinds[at] or (bisect_left(line_ends, at), "") for at in places)
        for (_, kind), group in groupby(zip(keys, places, strict=True), key=itemgetter(0)):
            found = [at for _, at in group]
            span = Span(found[0], found[-1] + 1)
            said, reason = span.cut(text), kind or _mark_up(text, span)
            letters = [at for at in found if text[at].isalnum()]
            if letters or reason == "symbols":
                repeated = bool(letters) and all(judged[at] for at in letters)
                asserting = not repeated and could_assert(said, reason)
                parts.append(UncheckedPart(said, span, reason, asserting))
    return tuple(parts)


def _mark_up(text: str, span: Span) -> str:
    """Return the kind of a part that is in no unit: a list mark, an opener, a link."""
    said = span.cut(text)
    before = text[max(0, span.start - _NEAR) : span.start].rpartition("\n")[2]
    after = TrackedText.of(text, span.start, min(span.end + _NEAR, len(text)))
    if _LIST_MARK.fullmatch(before) and _NUMBER.fullmatch(said):
        return "a list mark"
    if before.lstrip(" >").startswith(("```", "~~~")):
        return "code"
    if _STRUCK.search(before):
        return "struck out"
    if before.endswith(("](", "](<")) or _ADDRESS.match(said):
        return "a link"
    if before.endswith(("[", "[^", "(")) and len(said) <= 12 and " " not in said:
        return "a citation mark"
    if before.rfind("<") > before.rfind(">"):
        return "mark-up"
    opened = remove_openers(after).raw_span()
    return "mark-up" if opened is None or opened.start == span.start else "an opener"
