"""Numbers, dates and names with their places, found by rule.

The capital of the first word of a sentence means nothing. Such a word is a name if it has another
capital, or a capital in the middle of other sentences.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, Word, normalize, words

COUNTS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen"
).split()
VALUES = dict(zip(COUNTS, [*range(1, 21), *range(30, 100, 10)], strict=False))
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_DIGITS = r"\d+(?:[.,:/]\d+)*"
_COUNT = rf"(?:{'|'.join(COUNTS)})"
MONTH = rf"(?:{'|'.join(MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATED = re.compile(
    rf"(?P<day>\b{_DAY}(?: of)? {MONTH}(?:,? \d{{4}}\b)?|\b{MONTH} {_DAY}\b(?:,? \d{{4}}\b)?)"
    rf"|(?P<month>\b{MONTH}(?: \d{{4}}\b)?)"
    rf"|(?P<weekday>\b(?:{'|'.join(WEEKDAYS)})s?\b)|(?P<season>\b(?:spring|summer|autumn|winter)\b)"
    rf"|(?P<money>[$€£¥]\s?{_DIGITS}(?:\s?(?:m|bn|k|thousand|million|billion|trillion)\b)?)"
    rf"|(?P<percent>\b(?:{_DIGITS}|{_COUNT})\s?(?:%|percent\b|per cent\b))"
    rf"|(?P<ordinal>\b\d+(?:st|nd|rd|th)\b|\b(?:{'|'.join(ORDINALS)})\b)"
    r"|(?P<year>(?<![\d.,$€£¥-])(?:1\d|20)\d\ds?(?![\d.,:/]\d|\w))"
    r"|(?P<clock>\b\d?\d:\d\d(?:\s?(?:[ap]m\b|[ap]\.m\.))?|\b\d?\d\s?[ap]m\b)"
    rf"|(?P<number>(?:(?<!\w)[-−]?{_DIGITS}(?:\s(?:thousand|million|billion|trillion)\b)?)"
    rf"|\b(?:{_COUNT}|{'|'.join(word.capitalize() for word in COUNTS)})(?:[- ]{_COUNT})*\b)",
)
_DATE_FORMS = frozenset("day month weekday season year".split())
# Kind, then factor and names of each unit. Plurals with "s" are known.
_UNIT_TABLE = """
time 0.001 ms millisecond; 1 s sec second; 60 min minute; 3600 h hr hour; 86400 day; 604800 week
time 2629800 month; 31557600 year; 315576000 decade; 3155760000 century
length 0.001 mm millimetre millimeter; 0.01 cm centimetre centimeter; 1 m metre meter; 0.9144 yard
length 1000 km kilometre kilometer; 1609.344 mile; 0.3048 ft foot feet; 0.0254 inch inches
area 1 m² sqm; 1e6 km²; 1e4 ha hectare; 4046.86 acre
mass 1e-6 µg mcg microgram; 0.001 mg milligram; 1 g gram; 1000 kg kilo kilogram; 1e6 tonne ton
mass 453.592 lb lbs; 28.3495 ounce oz
volume 0.001 ml millilitre milliliter; 0.01 cl; 1 l litre liter
data 1 byte; 1e3 kb kilobyte; 1e6 mb megabyte; 1e9 gb gigabyte; 1e12 tb terabyte
power 1 w watt; 1e3 kw kilowatt; 1e6 mw megawatt; 1e9 gw gigawatt
energy 1 wh; 1e3 kwh; 1e6 mwh; 1e9 gwh; 0.000277778 joule
voltage 1 volt
frequency 1 hertz hz
temperature 1 °c celsius
fahrenheit 1 °f fahrenheit f
share 0.01 % percent percentage; 0.001 ‰
dollar 1 dollar usd $; 0.01 ¢
euro 1 euro eur €
pound 1 pound gbp £ quid
yen 1 yen ¥
money 0.01 cent penny pence p
"""
_UNITS = {
    name: (kind, float(factor))
    for kind, _, row in (line.partition(" ") for line in _UNIT_TABLE.strip().splitlines())
    for factor, *names in map(str.split, row.split(";"))
    for name in names
}
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w’'&.-]*\w|[^\W\d_a-zß-öø-ÿ]\b"
_NAME = re.compile(
    rf"(?:{_CAPITAL})(?:\s(?:(?:of|de|du|da|van|von|der|and the|of the)\s)?(?:{_CAPITAL}))*"
)
_FOLLOWING = re.compile(r"\W*([\w%]+)")


# After a list mark, colon or quotation mark, a word has a capital as at the start of a sentence.
_LIST_MARK = re.compile(r"\W*(?:\w{1,3}[.)]\W*)?")
_OPENING_MARKS = frozenset(':"“‘(•*|-')
_LOOK_BACK = 20


class FactKind(StrEnum):
    """The kinds of fact; an error in one has the same name."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number, a date or a name in a text, with its place.

    `form` is the notation, such as "money" or "year"; facts of one form are interchangeable.
    `following` is the next word in lower case.
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
        return str(VALUES.get(key, key))

    @property
    def unit(self) -> str:
        """The unit of a number; empty without one."""
        if self.kind is not FactKind.NUMBER or self.form == "ordinal":
            return ""
        long = len(self.following) > 1 and unit_of(self.following)  # not "1980s", "p = 0.05"
        return self.following if long or self.following in ("m", "l", "g", "degrees") else ""


def unit_of(name: str) -> tuple[str, float] | None:
    """Return the dimension of a unit and its value in base units; None for another word."""
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s") if len(name) > 3 else "")


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
    ends = [fact.end for fact in found]  # in order, since matches do not overlap
    names = []
    for name in _names(text, usage):
        after = bisect_right(ends, name.start)
        if after == len(ends) or found[after].start >= name.end:
            names.append(name)
    return sorted(found + names, key=lambda fact: fact.start)


def has_number(text: str) -> bool:
    """Return True if a text has a number or a date."""
    return _DATED.search(text) is not None


def _names(text: str, usage: WordUsage | None) -> Iterator[Fact]:
    for match in _NAME.finditer(text):
        start, shown = match.start(), re.sub(r"['’]s$", "", match[0])
        first, _, rest = shown.partition(" ")
        if _opens(text, start) and normalize(first) in FUNCTION_WORDS:
            start, shown = start + len(first) + 1, rest
        spoken = words(shown)
        if not spoken or all(word.norm in FUNCTION_WORDS for word in spoken):
            continue
        if " " not in shown and _opens(text, start) and not (usage and usage.is_name(shown)):
            continue
        yield _fact(text, FactKind.NAME, "name", start, shown)


def _fact(text: str, kind: FactKind, form: str, start: int, shown: str) -> Fact:
    end = start + len(shown)
    following = _FOLLOWING.match(text, end)
    after = "" if following is None else following[1].lower()
    return Fact(kind, form, start, end, shown, after)


class WordUsage:
    """Counts lower-case words, and capitalised words inside sentences, of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._small: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        for text in texts:
            for span in sentences(text):
                self._read(span.cut(text))

    def _read(self, sentence: str) -> None:
        found = [word for word in words(sentence) if word.norm not in FUNCTION_WORDS]
        if all(word.capital for word in found):  # a title
            return
        for word in found:
            if not word.capital:
                self._small[_stem(word.norm)] += 1
            elif not _opens(sentence, word.start):
                self._capital[_stem(word.norm)] += 1

    def is_name(self, word: str) -> bool:
        """Return True if a capitalised word that begins a sentence is a name."""
        norm = normalize(word)
        if norm in FUNCTION_WORDS:
            return False
        if any(char.isupper() or char.isdigit() for char in word[1:]):  # "NATO", "McDonald"
            return True
        return self._capital[_stem(norm)] > self._small[_stem(norm)]

    def are_name(self, text: str, run: Sequence[Word]) -> bool:
        """Return True if a run of words in a sentence is a name."""
        spoken = [word for word in run if word.norm not in FUNCTION_WORDS and word.norm != "'s"]
        if not spoken or not all(word.capital for word in spoken):
            return False
        first = spoken[0]
        alone = len(spoken) == 1 and _opens(text, first.start)
        return not alone or self.is_name(text[first.start : first.end])


def _opens(sentence: str, at: int) -> bool:
    """Return True if the word at an offset has a capital because of its position."""
    before = sentence[max(0, at - _LOOK_BACK) : at]
    if at <= _LOOK_BACK and _LIST_MARK.fullmatch(before):
        return True
    return before.rstrip()[-1:] in _OPENING_MARKS


def _stem(norm: str) -> str:
    """Return the common part of the forms of a word: "refunds", "refunded"."""
    for ending in ("ing", "ed", "es", "s"):
        if norm.endswith(ending) and len(norm) - len(ending) >= 3:
            return norm[: -len(ending)]
    return norm
