"""Headings, labels, lead-ins and table headers, and the texts that need them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.reading.assertions import is_sentence, names_topic
from halldetect.reading.document import Span, TrackedText
from halldetect.reading.words import ARTICLES, AUXILIARIES, PREPOSITIONS, SUBJECTS

_LABEL = re.compile(r"([^.:!?\n]{1,60}):\s+(?=\S)")
_LABEL_END = re.compile(r"[\s:.–—-]+\Z")
_AFTER_BOLD = re.compile(r"\s*(?:[:–—-]|\.(?=\s))\s*")
REFERENCES = re.compile(
    r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|links?|"
    r"further reading|see also|read more|more information)(?: used| cited)?",
    re.IGNORECASE,
)
FALSE = re.compile(
    r"\b(?:false|wrong|incorrect|untrue|myths?|misconceptions?|lies|not true|fiction|fake|"
    r"rumou?rs?|debunked|hoax(?:es)?|never happened|inaccurate|mistaken)\b",
    re.IGNORECASE,
)
_OPEN_WORDS = "|".join(sorted((AUXILIARIES | PREPOSITIONS) - {"following"}))
_OPEN_END = re.compile(
    rf"\b(?:{_OPEN_WORDS}|that|include[sd]?|including|"
    r"cover(?:s|ed)?|contains?|offer(?:s|ed)?|provides?|requires?|needs?|sells?|sold|gets?|found|"
    r"said|says|state[sd]|receives?)$",
    re.IGNORECASE,
)
# First words that are lower case inside a sentence.
_LOWERED = (
    ARTICLES
    | PREPOSITIONS
    | SUBJECTS - {"i"}
    | frozenset(
        "its their his her our your this that these those all any no one each every free some both "
        "there children adults people".split()
    )
)
_NEGATION = re.compile(r"\b(?:no|not|never)\s+", re.IGNORECASE)
_PERSON = re.compile(r"(?:I|he|she|they|we|you|his|her|their|my|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LeadIn:
    """A heading, label or line before the items or lines that need it.

    Attributes:
        text: The words without the colon.
        unit: The index among the units; None if it is not a unit.
        title: True for a heading or a bold line.
    """

    text: TrackedText
    unit: int | None = None
    title: bool = False

    @property
    def denies(self) -> bool:
        """True if it declares the text after it false."""
        return len(self.text.text) < 120 and FALSE.search(self.text.text) is not None


def is_independent(text: str, *, at_least: int = 2) -> bool:
    """Return True if the text after a label is a sentence that does not need the label.

    A text that does not end like a sentence must have `at_least` words.
    """
    if _PERSON.match(text) or (len(text.split()) < at_least and not text.endswith(".")):
        return False
    return is_sentence(text) or (text.rstrip().endswith((".", "!")) and len(text.split()) >= 4)


def strip_end(text: TrackedText) -> TrackedText:
    """Remove the colon, full stop or dash at the end."""
    end = _LABEL_END.search(text.text[-20:])
    return (text if end is None else text.cut(0, len(text.text) - len(end.group()))).stripped()


def label_of(
    text: TrackedText, strong: Sequence[Span], item: bool
) -> tuple[TrackedText | None, TrackedText]:
    """Split a line into its label, None without one, and the rest.

    Args:
        text: The line.
        strong: The bold ranges.
        item: True for a list item.
    """
    first = next((span for span in strong if span.start <= 0 < span.end), None)
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
    if not item or names_topic(lead.text.text, marked=False):
        return False
    if lead.title and _LABEL.match(content.text):
        return False  # "Rent: 940 euros" already names its topic
    return content.text[:1].islower() or not is_sentence(content.text)


def with_lead_in(lead: LeadIn, item: TrackedText) -> TrackedText:
    """Join an item to the lead-in that it needs."""
    if lead.denies:
        negation = _NEGATION.search(item.text)
        if negation is not None:  # a double negation
            return item.remove([Span(*negation.span())])
        return TrackedText.joined([TrackedText.added("It is not true that "), _lowered(item)])
    joiner = ": "
    if _OPEN_END.search(lead.text.text) is not None:
        joiner = " "
    elif _LABEL.match(item.text) is not None:
        joiner = ", "
    return TrackedText.joined(
        [lead.text, TrackedText.added(joiner), _lowered(item) if joiner == " " else item]
    )


def _lowered(text: TrackedText) -> TrackedText:
    """Lower-case the first word, unless it may be a name."""
    if text.text.split(maxsplit=1)[0].lower() not in _LOWERED:
        return text
    return TrackedText(text.text[:1].lower() + text.text[1:], text.origins)
