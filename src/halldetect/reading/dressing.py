"""What dresses a statement and is no part of it: citations, openers, labels.

Each function takes a text that knows where its characters come from and returns it with less.
In doubt a text stays as it is: a citation or an opener that says something is left in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from halldetect.reading.document import Span
from halldetect.reading.tracked import TrackedText
from halldetect.reading.units import Citation
from halldetect.reading.words import MONTHS

# What a source is called when it has no name of its own.
_SOURCE = (
    r"(?:documents?|doc|reports?|texts?|passages?|sources?|contexts?|articles?|policy|policies|"
    r"polic(?:y|ies) documents?|manual|guide|guidelines?|handbook|leaflet|brochure|contract|"
    r"agreement|minutes|transcript|conversation|dialogue|e-?mail|table|data|data ?sheet|"
    r"spec(?:ification)?s?|record|notes?|log|file|page|website|excerpts?|extract|summary|study|"
    r"paper|abstract|information|material|content|documentation|readme|notice|letter|statement)"
)
_WHICH = (
    r"(?:(?:the|this|that|these|your|our|its)\s+)?"
    r"(?:(?:above|given|provided|supplied|attached|retrieved|following|available|original|"
    r"cited|quoted|uploaded|relevant|source|reference)\s+){0,2}"
)
_PLACE = (
    r"(?:\s+(?:provided|given|above|below|supplied|attached|you (?:provided|gave|sent|shared)))?"
)
_NUMBERED = r"(?:\s+(?:no\.?\s*)?\[?\d{1,2}\]?)?"
_NAMED_SOURCE = rf"{_WHICH}{_SOURCE}{_NUMBERED}{_PLACE}"
_OPENER = re.compile(
    rf"(?:(?:according to|based (?:up)?on|as (?:stated|described|mentioned|noted|explained|"
    rf"outlined|specified|reported|given|shown|set out) (?:in|by)|as per|per|from|in line with|"
    rf"in|judging by|going by)\s+(?:{_NAMED_SOURCE}|\[\d{{1,2}}\])\s*,\s*"
    rf"|(?:the|this|that|your)\s+(?:(?:provided|given|attached)\s+)?{_SOURCE}{_NUMBERED}\s+"
    r"(?:also\s+|clearly\s+|further\s+)?(?:states?|says?|mentions?|notes?|explains?|specif(?:y|ies)"
    r"|indicates?|reports?|shows?|confirms?|describes?|makes? (?:it )?clear)\s+that\s+"
    r"|it (?:is|was) (?:stated|mentioned|noted|reported|specified) that\s+"
    r"|(?:in (?:summary|short|brief|conclusion|addition|total|other words)|to (?:sum up|"
    r"summari[sz]e|conclude|answer your question)|overall|additionally|furthermore|moreover|also|"
    r"finally|"
    r"lastly|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|sure|certainly|of course|okay|ok|"
    r"yes|well|so|by the way|hi|hello|hey|thanks|please note that|note that|"
    r"it is worth noting that|specifically|in particular|notably)\s*[,:!]\s+"
    r"|(?:please note that|note that|it is worth noting that|keep in mind that)\s+)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:(?:so|and|but|well),?\s+)?(?:did|do|have|are|were|would|can|could) you "
    r"(?:know|realis\w*|realiz\w*|hear|heard|aware|believe|remember|"
    r"surprised(?: to (?:hear|learn))?)"
    r"(?: of the fact)?\s+that\s+(?=.*\?\W*$)"
    r"|who (?:(?:would|could) (?:ever )?have (?:thought|guessed|known|believed|expected|imagined)|"
    r"knew)\s+that\s+(?=.*\?\W*$)"
    r"|why is it that\s+(?=.*\?\W*$)|(?:isn't|is) it (?:not )?true that\s+(?=.*\?\W*$)",
    re.IGNORECASE | re.DOTALL,
)
_CLOSER = re.compile(
    rf"\s*,\s+(?:according to|as (?:stated|described|mentioned|noted|reported) (?:in|by)|per)\s+"
    rf"{_NAMED_SOURCE}\s*(?=[.!]?\s*$)",
    re.IGNORECASE,
)
_DATES = "|".join([*MONTHS, "Spring", "Summer", "Autumn", "Winter"])
_NAME = rf"(?!(?:{_DATES})\b)[A-ZÀ-Ý][\w'’-]+"
_AUTHORS = rf"{_NAME}(?:(?:,|\s+and|\s*&)\s+{_NAME})*(?:,?\s+et\s+al\.?)?"
_CITATION = re.compile(
    r"\s*(?:"
    r"\[\^?(?P<number>\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]"
    r"|\[\^(?P<note>[\w-]{1,20})\]"
    r"|【(?P<wide>[^】]{1,40})】"
    rf"|[\[(](?:see\s+|cf\.?\s+)?(?:source|doc(?:ument)?|ref(?:erence)?|passage|chunk|context|"
    r"section|page|p\.?|pp\.?|fig(?:ure)?\.?|table)\s*[:#]?\s*(?P<source>\d{1,3}"
    r"(?:\s*[,;–-]\s*\d{1,3})*)[\])]"
    rf"|\((?:see\s+|cf\.?\s+|e\.g\.,?\s+)?(?P<authors>{_AUTHORS},\s+\d{{4}}[a-z]?"
    rf"(?:;\s+{_AUTHORS},\s+\d{{4}}[a-z]?)*)\)"
    rf"|\((?P<author>{_NAME}(?:\s+(?:and|&)\s+{_NAME}|\s+et\s+al\.?)?\s+(?:19|20)\d\d[a-z]?)\)"
    r"(?=\s*[.!;]?\s*$)"
    r"|[\[(](?:source|sources|ref|via)\s*:?\s*(?P<address><?https?://[^\s\])]+>?)[\])]"
    r"|\((?P<bare>https?://[^\s)]+)\)"
    r")",
    re.IGNORECASE,
)
_RAISED = re.compile(r"(?<=[^\W\d_][.,;!?])[¹²³⁴-⁹⁰]+|(?<=[a-z])[¹²³⁴-⁹⁰]+(?=[.,;]?\s|[.,;]?$)")
_UNITS_BEFORE = re.compile(r"(?:\b[kcdm]?m|\bkm|\bft|\bin|\bs|\bCO)$")
_EMPTY_PAIR = re.compile(r"\(\s*[,;]?\s*\)|\[\s*\]")
_LOOSE_STOP = re.compile(r"\s+(?=[.,;:!?](?:\s|$))")


@dataclass(frozen=True, slots=True)
class Uncited:
    """A text without its citations, and the citations."""

    text: TrackedText
    citations: tuple[Citation, ...]


def without_citations(text: TrackedText) -> Uncited:
    """Take out the marks that point to sources: [1], [^2], (Smith, 2020), (source: https://...)."""
    found: list[tuple[Span, str]] = []
    for match in _CITATION.finditer(text.text):
        label = next(value for value in match.groups() if value is not None)
        found.append((Span(*match.span()), label.strip("<>")))
    for match in _RAISED.finditer(text.text):
        if _UNITS_BEFORE.search(text.text[: match.start()]) is None:
            found.append((Span(*match.span()), match.group()))
    if not found:
        return Uncited(text, ())
    found.sort()
    citations = []
    for span, label in found:
        place = text.raw_span(span)
        if place is not None:
            citations.append(Citation(label, place))
    left = text.without([span for span, _ in found])
    left = left.without([Span(*match.span()) for match in _EMPTY_PAIR.finditer(left.text)])
    left = left.without([Span(*match.span()) for match in _LOOSE_STOP.finditer(left.text)])
    return Uncited(left.stripped(), tuple(citations))


def told(text: TrackedText) -> TrackedText:
    """What a question tells: "Did you know that it sank?" says that it sank."""
    match = _TOLD.match(text.text)
    if match is None:
        return text
    end = len(text.text.rstrip("?! "))
    rest = text.cut(match.end(), end)
    return TrackedText.joined([rest, TrackedText.added(".")]).capitalized()


def without_openers(text: TrackedText) -> TrackedText:
    """Take off "According to the report," and the like, at the start and at the end.

    An opener that names a source by its own name, or gives a number, stays.
    """
    for _ in range(3):
        match = _OPENER.match(text.text)
        if match is None or not any(char.isalpha() for char in text.text[match.end() :]):
            break
        text = text.cut(match.end()).capitalized()
    match = _CLOSER.search(text.text)
    if match is not None and match.start() > 0:
        text = text.without([Span(*match.span())])
    return text
