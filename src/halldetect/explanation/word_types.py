"""Words by type: dates, units, numbers, names, and those that change what the rest says.

`Side` is a text with its words, so that words of one type can be compared with words of that type
in another text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, Word, words

_MONTHS = frozenset(
    [*map(str.lower, MONTHS), *"jan feb mar apr jun jul aug sep sept oct nov dec".split()]
)
_DAYS = frozenset(map(str.lower, WEEKDAYS))
_SEASONS = frozenset("spring summer autumn fall winter".split())
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen half third quarter twice double first second "
    "fourth fifth".split()
)
# These are numbers in a measure, but seldom the number that a sentence is about.
_VAGUE_NUMBERS = frozenset("one first second third half quarter".split())
_UNITS = frozenset(
    "% percent cents cent euros euro dollars dollar pounds pound kg kilograms kilogram grams gram "
    "tonnes tons mg milligrams micrograms metres meters metre meter km kilometres kilometers "
    "centimetres millimetres miles mile feet inches litres liters litre ml seconds minutes hours "
    "days weeks months years second minute hour day week month year degrees celsius fahrenheit "
    "watts kilowatts megawatts gigawatts volts bytes kilobytes megabytes gigabytes mb gb kb tb ms "
    "hectares acres kelvin joules bar hertz mm cm m l g".split()
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
NEGATIVE = frozenset(
    "not no never none nobody nothing neither nor without nowhere failed fails fail refused "
    "refuses unable cannot hardly denied rejected".split()
)
QUANTIFIERS = frozenset(
    "all every each most many some several few none any both only half majority minority always "
    "sometimes often rarely usually everyone everybody nobody always never at least".split()
) - {"at"}
CERTAINTY = frozenset(
    "may might could can must should would will shall possibly probably perhaps likely unlikely "
    "plans plan planned expects expected hopes hoped wants intends intended considering considers "
    "proposed proposes allegedly reportedly suspected suggests suggested certainly definitely "
    "optional required mandatory allowed recommended seems appears potential possible aims "
    "believed thought estimated".split()
)
# Whether the word at a place of a text is of some type.
Fits = Callable[[Sequence[Word], int], bool]


def _is_year(found: Sequence[Word], at: int) -> bool:
    return _YEAR.fullmatch(found[at].norm) is not None


def is_date(found: Sequence[Word], at: int) -> bool:
    """Whether a word is a month, a weekday, a season, a year, or the day beside a month.

    found  the words of a text
    at     which of them
    """
    word = found[at]
    if word.norm in _MONTHS | _SEASONS:
        return word.capital or word.norm in _SEASONS
    if word.norm in _DAYS or _is_year(found, at):
        return True
    beside = [found[near].norm for near in (at - 1, at + 1) if 0 <= near < len(found)]
    return word.numeric and any(norm in _MONTHS and norm != "may" for norm in beside)


def is_number(found: Sequence[Word], at: int) -> bool:
    """Whether a word is a number, in digits or spelled out, and no date; as for `is_date`."""
    word = found[at]
    counts = word.numeric or word.norm in _NUMBER_WORDS - _VAGUE_NUMBERS
    return counts and not is_date(found, at)


def is_unit(found: Sequence[Word], at: int) -> bool:
    """Whether a word is a unit of measure behind a number; as for `is_date`."""
    if found[at].norm not in _UNITS or at == 0:
        return False
    return found[at - 1].numeric or found[at - 1].norm in _NUMBER_WORDS


def is_name(found: Sequence[Word], at: int) -> bool:
    """Whether a word is part of a name, as its capital shows; as for `is_date`."""
    word = found[at]
    if not word.capital or word.numeric or is_date(found, at) or word.norm in FUNCTION_WORDS:
        return False
    if word.norm in QUANTIFIERS | NEGATIVE | _NUMBER_WORDS | CERTAINTY:
        return False
    # The first word of a sentence may have its capital for that alone.
    return at > 0 or (len(found) > 1 and found[1].capital and not found[1].numeric)


@dataclass(frozen=True, slots=True)
class TypedWord:
    """A word of a text and where it stands among the others."""

    word: Word
    place: int


class Side:
    """The claim or the source sentence, with its words by type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)

    @cached_property
    def norms(self) -> frozenset[str]:
        """All its words."""
        return frozenset(word.norm for word in self.words)

    def of_type(self, fits: Fits) -> list[TypedWord]:
        """The words that fit, in order."""
        return [
            TypedWord(word, place)
            for place, word in enumerate(self.words)
            if fits(self.words, place)
        ]

    def run(self, place: int, fits: Fits) -> str:
        """The words around a place that fit as well, as they are written: "12 March 2021"."""
        first = last = place
        while first > 0 and fits(self.words, first - 1):
            first -= 1
        while last + 1 < len(self.words) and fits(self.words, last + 1):
            last += 1
        return self.text[self.words[first].start : self.words[last].end]

    def before(self, place: int, fits: Fits) -> str:
        """The word before the run of fitting words around a place."""
        while place > 0 and fits(self.words, place):
            place -= 1
        return self.words[place].norm

    def near(self, place: int, reach: int = 3) -> frozenset[str]:
        """The words around a place."""
        return frozenset(
            word.norm
            for word in self.words[max(place - reach, 0) : place + reach + 1]
            if word is not self.words[place]
        )
