"""The parts of a sentence that are most often wrong: numbers, dates, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, normalize

_COUNTS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen"
).split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_DIGITS = r"\d+(?:[.,:/]\d+)*"
_COUNT = rf"(?:{'|'.join(_COUNTS)})"
_NUMBER = re.compile(
    rf"(?P<money>[$€£¥]\s?{_DIGITS}(?:\s?(?:m|bn|k|thousand|million|billion|trillion)\b)?)"
    rf"|(?P<percent>(?:{_DIGITS}|{_COUNT})\s?(?:%|percent\b|per cent\b))"
    rf"|(?P<ordinal>\b\d+(?:st|nd|rd|th)\b|\b(?:{'|'.join(_ORDINALS)})\b)"
    r"|(?P<year>(?<![\d.,])(?:1\d|20)\d\d(?![\d.,:/]\d|\w))"
    rf"|(?P<clock>\b\d?\d:\d\d(?:\s?[ap]\.?m\b\.?)?|\b\d?\d\s?[ap]m\b)"
    rf"|(?P<number>(?:(?<!\w)[-−]?{_DIGITS}(?:\s(?:thousand|million|billion|trillion)\b)?)"
    rf"|\b{_COUNT}(?:[- ]{_COUNT})*\b)"
    rf"|(?P<month>\b(?:{'|'.join(MONTHS)})\b)"
    rf"|(?P<day>\b(?:{'|'.join(WEEKDAYS)})s?\b)",
)
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w’'&.-]*\w|[^\W\d_a-zß-öø-ÿ]\b"
_NAME = re.compile(
    rf"(?:{_CAPITAL})(?:\s(?:(?:of|de|du|da|van|von|der|and the|of the)\s)?(?:{_CAPITAL}))*"
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A number, a date or a name in a text.

    kind        "name", or a kind of number or date: only slots of one kind stand for each other
    start, end  its place
    text        as it is written
    following   the word after it in lower case, such as a unit; empty at the end
    """

    kind: str
    start: int
    end: int
    text: str
    following: str

    @property
    def key(self) -> str:
        """What it is compared by."""
        return normalize(" ".join(self.text.split())).replace(",", "")


def slots(text: str) -> list[Slot]:
    """The numbers, dates and names of a text, in order."""
    found = [_slot(text, match, str(match.lastgroup)) for match in _NUMBER.finditer(text)]
    taken = [(slot.start, slot.end) for slot in found]
    found += [
        slot
        for slot in _names(text)
        if not any(start < slot.end and slot.start < end for start, end in taken)
    ]
    return sorted(found, key=lambda slot: slot.start)


def has_number(text: str) -> bool:
    """Whether a text has a number or a date."""
    return _NUMBER.search(text) is not None


def _names(text: str) -> Iterator[Slot]:
    for match in _NAME.finditer(text):
        slot = _slot(text, match, "name")
        first, _, rest = slot.text.partition(" ")
        # The first word of a sentence has a capital whatever it is.
        if not text[: slot.start].strip(" \t\"'“‘(*-") and normalize(first) in FUNCTION_WORDS:
            if not rest:
                continue
            start = slot.start + len(first) + 1
            slot = Slot("name", start, slot.end, rest, slot.following)
        if normalize(slot.text) not in FUNCTION_WORDS:
            yield slot


def _slot(text: str, match: re.Match[str], kind: str) -> Slot:
    following = re.match(r"\W*([\w%]+)", text[match.end() :])
    after = "" if following is None else following[1].lower()
    end = match.end()
    shown = match[0]
    if kind == "name":
        shown = re.sub(r"['’]s$", "", shown)
        end = match.start() + len(shown)
    return Slot(kind, match.start(), end, shown, after)
