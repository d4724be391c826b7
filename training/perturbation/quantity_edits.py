"""Candidate edits of quantities: numbers, dates, units.

Each function returns every edit it can make, and `perturb` chooses one. Words with another
meaning (the month, may) and edits that could leave the sentence true are avoided.
"""

from __future__ import annotations

import random
import re

from training.perturbation import lexicon
from training.perturbation.edit import Edit, any_of, match_case

_NUMBER = re.compile(r"(?<![\w.,/:#-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/:-]|[.,]\d)")
_YEAR = re.compile(r"(?<![\w.,/$£€-])(?:1[5-9]\d\d|20\d\d)(?![\w/-]|[.,]\d| (?:people|men|women))")
_NUMBER_WORD = re.compile(rf"\b(?:{any_of(lexicon.NUMBER_WORDS)})\b(?!-)", re.I)
_ORDINAL = re.compile(rf"\b(?:the|his|her|its|their) (?P<word>{any_of(lexicon.ORDINALS[1:])})\b")
_MONTH = re.compile(rf"\b(?:{any_of(lexicon.MONTHS)})\b")
# "May" and "March" are months only beside a number or after a word that dates take.
_DATE_BEFORE = re.compile(r"(?:\d|\b(?:in|since|until|by|last|next|of|early|late|from|mid))[ -]$")
_WEEKDAY = re.compile(rf"\b(?:{any_of(lexicon.WEEKDAYS)})\b")
_SEASON = re.compile(rf"\b(?:{any_of(lexicon.SEASONS)})\b")


def number(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another number of the source, or to a changed one; see `date` for dates."""
    others = {m.group(): _percent(source, m) for m in _NUMBER.finditer(source)}
    edits = []
    for match in _NUMBER.finditer(text):
        old = match.group()
        if _dates(text, match) or old in {"0", "1"}:
            continue
        percent = _percent(text, match)
        near = sorted(
            other
            for other, its_percent in others.items()
            if its_percent == percent and not _YEAR.fullmatch(other) and _comparable(old, other)
        )
        new = rng.choice(near) if near and rng.random() < 0.5 else _altered(old, rng)
        edits.append(Edit(*match.span(), new))
    for match in _NUMBER_WORD.finditer(text):
        place = lexicon.NUMBER_WORDS.index(match.group().lower())
        near = lexicon.NUMBER_WORDS[max(0, place - 4) : place + 5]
        word = rng.choice([word for word in near if word != match.group().lower()])
        edits.append(Edit(*match.span(), match_case(match.group(), word)))
    for match in _ORDINAL.finditer(text):
        word = rng.choice([word for word in lexicon.ORDINALS[:6] if word != match["word"]])
        edits.append(Edit(*match.span("word"), word))
    return edits


def _percent(text: str, match: re.Match[str]) -> bool:
    return re.match(r"\s?(?:%|per ?cent)", text[match.end() :]) is not None


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _comparable(old: str, other: str) -> bool:
    """Return True if two numbers have the same form and magnitude but not the same value."""
    here, there = _value(old), _value(other)
    if here == there or there in (0, 1) or ("." in old) != ("." in other):
        return False
    return 0.2 <= here / there <= 5 and (here >= 32) == (there >= 32)


def _altered(old: str, rng: random.Random) -> str:
    whole, _, decimals = old.replace(",", "").partition(".")
    value = int(whole)
    if value < 10:
        new = rng.choice([n for n in range(2, 13) if n != value])
    elif value <= 100:
        # Stay at or below 100: it may be a percentage.
        near = range(max(2, value // 2), min(100, value + value // 2) + 1)
        new = rng.choice([n for n in near if abs(n - value) >= max(2, value // 10)])
    else:
        zeros = len(whole) - len(whole.rstrip("0"))
        step = 10**zeros
        # Not `choice`: it cannot draw from a range longer than the platform's largest index.
        multiple = rng.randrange(max(1, value // 2 // step), value * 2 // step + 1)
        new = step * (multiple or 1)
        new = new if new != value else value + step
    grouped = f"{new:,}" if "," in old or (new >= 10_000 and value < 10_000) else str(new)
    return f"{grouped}.{decimals}" if decimals else grouped


def _dates(text: str, match: re.Match[str]) -> bool:
    """Return True if a number is a year or the day of a month."""
    if _YEAR.match(text, match.start()):
        return True
    before, after = text[: match.start()], text[match.end() :]
    months = any_of(lexicon.MONTHS)
    return bool(
        re.search(rf"\b(?:{months}) $", before) or re.match(rf" (?:of )?(?:{months})", after)
    )


def date(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another year, month, day, weekday or season."""
    edits = []
    years = sorted({match.group() for match in _YEAR.finditer(source)})
    for match in _YEAR.finditer(text):
        others = [year for year in years if year not in text]
        shifted = int(match.group()) + rng.choice([-9, -6, -4, -3, -2, -1, 1, 2, 3, 4])
        new = rng.choice(others) if others and rng.random() < 0.5 else str(shifted)
        edits.append(Edit(*match.span(), new))
    for match in _MONTH.finditer(text):
        day = re.match(r" (\d{1,2})\b(?![:,.]\d)", text[match.end() :])
        before = text[: match.start()]
        if match.group() in {"May", "March"} and not day and not _DATE_BEFORE.search(before):
            continue
        leading = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)? (?:of )?$", before)
        beside = day or leading
        date_day = int(beside.group(1)) if beside else 1
        edits.append(Edit(*match.span(), rng.choice(_months(match.group(), date_day))))
        if day and 1 <= date_day <= 31:
            start = match.end() + 1
            edits.append(Edit(start, start + len(day.group(1)), _other_day(date_day, rng)))
    for pattern, words in ((_WEEKDAY, lexicon.WEEKDAYS), (_SEASON, lexicon.SEASONS)):
        for match in pattern.finditer(text):
            edits.append(
                Edit(*match.span(), rng.choice([word for word in words if word != match.group()]))
            )
    return edits


def _months(old: str, day: int) -> list[str]:
    return [m for m in lexicon.MONTHS if m != old and lexicon.MONTH_DAYS[m] >= min(day, 31)]


def _other_day(day: int, rng: random.Random) -> str:
    return str(rng.choice([n for n in range(1, 29) if abs(n - day) >= 2]))


_COUNTED = rf"(?:\d[\d,.]*|\b(?:{any_of(lexicon.NUMBER_WORDS)})|\bseveral|\bfew)"
_UNITS = [
    (group.split(), re.compile(rf"{_COUNTED} (?P<unit>{any_of(group.split())})(?![\w-])"))
    for group in lexicon.UNITS
]


def unit(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another unit or currency after or before a number."""
    edits = []
    for words, pattern in _UNITS:
        for match in pattern.finditer(text):
            new = rng.choice([word for word in words if word != match["unit"]])
            edits.append(Edit(*match.span("unit"), new))
    for match in re.finditer(rf"[{lexicon.CURRENCIES}](?=\d)", text):
        others = lexicon.CURRENCIES.replace(match.group(), "")
        edits.append(Edit(*match.span(), rng.choice(others)))
    return edits
