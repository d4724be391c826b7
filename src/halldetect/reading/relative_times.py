"""Times that lean on the sentence before: "a year later", "the following day", "that year"."""

from __future__ import annotations

import re
from datetime import date, timedelta

from halldetect.reading.words import MONTHS

YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
DAY = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}}) )?(?P<month>{'|'.join(MONTHS)})\b(?: (?P<year>\d{{4}}))?",
    re.IGNORECASE,
)
_COUNTS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
} | {"a": 1, "an": 1}
_LATER = re.compile(
    r"\b(?:(?P<next>(?:in )?the (?:following|next))|(?P<last>(?:in )?the (?:previous|preceding))|"
    r"(?P<count>an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})) "
    r"(?P<unit>day|week|month|year)s?(?: (?P<way>later|earlier|before|afterwards|after))?\b",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"\b(?:in )?(?:that(?: same)?|the same) (?P<unit>day|month|year)\b", re.IGNORECASE
)


def relative_time(sentence: str) -> re.Match[str] | None:
    """The words of a sentence whose time is counted from, or is that of, an earlier sentence."""
    match = _LATER.search(sentence)
    return match if match is not None and _leans(match) else _SAME.search(sentence)


def named_time(match: re.Match[str], before: str) -> str | None:
    """The time that relative words stand for; None where the sentence before does not tell.

    match   what `relative_time` gives
    before  the sentence before
    """
    years, days = set(YEAR.findall(before)), list(DAY.finditer(before))
    unit = match["unit"].casefold()
    if match.re is _SAME:
        return f"in {years.pop()}" if unit == "year" and len(years) == 1 else None
    backwards = bool(match["last"]) or match["way"] in ("earlier", "before")
    count = 1 if match["count"] is None else _number(match["count"])
    return _moved(years, days, unit, -count if backwards else count)


def _leans(match: re.Match[str]) -> bool:
    """Whether the words lean on something: "a day before the match" does not."""
    if match["way"] in ("before", "after"):
        return re.match(r"[.,;!]|$", match.string[match.end() :]) is not None
    return bool(match["next"] or match["last"] or match["way"])


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _COUNTS[text.casefold()]


def _moved(years: set[str], days: list[re.Match[str]], unit: str, count: int) -> str | None:
    """The one time of the sentence before, moved; None where it has none or several."""
    if unit == "year":
        return f"in {int(years.pop()) + count}" if len(years) == 1 else None
    if len(days) != 1:
        return None
    found = days[0]
    month = MONTHS.index(found["month"].capitalize()) + 1
    year = int(found["year"]) if found["year"] else None
    if unit == "month":
        total = month - 1 + count
        named = MONTHS[total % 12]
        return f"in {named}" + ("" if year is None else f" {year + total // 12}")
    if not found["day"]:
        return None
    try:
        # 2001 is no leap year: without a year, 29 February is not counted over
        moved = date(year or 2001, month, int(found["day"])) + timedelta(
            days=count * (7 if unit == "week" else 1)
        )
    except (ValueError, OverflowError):
        return None
    named = MONTHS[moved.month - 1]
    return f"on {moved.day} {named}" + ("" if year is None else f" {moved.year}")
