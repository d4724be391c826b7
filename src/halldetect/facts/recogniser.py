"""Numbers, dates and names with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from halldetect.facts.word_usage import WordUsage, opens
from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, normalize, words

_COUNTS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen"
).split()
_VALUES = {word: str(value) for value, word in enumerate(_COUNTS[:20], 1)}
_VALUES |= {
    word: str(value) for value, word in zip(range(30, 100, 10), _COUNTS[20:27], strict=True)
}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_DIGITS = r"\d+(?:[.,:/]\d+)*"
_COUNT = rf"(?:{'|'.join(_COUNTS)})"
_MONTH = rf"(?:{'|'.join(MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATED = re.compile(
    rf"(?P<day>\b{_DAY}(?: of)? {_MONTH}(?:,? \d{{4}}\b)?|\b{_MONTH} {_DAY}\b(?:,? \d{{4}}\b)?)"
    rf"|(?P<month>\b{_MONTH}(?: \d{{4}}\b)?)"
    rf"|(?P<weekday>\b(?:{'|'.join(WEEKDAYS)})s?\b)|(?P<season>\b(?:spring|summer|autumn|winter)\b)"
    rf"|(?P<money>[$€£¥]\s?{_DIGITS}(?:\s?(?:m|bn|k|thousand|million|billion|trillion)\b)?)"
    rf"|(?P<percent>\b(?:{_DIGITS}|{_COUNT})\s?(?:%|percent\b|per cent\b))"
    rf"|(?P<ordinal>\b\d+(?:st|nd|rd|th)\b|\b(?:{'|'.join(_ORDINALS)})\b)"
    r"|(?P<year>(?<![\d.,$€£¥-])(?:1\d|20)\d\ds?(?![\d.,:/]\d|\w))"
    r"|(?P<clock>\b\d?\d:\d\d(?:\s?(?:[ap]m\b|[ap]\.m\.))?|\b\d?\d\s?[ap]m\b)"
    rf"|(?P<number>(?:(?<!\w)[-−]?{_DIGITS}(?:\s(?:thousand|million|billion|trillion)\b)?)"
    rf"|\b(?:{_COUNT}|{'|'.join(word.capitalize() for word in _COUNTS)})(?:[- ]{_COUNT})*\b)",
)
_DATE_FORMS = frozenset("day month weekday season year".split())
_UNITS = frozenset(
    "% percent cents cent euros euro dollars dollar pounds pound kg kilograms kilogram grams gram "
    "tonnes tons mg milligrams micrograms metres meters metre meter km kilometres kilometers "
    "centimetres millimetres miles mile feet inches litres liters litre ml seconds minutes hours "
    "days weeks months years second minute hour day week month year degrees celsius fahrenheit "
    "watts kilowatts megawatts gigawatts volts bytes kilobytes megabytes gigabytes mb gb kb tb ms "
    "hectares acres kelvin joules bar hertz mm cm m l g".split()
)
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w’'&.-]*\w|[^\W\d_a-zß-öø-ÿ]\b"
_NAME = re.compile(
    rf"(?:{_CAPITAL})(?:\s(?:(?:of|de|du|da|van|von|der|and the|of the)\s)?(?:{_CAPITAL}))*"
)
_FOLLOWING = re.compile(r"\W*([\w%]+)")


class FactKind(StrEnum):
    """The kinds of fact."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number, a date or a name in a text.

    Attributes:
        kind: The kind of fact.
        form: The notation, such as "money" or "year"; facts of one form are interchangeable.
        start, end: Its place.
        text: The fact as written.
        following: The next word in lower case; empty at the end.
    """

    kind: FactKind
    form: str
    start: int
    end: int
    text: str
    following: str

    @property
    def key(self) -> str:
        """The form used for comparison: "1,200" becomes "1200", "Six" becomes "6"."""
        key = normalize(" ".join(self.text.split())).replace(",", "")
        return _VALUES.get(key, key)

    @property
    def unit(self) -> str:
        """The unit of a number; empty without one."""
        if self.kind is FactKind.NUMBER and self.following in _UNITS:
            return self.following
        return ""


def find_facts(text: str, usage: WordUsage | None = None) -> list[Fact]:
    """Return the numbers, dates and names of a sentence, in order.

    A capitalised word at the start of a sentence may or may not be a name. `usage` decides;
    without it, the word counts only if another capital follows.
    """
    found = []
    for match in _DATED.finditer(text):
        form = str(match.lastgroup)
        kind = FactKind.DATE if form in _DATE_FORMS else FactKind.NUMBER
        found.append(_fact(text, kind, form, match.start(), match[0]))
    taken = [(fact.start, fact.end) for fact in found]
    found += [
        name
        for name in _names(text, usage)
        if not any(start < name.end and name.start < end for start, end in taken)
    ]
    return sorted(found, key=lambda fact: fact.start)


def has_number(text: str) -> bool:
    """Return True if a text has a number or a date."""
    return _DATED.search(text) is not None


def _names(text: str, usage: WordUsage | None) -> Iterator[Fact]:
    for match in _NAME.finditer(text):
        start, shown = match.start(), re.sub(r"['’]s$", "", match[0])
        first, _, rest = shown.partition(" ")
        if opens(text, start) and normalize(first) in FUNCTION_WORDS:
            start, shown = start + len(first) + 1, rest
        spoken = words(shown)
        if not spoken or all(word.norm in FUNCTION_WORDS for word in spoken):
            continue
        if " " not in shown and opens(text, start) and not (usage and usage.is_name(shown)):
            continue
        yield _fact(text, FactKind.NAME, "name", start, shown)


def _fact(text: str, kind: FactKind, form: str, start: int, shown: str) -> Fact:
    end = start + len(shown)
    following = _FOLLOWING.match(text, end)
    after = "" if following is None else following[1].lower()
    return Fact(kind, form, start, end, shown, after)
