"""Mentions of sources: marks such as [1], openers such as "According to the report,", names.

Marks and openers are removed from a statement before it is judged. In doubt, a text is unchanged:
an opener with content stays. If documents have names, a response may cite one by name instead of
a number; a name fits if it has the same words as the name of the document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.reading.document import Citation, Span, TrackedText
from halldetect.reading.words import FUNCTION_WORDS, MONTHS

# Nouns that may be part of the name of a source, nouns that mean little more than "source", and
# nouns that need a name: "the 2023 budget".
_NOUN = (
    r"reports?|documents?|stud(?:y|ies)|papers?|articles?|polic(?:y|ies)(?: documents?)?|manual|"
    r"guide|guidelines?|handbook|leaflet|brochure|contract|agreement|minutes|transcript|e-?mail|"
    r"letter|notes?|log|data ?sheet|spec(?:ification)?s?|readme|notice|statement|page|website"
)
SOURCE = (
    rf"(?:{_NOUN}|doc|texts?|passages?|sources?|contexts?|excerpts?|extract|information|material|"
    r"content|conversation|dialogue|table|data|record|file|summary|abstract|documentation)"
)
_IN_NAMES = (
    rf"(?:{_NOUN}|memo|review|survey|plan|budget|press release|newsletter|filing|invoice|ticket|"
    r"faq|wiki|book|chapter)"
)
NAMED_SOURCE = (
    r"(?:(?:the|this|that|these|those|any|your|our|its)\s+)?"
    r"(?:(?:above|given|provided|supplied|attached|retrieved|following|available|original|"
    r"search|cited|quoted|uploaded|relevant|source|reference)\s+){0,2}"
    rf"{SOURCE}(?:\s+(?:no\.?\s*)?\[?\d{{1,2}}\]?)?"
    r"(?:\s+(?:provided|given|above|below|supplied|attached|you (?:provided|gave|sent|shared)))?"
)
_STATED = (
    r"(?:stated|described|mentioned|noted|explained|outlined|specified|reported|given|shown|"
    r"set out)"
)
_OPENER = re.compile(
    rf"(?:(?:according to|based (?:up)?on|as {_STATED} (?:in|by)|as per|per|from|in line with|"
    rf"in|judging by|going by)\s+(?:{NAMED_SOURCE}|\[\d{{1,2}}\])\s*,\s*"
    rf"|(?:the|this|that|your)\s+(?:(?:provided|given|attached)\s+)?{SOURCE}(?:\s+\[?\d{{1,2}}\]?)?"
    r"\s+(?:also\s+|clearly\s+|further\s+)?(?:states?|says?|mentions?|notes?|explains?|"
    r"specif(?:y|ies)|indicates?|reports?|shows?|confirms?|describes?|makes? (?:it )?clear)\s+that"
    r"\s+|it (?:is|was) (?:stated|mentioned|noted|reported|specified) that\s+"
    r"|(?:in (?:summary|short|brief|conclusion|addition|total|other words)|to (?:sum up|"
    r"summari[sz]e|conclude|answer your question)|overall|additionally|furthermore|moreover|also|"
    r"finally|lastly|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|sure|certainly|of course|okay|ok|"
    r"yes|well|so|by the way|hi|hello|hey|thanks|specifically|in particular|notably)\s*[,:!]\s+"
    r"|(?:please note that|note that|it is worth noting that|keep in mind that)\b[,:]?\s+)",
    re.IGNORECASE,
)
_NO_NAME = rf"(?:{'|'.join([*MONTHS, 'Spring', 'Summer', 'Autumn', 'Winter'])})\b"
_NAME = rf"(?!{_NO_NAME})(?-i:[A-ZÀ-Ý])(?!\d)[\w'’-]+"
_AUTHORS = rf"{_NAME}(?:(?:,|\s+and|\s*&)\s+{_NAME})*(?:,?\s+et\s+al\.?)?"
_CITATION = re.compile(
    r"(?<!\s)\s*(?:"
    r"\[\^?(?P<number>\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]"
    r"|\[\^(?P<note>[\w-]{1,20})\]"
    r"|【(?P<wide>(?:(?:source|doc|ref|page|chunk)\w*\s?)?\d[\d\s:,;–-]{0,20}"
    r"(?:†(?:source|L\d+(?:-L\d+)?|[\w-]{1,40}\.\w{2,5})?)?)】"
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
# "According to" before a name; `plain` words open other phrases as well: "In Paris,".
_NAMED_OPENER = re.compile(
    rf"(?:(?:according to|as {_STATED} (?:in|by)|(?P<plain>based (?:up)?on|as per|per|in))\s+)"
    r"(?P<name>[^,;:.!?]{2,80}?(?:\bet al\.)?(?:\.\w{2,4})?(?:\s\(\d{4}\))?)\s*,\s+(?=\S)",
    re.IGNORECASE,
)
_GENERAL = re.compile(_IN_NAMES, re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"\.(?:pdf|docx?|md|txt|html?|json|csv|log|rst|xlsx?|py)$", re.IGNORECASE)
_NOT_IN_NAMES = FUNCTION_WORDS | frozenset("et al page pages".split())
_NUMBERS = re.compile(r"\s*(\d{1,4})\s*(?:[-–]\s*(\d{1,4})\s*)?")
# A longer range cannot be a list of sources.
_MAX_RANGE = 50


def remove_citations(text: TrackedText) -> tuple[TrackedText, tuple[Citation, ...]]:
    """Remove the marks that cite sources: [1], [^2], (Smith, 2020), (source: https://...)."""
    found = list(_CITATION.finditer(text.text))
    if not found:
        return text, ()
    citations = []
    for match in found:
        place = text.raw_span(Span(*match.span()))
        label = next(value for value in match.groups() if value is not None)
        if place is not None:
            citations.append(Citation(label.strip("<>"), place))
    left = text.edited((*match.span(), "") for match in found)
    return left.stripped(), tuple(citations)


def remove_openers(text: TrackedText) -> TrackedText:
    """Remove openers such as "According to the report,".

    An opener that names a specific source, or has a number, stays.
    """
    for _ in range(3):
        match = _OPENER.match(text.text)
        if match is None or not any(char.isalpha() for char in text.text[match.end() :]):
            break
        text = text.cut(match.end()).capitalized()
    return text


def split_named_source(
    text: TrackedText, names: Sequence[str]
) -> tuple[TrackedText, tuple[Citation, ...]]:
    """Remove the document named at the start of a sentence, and return it as a citation.

    A source outside the documents stays in the sentence, because "According to Ann Hall," may be
    part of the statement.
    """
    match = _NAMED_OPENER.match(text.text) if names else None
    if match is None:
        return text, ()
    name = match["name"].strip()
    plain = match["plain"] is not None and _ENDING.search(name) is None
    if plain and not any(map(_GENERAL.fullmatch, _words(name))):
        return text, ()  # "In Paris," and "Per person,"
    place = text.raw_span(Span(*match.span()))
    if place is None or not matching_documents(name, names):
        return text, ()
    return text.cut(match.end()).capitalized(), (Citation(name, place),)


def matching_documents(label: str, names: Sequence[str]) -> list[int]:
    """Return the indices of the documents whose names contain all words of a label.

    A label with more words than the name of a document fits too, unless it only adds numbers.
    """
    wanted = _words(label)
    if not _is_specific(wanted):
        return []
    named = [_words(name) for name in names]
    return [at for at, known in enumerate(named) if wanted <= known] or [
        at
        for at, known in enumerate(named)
        if known < wanted and _is_specific(known) and not any(map(str.isdigit, wanted - known))
    ]


def cited_documents(label: str, names: Sequence[str], count: int) -> list[tuple[str, int | None]]:
    """Return each cited document as it is cited, with its index.

    An unknown number gets the index None. A label that is neither a number nor a document name is
    ignored: it may refer to anything. `count` is the number of documents.
    """
    wanted = " ".join(label.casefold().split())
    for index, name in enumerate(names):
        if wanted == " ".join(name.casefold().split()):
            return [(label, index)]
    found: list[tuple[str, int | None]] = []
    for piece in re.split(r"[,;]", label):
        match = _NUMBERS.fullmatch(piece)
        if match is None:
            places = matching_documents(label, names)
            return [(label, places[0])] if len(places) == 1 else []
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first <= _MAX_RANGE:
            return []
        for number in range(first, last + 1):
            found.append((str(number), number - 1 if 1 <= number <= count else None))
    return found


def _words(name: str) -> frozenset[str]:
    plain = _ENDING.sub("", name.strip()).casefold()
    return frozenset(word for word in _WORD.findall(plain) if word not in _NOT_IN_NAMES)


def _is_specific(words: frozenset[str]) -> bool:
    return any(_GENERAL.fullmatch(word) is None for word in words)
