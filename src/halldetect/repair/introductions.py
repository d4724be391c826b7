"""Sentences that say nothing without what follows: headings, labels, lead-ins, heads of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from halldetect.reading.document import Document
from halldetect.repair.revision import Sentence

_HEADING = re.compile(r"\s*(#{1,6})\s")
_BOLD = re.compile(r"[^\w*]*(?:\*\*[^*]+\*\*|__[^_]+__)[:.]?")
# Below all headings.
_BOLD_LEVEL = 7
_ITEM = re.compile(r"(?:[-*+•‣▪◦●○]|\(?\d{1,3}[.)])\s")
_TABLE_RULE = re.compile(r"(?=.*\|)[\s:|-]*-[\s:|-]*")


@dataclass(frozen=True, slots=True)
class _Place:
    """How a sentence stands in the response.

    text       the sentence
    line       where its line starts
    indent     how far from there the sentence starts
    opens      whether it is the first of its line
    paragraph  whether a blank line is before it
    """

    text: str
    line: int
    indent: int
    opens: bool
    paragraph: bool

    @property
    def level(self) -> int:
        """The level of a title; 0 for anything else."""
        heading = _HEADING.match(self.text)
        if heading is not None:
            return len(heading[1])
        return _BOLD_LEVEL if _BOLD.fullmatch(self.text) else 0

    @property
    def item(self) -> bool:
        """Whether a list item begins with it."""
        return self.opens and _ITEM.match(self.text) is not None


def left_alone(response: Document, sentences: Sequence[Sentence]) -> list[int]:
    """The sentences, by index, that introduce something of which nothing is left.

    response   as it was
    sentences  of the response as they are now
    """
    places = list(_places(response, sentences))
    left = [not sentence.removed for sentence in sentences]
    found: list[int] = []
    for at in reversed(range(len(places))):
        introduced = len(_introduced(places, at))
        if left[at] and introduced and not any(left[at + 1 : at + 1 + introduced]):
            left[at] = False
            found.append(at)
    return found


def _places(response: Document, sentences: Sequence[Sentence]) -> Iterator[_Place]:
    end = 0
    for sentence in sentences:
        start = sentence.span.start
        gap = response.text[end:start]
        line = response.text.rfind("\n", 0, start) + 1
        opens = not end or "\n" in gap
        yield _Place(sentence.before, line, start - line, opens, gap.count("\n") > 1)
        end = sentence.span.end


def _introduced(places: Sequence[_Place], at: int) -> list[_Place]:
    """What a sentence introduces; nothing if it says something by itself."""
    place, following = places[at], places[at + 1 :]
    if not following:
        return []
    level = place.level
    if following[0].line == place.line:  # "**Price.** It costs 5 euros."
        return list(takewhile(lambda other: other.line == place.line, following)) if level else []
    if level:
        return list(takewhile(lambda other: not 0 < other.level <= level, following))
    if place.text.rstrip(" *_").endswith(":"):
        return _led_in(place, following)
    if _is_rule(place) or ("|" in place.text and _is_rule(following[0])):
        return list(takewhile(lambda other: "|" in other.text, following))
    return []


def _is_rule(place: _Place) -> bool:
    return _TABLE_RULE.fullmatch(place.text) is not None


def _led_in(lead: _Place, following: Sequence[_Place]) -> list[_Place]:
    """What a line with a colon introduces: the list that follows, or else the paragraph."""
    first = following[0]
    if first.level:
        return []
    if lead.item:  # an item with a list of its own
        return list(takewhile(lambda other: other.indent > lead.indent, following))
    if first.item:
        return list(takewhile(_is_in_list, following))
    return [first, *takewhile(lambda other: not other.paragraph, following[1:])]


def _is_in_list(place: _Place) -> bool:
    return place.item or place.indent > 0
