"""Sources that a text names: "According to the 2023 annual report,", "(Smith et al., 2020)".

Where the documents of a source have names, a response may point to one of them by its name instead
of a number. A name fits if its words are those of the document's name, as far as they go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.reading.document import Span
from halldetect.reading.tracked import TrackedText
from halldetect.reading.units import Citation
from halldetect.reading.words import FUNCTION_WORDS

_NOUN = (
    r"(?:reports?|documents?|stud(?:y|ies)|papers?|articles?|polic(?:y|ies)|manual|guide|"
    r"guidelines?|handbook|leaflet|brochure|contract|agreement|minutes|transcript|e-?mail|letter|"
    r"memo|notes?|log|data ?sheet|specification|readme|notice|statement|review|survey|plan|budget|"
    r"press release|newsletter|filing|invoice|ticket|faq|wiki|page|website|book|chapter)"
)
_OPENER = re.compile(
    r"(?:(?:according to|as (?:stated|described|mentioned|noted|explained|reported|shown|set out) "
    r"(?:in|by)|(?P<plain>based (?:up)?on|as per|per|in))\s+)"
    r"(?P<name>[^,;:.!?]{2,80}?(?:\bet al\.)?(?:\.\w{2,4})?(?:\s\(\d{4}\))?)\s*,\s+(?=\S)",
    re.IGNORECASE,
)
_KIND_OF_SOURCE = re.compile(rf"(?:the|this|that|its|their|our|your)\b.*\b{_NOUN}$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"\.(?:pdf|docx?|md|txt|html?|json|csv|log|rst|xlsx?|py)$", re.IGNORECASE)
_NO_NAME = FUNCTION_WORDS | frozenset("et al page pages".split())
# Words that name a kind of source; alone they name none.
_GENERAL = re.compile(_NOUN, re.IGNORECASE)


def matching_documents(label: str, names: Sequence[str]) -> list[int]:
    """The documents, by index, that a name may mean: those whose names have all its words.

    A name that says more than that of a document fits it too, unless it only adds or lacks numbers.

    label  what a text calls a source
    names  of the documents
    """
    wanted = _words(label)
    if not _is_specific(wanted):
        return []
    found = [at for at, name in enumerate(names) if wanted <= _words(name)]
    if found:
        return found
    return [
        at
        for at, name in enumerate(names)
        if _words(name) < wanted
        and _is_specific(_words(name))
        and not any(word.isdigit() for word in wanted - _words(name))
    ]


def _words(name: str) -> frozenset[str]:
    plain = _ENDING.sub("", name.strip()).casefold()
    return frozenset(word for word in _WORD.findall(plain) if word not in _NO_NAME)


def named_source(text: str, names: Sequence[str]) -> tuple[str, Span, bool] | None:
    """The source that a sentence names at its start.

    What is given is the name, the range of the opener, and whether a document has that name. A
    name that no document has is given only where it calls itself a source: "the 2019 audit
    report". Without names nothing is: "According to Ann Hall," may be part of what is said.

    text   a sentence
    names  of the documents; empty where they have none
    """
    match = _OPENER.match(text) if names else None
    if match is None:
        return None
    name, span = match["name"].strip(), Span(*match.span())
    # "In Paris," and "Per person," name no source, whatever a document is called.
    plain = match["plain"] is not None and _ENDING.search(name) is None
    if plain and not any(map(_GENERAL.fullmatch, _words(name))):
        return None
    if matching_documents(name, names):
        return name, span, True
    return (name, span, False) if is_kind_of_source(name) else None


def is_kind_of_source(name: str) -> bool:
    """Whether a name says of itself that it names one source: "the 2019 audit report"."""
    return _KIND_OF_SOURCE.fullmatch(name) is not None and _is_specific(_words(name))


def mentions(text: str, name: str) -> bool:
    """Whether a text has all words of the name of a source."""
    return _words(name) <= _words(text)


def _is_specific(words: frozenset[str]) -> bool:
    return any(_GENERAL.fullmatch(word) is None for word in words)


def without_named_source(
    text: TrackedText, names: Sequence[str]
) -> tuple[TrackedText, tuple[Citation, ...]]:
    """A sentence without the document that it names at its start, and that as a citation.

    A source that is none of the documents stays in the sentence.

    text   the sentence
    names  of the documents
    """
    named = named_source(text.text, names)
    place = None if named is None else text.raw_span(named[1])
    if named is None or place is None:
        return text, ()
    name, opener, known = named
    return (text.cut(opener.end).capitalized() if known else text), (Citation(name, place),)
