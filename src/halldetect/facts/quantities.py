"""Numbers with units, shares, dates, times and bounds as values that can be compared.

A quantity has a kind: a dimension such as "length", in its base unit, a currency, "share" (30 %, a
third), "times" (twice), "year", "month", "day", "clock", or "count" for a bare number.

Numbers in digits are known in every language: "1.234,5", "1,234.5" and "1 234,5" are one number,
and "१९९८" is 1998. A notation with two meanings ("1.234") has both values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from halldetect.facts.recogniser import MONTH, ORDINALS, VALUES, unit_of
from halldetect.reading.words import FUNCTION_WORDS, MONTHS, remembered, remembered_words

_WORDS = VALUES | {"zero": 0, "both": 2}
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "dozen": 12.0, "k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9,
}  # fmt: skip
_PARTS = {word: value for value, word in enumerate(ORDINALS, 1) if value > 2}
_PARTS |= {"half": 2, "halve": 2, "quarter": 4}
# By the first two letters of "twice", "doubled", "thrice", "trebled", "quadruple".
_TIMES = {"tw": 2.0, "do": 2.0, "th": 3.0, "tr": 3.0, "qu": 4.0}
CURRENCIES = frozenset("money dollar euro pound yen".split())
_DIGITS = r"\d+(?:\.\d{3})*,\d{1,2}(?![\d,])|\d{1,3}(?:, ?\d{3}\b)+(?:\.\d+)?|\d+(?:\.\d+)?"
_WORD = rf"(?:{'|'.join([*_WORDS, 'hundred', 'thousand', 'million', 'billion', 'dozen'])})"
_PART = rf"(?:{'|'.join(_PARTS)})s?"
_DAY = r"(?:st|nd|rd|th)?"
_QUANTITY = re.compile(
    r"(?=[\d$€£¥−-]|\b[abdefhjmnoqstz])(?:"  # rules out most places at once
    rf"\b(?:(?P<d>\d{{1,2}}){_DAY}(?: of)? (?P<dm>{MONTH})(?:,? (?P<dy>\d{{4}}))?"
    # In small letters, "march" and "may" are mostly verbs: "march 10 miles".
    rf"|(?!(?-i:march|may)\b)(?P<mm>{MONTH}) (?P<md>\d{{1,2}}){_DAY}\b(?!:)(?:,? (?P<my>\d{{4}}))?"
    rf"|(?P<m>{MONTH}) (?P<y>\d{{4}})|(?P<iso>\d{{4}}-(?:0\d|1[0-2])(?:-\d\d)?))(?:\b|(?=T\d))(?!-)"
    r"|(?:(?<![\w.])|(?<=\dT))(?P<clock>\d{1,2}[:.]\d\d(?=\s?[ap]\.?m)|\d{1,2}:\d\d|\d{1,2}(?=\s?[ap]\.?m\b))"
    r"(?P<half>\s?[ap]\.?m\b)?"
    r"|(?P<times>\b(?:twice|thrice|(?:doubl|trebl|tripl|quadrupl)(?:e[ds]?|ing))\b)"
    rf"|(?P<part>(?<!first )(?<!last )(?<!the )\b(?:(?P<n>an?|{_WORD}|\d+)[ -]{_PART}"
    rf"|(?P<n1>{_WORD}|\d+) and (?:a|one) {_PART}"
    rf"|half)\b(?! (?:one|time|place|century))|\b\d/\d\b)"
    rf"|(?:(?P<currency>[$€£¥])\s?)?(?<![\w.,])(?P<number>[-−]?(?:{_DIGITS})|"
    rf"\b{_WORD}(?:(?:-|\s|\sand\s){_WORD})*\b)(?P<scale>(?:\s(?:thousand|million|billion|trillion"
    rf"|dozen)\b)*(?(currency)(?:\s?(?:m|mn|bn|k)\b)?|))(?![.,]?\d|[a-z]+\d))",
    re.IGNORECASE,
)
# Every quantity has one of these.
_NUMBER_WORD = re.compile(
    rf"\d|\b(?:{_WORD}|{_PART}|twice|doubl|thrice|tr[ie]|quadrupl)", re.IGNORECASE
)
_AFTER = re.compile(
    r"(?P<article>\s(?:of )?an?)?[\s-]?(?P<square>square[\s-]|sq\.? )?(?P<unit>[%‰¢$€£¥]"
    r"|per\s?cent\b|°\s?[cf]\b|[^\W\d_]+²?)", re.IGNORECASE,
)  # fmt: skip
_NEXT = re.compile(r"[\s-]+(?:more |fewer |less |new |other |of (?:the |its )?)*([^\W\d_]{3,})")
_BOUND = re.compile(
    r"(?:(?P<about>\b(?:about|around|roughly|approximately|nearly|almost|some|circa|close to|an? "
    r"estimated|just (?:over|under))|~)|(?P<over>\b(?:(?:more|greater|longer|higher|older|larger|no"
    r" fewer|no less) than|over|at least|above|exceed\w*|minimum of|upwards? of)|>)"
    r"|(?P<under>\b(?:(?:less|fewer|shorter|lower|younger|smaller|no more|not \w+ more) than|under"
    r"|below|at most|up to|within|maximum of)|<))\s*$", re.IGNORECASE,
)  # fmt: skip
_RANGE = re.compile(r"\s?(?:to|and|or|-|–|—)\s?(?:[$€£¥])?", re.IGNORECASE)
_ORDINAL = re.compile(r"^an? \w*(?:th|ird)$", re.IGNORECASE)
_SHARE_OF = re.compile(
    r"\W*$|[^\w\s]|\s(?:off?|more|less|fewer|larger|smaller|cheaper|dearer|in|since|from|over|by"
    r"|during|between|within|and)\b"
)
_TOKEN = re.compile(r"\d+(?:\.\d{3})*,\d{1,2}(?![\d,])|\d+(?:\.\d+|, ?\d{3}\b)*|[^\W\d_]+")
_CELL = re.compile(r"\d+(?:\.\d+)?")
_SPLIT = re.compile(r"(?<=\d)([.,]) (?=\d)")
_TENS = re.compile(
    r"\b((?:twen|thir|for|fif|six|seven|eigh|nine)ty)-"
    r"(one|two|three|four|five|six|seven|eight|nine)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}$")
_STOP = re.compile(r"[.!?\n]")
# Greater numbers are identifiers.
_MOST = 1e18
_LOOK_BACK = 24
_ABOUT = 0.06
_SPOKEN = {word: str(value) for word, value in _WORDS.items()}
_SPOKEN |= {form: name[:3].lower() for name in MONTHS for form in (name.lower(), name[:3].lower())}

_NUMERAL = re.compile(
    r"(?<![A-Za-z_\d.,])\d+(?:(?:[.,٫٬'’]\d+)|[ \u00a0\u202f]\d{3}(?!\d))*(?![.,]?\d)"
)
_DIGITS_DATE = re.compile(r"(?<!\d)\d{1,2}[./]\d{1,2}[./](?=\d{2,4}(?!\d))")
# "3万", "2 млн", "5 लाख": a number may be written as digits and a word.
_SCALE_WORDS = (1.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e12)
# 3 pm is 15:00; a year of the Buddhist and of the Persian calendar is that of the common one.
_HALF_DAY, _CALENDARS = (12.0,), (543.0, 621.0, 622.0)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity in a text.

    `kind` is the dimension, `value` is in its base unit, and `factor` is the value of the unit.
    `step` is the value of the last digit if the number may be rounded: 0.1 for "4.5"; else 0.
    `bound` is "about", "over", "under", "range" or empty. `noun` is the counted thing, without a
    plural "s". `claimed` is True if it was read in the claim, not in the source.
    """

    kind: str
    value: float
    step: float
    bound: str
    noun: str
    start: int
    end: int
    text: str
    factor: float = 1.0
    claimed: bool = False

    def shown(self) -> str:
        """Return the words on one line, without an article."""
        return re.sub(r"^(?:an?) ", "", " ".join(self.text.split()))


@remembered(4096, longest=1_000)
def read_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, in order; a date also gives its month and its year."""
    if _NUMBER_WORD.search(text) is None:
        return ()
    every = (quantity for match in _QUANTITY.finditer(text) for quantity in _read(text, match))
    found = [item for item in every if (item.kind, item.text.lower()) != ("count", "one")]
    more: list[Quantity] = []
    for at, (first, second) in enumerate(pairwise(found)):
        between = text[first.end : second.start]
        paired = "and" not in between or text[: first.start].lower().endswith("between ")
        if first.kind == "count" and second.kind != "year" and paired and _RANGE.fullmatch(between):
            # "5 to 10 mg": the first number has the unit of the second one.
            alike = _in_unit(first, second.kind, second.factor)
            found[at : at + 2] = (
                replace(item, noun=second.noun, bound="range") for item in (alike, second)
            )
        elif second.kind == "count" != first.kind and not (
            second.noun or _STOP.search(between) or _YEAR.fullmatch(second.text)
        ):
            # "15 litres a minute, the new one 45": perhaps the same unit.
            more.append(_in_unit(second, first.kind, first.factor))
    return (*found, *more)


def _in_unit(bare: Quantity, kind: str, factor: float) -> Quantity:
    value, step = bare.value * factor, bare.step * factor
    return replace(bare, kind=kind, value=value, step=step, factor=factor)


def _read(text: str, match: re.Match[str]) -> Iterator[Quantity]:
    start, end = match.span()
    bound = _BOUND.search(text[max(0, start - _LOOK_BACK) : start])
    name = "" if bound is None else str(bound.lastgroup)
    for kind, value, step in _values(text, match):
        found = Quantity(kind, value, step, name, "", start, end, text[start:end])
        yield _unit(text, found, match) if match["part"] or match["number"] else found


def _values(text: str, found: re.Match[str]) -> Iterator[tuple[str, float, float]]:
    """Yield kinds, values and steps; several for a date."""
    if found["clock"]:
        hour, _, minute = found["clock"].replace(".", ":").partition(":")
        hours, minutes = int(hour), int(minute or 0)
        if half := (found["half"] or "").strip().lower()[:1]:
            hours = hours % 12 + (12 if half == "p" else 0)
        if hours <= 24 and minutes <= 59:
            yield "clock", hours * 60.0 + minutes, 1.0
    elif found["times"]:
        yield "times", _TIMES[found["times"].lower()[:2]], 1.0
    elif found["part"]:
        if not _ORDINAL.search(found["part"]) or _SHARE_OF.match(text, found.end()):
            yield "share", _part(found), 0.0  # not "a third zone"
    elif found["number"]:
        value, step = _number(found["number"], found["scale"])
        before = text[: found.start()].lower()
        # Not "millions", "multi-billion".
        if abs(value) < _MOST and (found["number"].lower() not in _SCALES or before.endswith("a ")):
            yield "count", value, step
    else:
        yield from _dates(found)


def _unit(text: str, bare: Quantity, found: re.Match[str]) -> Quantity:
    """Return the quantity with the unit, the currency or the noun that follows it."""
    if found["currency"]:
        return replace(bare, kind=(unit_of(found["currency"]) or ("money",))[0])
    after = _AFTER.match(text, bare.end)
    if after is not None and after["article"] and not found["part"]:  # "3,100 a day"
        after = None
    name = "" if after is None else re.sub(r"(?<=°|r)\s(?=[cf])", "", after["unit"].lower())
    known = ("times", 1.0) if name in ("times", "fold") else unit_of(name)
    if after is None or known is None:
        noun = _NEXT.match(text, bare.end)
        word = "" if noun is None else noun[1].lower()
        year = _YEAR.fullmatch(bare.text) and not word.endswith("s")
        counted = "" if word in FUNCTION_WORDS else word.removesuffix("s")
        return replace(bare, kind="year" if year else bare.kind, noun=counted)
    kind, factor = known
    if after["square"]:
        kind, factor = "area", factor**2
    whole = replace(bare, end=after.end(), text=text[bare.start : after.end()])
    return _in_unit(whole, kind, factor)


def _number(text: str, scales: str | None = None) -> tuple[float, float]:
    """Return the value of digits or number words, and that of its last digit."""
    factor = 1.0
    for scale in (scales or "").lower().split():
        factor *= _SCALES[scale]
    plain = _plain_digits(text)
    if plain.lstrip("-")[:1].isdigit():
        decimals = len(plain.partition(".")[2])
        zeros = 0 if decimals else len(plain) - len(plain.rstrip("0"))
        # "2.4 million" and "4.8" may be rounded; "2020" and "1,200" are exact.
        step = 10.0 ** (zeros - decimals) * factor if decimals or factor > 1 else 0.0
        return float(plain) * factor, step
    total = part = 0.0
    for word in re.split(r"[\s-]+", text.lower()):
        if word == "hundred":
            part = (part or 1.0) * 100
        elif word in _SCALES:
            total, part = total + (part or 1.0) * _SCALES[word], 0.0
        else:
            part += _WORDS.get(word, 0)
    return (total + part) * factor, 0.0


def _plain_digits(text: str) -> str:
    """Return digits with a decimal point and without separators: "1.200,5" is "1200.5"."""
    text = text.replace(" ", "").replace("−", "-")
    if _DECIMAL_COMMA.search(text):
        text = text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


def _part(found: re.Match[str]) -> float:
    """Return the value of a fraction: "a third", "two thirds", "one and a half", "3/4"."""
    word = re.split(r"[\s-]", found["part"].lower())[-1]
    if "/" in word:
        over, under = word.split("/")
        return int(over) / (int(under) or 1)
    part = 1.0 / _PARTS[word.removesuffix("s")]
    if found["n1"]:
        return _number(found["n1"])[0] + part
    count = (found["n"] or "a").lower()
    return part if count in ("a", "an") else _number(count)[0] * part


def _dates(found: re.Match[str]) -> Iterator[tuple[str, float, float]]:
    """Yield the day, the month and the year of a date."""
    if found["iso"]:
        year, month, day = map(int, f"{found['iso']}-0".split("-")[:3])
    else:
        name = (found["dm"] or found["mm"] or found["m"]).lower()[:3]
        month = next(at for at, full in enumerate(MONTHS, 1) if full.lower().startswith(name))
        day = int(found["d"] or found["md"] or 0)
        year = int(found["dy"] or found["my"] or found["y"] or 0)
    try:
        ordinal = date(year or 4, month, day or 1).toordinal()
    except ValueError:
        return
    if day:
        yield ("day" if year else "day of year"), float(ordinal), 1.0
    if day and year:
        yield "day of year", float(date(4, month, day).toordinal()), 1.0
    if year:
        yield "month", year * 12.0 + month, 1.0
        yield "year", float(year), 1.0


def same_kind(said: Quantity, known: Quantity) -> bool:
    """Return True if two quantities can be equal: a bare number may have any unit."""
    kinds = {said.kind, known.kind}
    return len(kinds) == 1 or "count" in kinds or ("money" in kinds and kinds <= CURRENCIES)


def equal(said: Quantity, known: Quantity) -> bool:
    """Return True if a quantity of a claim agrees with one of the source."""
    if not same_kind(said, known):
        return False
    value = known.value
    if said.kind != known.kind:  # a bare number has the unit of the other one
        said = said if said.factor == 1.0 else _in_unit(said, said.kind, 1 / said.factor)
        value *= 1 / known.factor
    return fits(said, value, exact=bool(known.bound))


def occurs(said: Quantity, tokens: frozenset[str]) -> bool:
    """Return True if all numbers and months of a quantity are among the words of a source."""
    forms = _forms(_TOKEN.findall(_in_digits(said.text)))
    wanted = [token for token in forms if token[0].isdigit() or token in _SPOKEN]
    return bool(wanted) and all(token in tokens for token in wanted)


@remembered(1024)
def words_of(text: str) -> frozenset[str]:
    """Return the words and numbers of a text, months and numbers in one form."""
    text = _in_digits(text)
    if _SPLIT.search(text):  # "1. 1 million" in a text that was split into words
        text += " " + _SPLIT.sub(r"\1", text)
    # "1,950" can be one number, or two cells of a row.
    return _forms([*_TOKEN.findall(text), *_CELL.findall(text)])


def _in_digits(text: str) -> str:
    """Return a text with "twenty-five" as 25: it does not say "five"."""
    if "ty-" not in text.lower():
        return text
    return _TENS.sub(lambda found: str(_WORDS[found[1].lower()] + _WORDS[found[2].lower()]), text)


def _forms(found: Iterable[str]) -> frozenset[str]:
    """Return words and numbers in the form in which they are compared."""
    return frozenset(_SPOKEN.get(token, token) for token in map(_same_form, set(found)))


@remembered_words
def _same_form(token: str) -> str:
    """Return a token in lower case, a number without separators and needless zeros."""
    plain = _plain_digits(token.lower())
    if not plain[0].isdigit():
        return plain
    return re.sub(r"\A0+(?=\d)", "", plain.rstrip("0").rstrip(".") if "." in plain else plain)


def fits(said: Quantity, value: float, *, exact: bool = False) -> bool:
    """Return True if a value agrees with a quantity as it is rounded and bounded."""
    apart = abs(said.value - value)
    same = apart <= max(1e-9, 1e-6 * abs(value))
    if same or exact:
        return same
    if said.bound == "about":
        return apart <= _ABOUT * abs(value)
    if said.bound == "over":
        return said.value < value <= 1.5 * said.value
    if said.bound == "under":
        return 0.6 * said.value <= value < said.value
    return apart <= said.step / 2 <= 0.03 * abs(said.value)


def numeral_values(number: str) -> set[float]:
    """Return the values that a number in digits may have."""
    plain = "".join(str(unicodedata.digit(char, char)) for char in number)
    *first, last = re.split(r"\D", plain)
    whole, sign = float("".join([*first, last])), plain[-1 - len(last) : -len(last)]
    if not first or sign.isspace() or plain.count(sign) > 1:  # a decimal sign occurs once
        return {whole}
    decimal = float(f"{''.join(first)}.{last}")
    return {whole, decimal} if len(first) == 1 and len(last) == 3 else {decimal}


def _numerals(text: str) -> dict[str, set[float]]:
    """Return the numbers of a text with their values, and of "12.5.1998" the year."""
    found = _NUMERAL.findall(_DIGITS_DATE.sub(" ", text))
    return {number: numeral_values(number) for number in found}


def unknown_numerals(claim: str, texts: Iterable[str], least: float = 0.0) -> list[str]:
    """Return the numbers of a claim that no text has, in any notation, from `least` on."""
    wanted = {number: values for number, values in _numerals(claim).items() if min(values) >= least}
    known = {one for text in texts if wanted for many in _numerals(text).values() for one in many}
    return [number for number, values in wanted.items() if not _is_known(values, known)]


def _is_known(values: set[float], known: set[float]) -> bool:
    found = {round(value * scale, 4) for value in values for scale in _SCALE_WORDS}
    found |= {round(value / scale, 4) for value in values for scale in _SCALE_WORDS}
    for value in values:
        moved = _CALENDARS if value > 1000 else _HALF_DAY if value <= 24 else ()
        found |= {value + sign * other for other in moved for sign in (1, -1)}
    return not known.isdisjoint(found)
