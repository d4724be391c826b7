"""What headings, labels, lead-ins and table headers have to do with what follows them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from halldetect.reading.assertions import is_sentence, names_topic
from halldetect.reading.document import Span
from halldetect.reading.tracked import TrackedText

LABEL = re.compile(r"([^.:!?\n]{1,60}):\s+(?=\S)")
FALSE = re.compile(
    r"\b(?:false|wrong|incorrect|untrue|myths?|misconceptions?|lies|not true|fiction|fake|"
    r"rumou?rs?|debunked|hoax(?:es)?|never happened|inaccurate|mistaken)\b",
    re.IGNORECASE,
)
_FOLLOWING = re.compile(
    r"\s*\b(?:the following|these|as follows|below)(?:\s+(?:things|items|points|facts))?$",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|that|to|of|by|with|for|in|on|at|from|include|includes|"
    r"included|including|cover|covers|covered|contain|contains|offer|offers|offered|provide|"
    r"provides|require|requires|need|needs|sell|sells|sold|get|gets|can|may|must|will|should|"
    r"found|said|says|states|stated|receive|receives|following)$",
    re.IGNORECASE,
)
# First words that are written small inside a sentence.
_LOWERED = frozenset(
    "a an the its their his her our your this that these those all any no one each every free "
    "some both there it they he she we you in on at by with from after before during children "
    "adults people".split()
)
_NEGATION = re.compile(r"\b(?:no|not|never)\s+", re.IGNORECASE)
_GENERIC_HEADER = re.compile(
    r"(?:values?|details?|description|answer|info(?:rmation)?|findings?|results?|notes?|fact|"
    r"statement|data|content|response)",
    re.IGNORECASE,
)
LABEL_END = re.compile(r"[\s:.–—-]+$")
_PERSON = re.compile(r"(?:I|he|she|they|we|you|his|her|their|my|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LeadIn:
    """What the next items or lines lean on.

    text   the heading, label or line, without its colon
    unit   its index among the units; None where it is none
    topic  whether it only names a topic
    title  whether it is a heading or a bold line
    """

    text: TrackedText
    unit: int | None
    topic: bool
    title: bool = False

    @property
    def denies(self) -> bool:
        """Whether it says that what follows is not so."""
        return len(self.text.text) < 120 and FALSE.search(self.text.text) is not None


def stands_alone(text: str, *, at_least: int = 2) -> bool:
    """Whether what follows a label is a sentence that does not need it.

    text      what follows
    at_least  how many words it must have, if it does not end like a sentence
    """
    if _PERSON.match(text) or (len(text.split()) < at_least and not text.endswith(".")):
        return False
    return is_sentence(text) or (text.rstrip().endswith((".", "!")) and len(text.split()) >= 4)


def without_end(text: TrackedText) -> TrackedText:
    end = LABEL_END.search(text.text)
    return (text if end is None else text.cut(0, end.start())).stripped()


def joined_names(subject: TrackedText, name: TrackedText) -> TrackedText:
    """The first cell of a row and the header of a column: "Revenue, Q2 2025"."""
    named = name.text and _GENERIC_HEADER.fullmatch(name.text) is None
    parts = [part for part in (subject, name) if part.text and (part is subject or named)]
    if len(parts) == 2:
        parts.insert(1, TrackedText.added(", "))
    return TrackedText.joined(parts)


def leans_on(lead: LeadIn, content: TrackedText, *, item: bool) -> bool:
    """Whether a text says something only together with what comes before it.

    lead     what comes before it
    content  the text
    item     whether it is the first sentence of a list item
    """
    if lead.denies:
        return True
    if not item or names_topic(lead.text.text, marked=False):
        return False
    if lead.title and LABEL.match(content.text):
        return False  # "Rent: 940 euros" says what it is about
    return content.text[:1].islower() or not is_sentence(content.text)


def with_lead_in(lead: LeadIn, item: TrackedText) -> TrackedText:
    """An item together with the words it leans on."""
    if lead.denies:
        negation = _NEGATION.search(item.text)
        if negation is not None:  # what is denied is a denial itself
            return item.without([Span(*negation.span())])
        return TrackedText.joined([TrackedText.added("It is not true that "), _lowered(item)])
    opening = lead.text
    following = _FOLLOWING.search(opening.text)
    joiner = ": "
    if following is not None and following.start() > 0:
        opening, joiner = opening.cut(0, following.start()), " "
    elif _OPEN_END.search(opening.text) is not None:
        joiner = " "
    elif LABEL.match(item.text) is not None:
        joiner = ", "
    return TrackedText.joined(
        [opening, TrackedText.added(joiner), _lowered(item) if joiner == " " else item]
    )


def _lowered(text: TrackedText) -> TrackedText:
    """The text as it goes on in a sentence, where its first word is no name."""
    first = text.text.split(maxsplit=1)[0].lower()
    if first not in _LOWERED:
        return text
    return TrackedText(text.text[:1].lower() + text.text[1:], text.origins)
