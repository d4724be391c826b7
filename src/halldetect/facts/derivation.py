"""Find the one step by which a number follows from the numbers of a source.

The steps are a conversion, a sum, a difference, a share, a ratio, a product, a quotient, the length
of a list, and a date plus or minus a duration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations, permutations

from halldetect.facts.quantities import CURRENCIES, Quantity, fits, same_kind

# More quantities are not combined: chance would find a step for any number.
MOST = 14
_YEAR, _DAY = 31557600.0, 86400.0
_EACH = re.compile(r"\s*(?:a|an|per|each|every|/)\s*(hour|day|week|month|year)", re.IGNORECASE)
_SECONDS = {"hour": 3600.0, "day": _DAY, "week": 7 * _DAY, "month": _YEAR / 12, "year": _YEAR}
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s", re.MULTILINE)
_LIST = re.compile(r"(?:[^,;:.\n]{1,60},\s(?!and |or )){1,12}[^,;:.\n]{1,60},?\s(?:and|or)\s\w")
_RISE = re.compile(
    r"\b(?:r[oi]se|risen|gr[eo]w|grown|increas|gain|more|dearer|higher|up|jump|climb|above)",
    re.IGNORECASE,
)
_FALL = re.compile(
    r"\b(?:f[ae]ll|fallen|shr[aiu]nk|decreas|reduc|drop|declin|los[et]|less|fewer|cheaper|lower|down"
    r"|cut|off|below)",
    re.IGNORECASE,
)
_ADDABLE = frozenset("time length area mass volume data power energy share count".split())


def derived(
    said: Quantity, claim: str, known: Sequence[Quantity], texts: Sequence[str]
) -> str | None:
    """Return the step that gives a quantity; None if no single step does.

    Args:
        said: The quantity of the claim.
        claim: The claim; "rose by 25 %" can be a change, "25 % of" cannot.
        known: Quantities of the source, the closest to the claim first.
        texts: The sentences or lists of the source that they are in.
    """
    changes = bool(_RISE.search(claim)), bool(_FALL.search(claim))
    for kind, value, step in _steps(said, known[:MOST], texts, changes):
        found = Quantity(kind, value, 0.0, "", "", 0, 0, "")
        exact = said.bound in ("over", "under")
        if same_kind(said, found) and fits(said, value, exact=exact):
            return f"{said.shown()} = {step}"
    return None


def _steps(
    said: Quantity, known: Sequence[Quantity], texts: Sequence[str], changes: tuple[bool, bool]
) -> Iterator[tuple[str, float, str]]:
    """Yield the kind and value of each result, and the step in words."""
    for item in known:
        if item.kind == said.kind and item.factor != said.factor:
            yield item.kind, item.value, item.shown()
        if (said.kind, item.kind) == ("temperature", "fahrenheit"):
            yield said.kind, round((item.value - 32) / 1.8), item.shown()
        if (said.kind, item.kind) == ("fahrenheit", "temperature"):
            yield said.kind, round(item.value * 1.8 + 32), item.shown()
    for first, second in combinations(known, 2):
        yield from _pair(said, first, second)
    for first, second in permutations(known, 2):
        yield from _ordered(said, first, second, changes)
    for item in known:
        if item.kind == "share" and said.kind == "share":
            yield "share", 1.0 - item.value, f"100 % - {item.shown()}"
    yield from _sums(said, known)
    for text in texts:
        yield from _counts(said, known, text)
        yield from _rates(said, known, text)


def _pair(said: Quantity, one: Quantity, two: Quantity) -> Iterator[tuple[str, float, str]]:
    names = one.shown(), two.shown()
    high, low = names if one.value >= two.value else reversed(names)
    apart = abs(one.value - two.value)
    kinds = {one.kind, two.kind}
    if len(kinds) == 1 and one.kind in _ADDABLE | CURRENCIES:
        yield one.kind, one.value + two.value, f"{names[0]} + {names[1]}"
        yield one.kind, apart, f"{high} - {low}"
        if one.kind == "count" and said.kind == "time":  # bare years
            yield "time", apart * _YEAR, f"{high} - {low}"
    elif kinds <= {"year", "count"}:
        yield (
            ("time" if said.kind == "time" else "count"),
            apart * (_YEAR if said.kind == "time" else 1.0),
            f"{high} - {low}",
        )
    elif len(kinds) == 1 and one.kind in ("clock", "month", "day"):
        seconds = {"clock": 60.0, "month": _YEAR / 12, "day": _DAY}[one.kind]
        yield "time", apart * seconds, f"{high} - {low}"


def _ordered(
    said: Quantity, one: Quantity, two: Quantity, changes: tuple[bool, bool]
) -> Iterator[tuple[str, float, str]]:
    """Yield shares, ratios, products, quotients and dates."""
    a, b = one.shown(), two.shown()
    if one.kind == "share" and two.kind not in ("share", "clock", "day", "month", "year"):
        yield two.kind, one.value * two.value, f"{a} of {b}"
        yield two.kind, two.value * (1 - one.value), f"{b} - {a}"
        yield two.kind, two.value * (1 + one.value), f"{b} + {a}"
        if one.value:
            yield two.kind, two.value / one.value, f"{b} / {a}"
    if one.kind == two.kind and two.value and one.kind not in ("clock", "day", "month", "year"):
        if said.kind in ("share", "times") or (said.kind == "count" and one.kind != "count"):
            yield said.kind, one.value / two.value, f"{a} / {b}"
        # A rise is a share of the smaller value, a fall of the greater one.
        if said.kind == "share" and changes[two.value > one.value]:
            yield "share", abs(one.value - two.value) / abs(two.value), f"({a} - {b}) / {b}"
    if one.kind in ("count", "times") and two.kind in CURRENCIES | _ADDABLE - {"share"}:
        like = said.noun in ("", two.noun) or one.claimed
        if said.kind == "times" or (two.kind == "count" and not like):
            return
        yield two.kind, one.value * two.value, f"{a} x {b}"
        if one.value:
            yield two.kind, two.value / one.value, f"{b} / {a}"
    if one.kind == "time" and two.kind in ("year", "month", "day", "count"):
        yield from _dates(one, two)
    if one.kind == "time" and two.kind in CURRENCIES:  # so much per month, for so many months
        yield two.kind, one.value / one.factor * two.value, f"{a} x {b}"


def _dates(duration: Quantity, known: Quantity) -> Iterator[tuple[str, float, str]]:
    for sign, word in ((1, "after"), (-1, "before")):
        step = f"{duration.shown()} {word} {known.shown()}"
        if known.kind in ("year", "count"):
            yield "year", known.value + sign * round(duration.value / _YEAR, 2), step
        elif known.kind == "month":
            months = known.value + sign * round(duration.value / _YEAR * 12)
            yield "month", months, step
            yield "year", (months - 1) // 12, step
        else:
            days = _moved(int(known.value), sign * duration.value)
            yield "day", days, step


def _moved(ordinal: int, seconds: float) -> float:
    """Return a day moved by a duration; whole months and years keep the day of the month."""
    months = seconds / _YEAR * 12
    if abs(months - round(months)) > 1e-6 or not months:
        return ordinal + round(seconds / _DAY)
    start = date.fromordinal(ordinal)
    at = start.year * 12 + start.month - 1 + round(months)
    try:
        return start.replace(year=at // 12, month=at % 12 + 1).toordinal()
    except ValueError:  # no such day in that month, or no such year
        return ordinal + round(seconds / _DAY)


def _sums(said: Quantity, known: Sequence[Quantity]) -> Iterator[tuple[str, float, str]]:
    """Yield sums of all quantities of one kind, and of one noun."""
    like = [item for item in known if item.kind == said.kind and item.kind in _ADDABLE | CURRENCIES]
    for noun in {item.noun for item in like} | {None}:
        some = sorted(
            (item for item in like if noun is None or item.noun == noun), key=lambda i: i.start
        )
        for size in range(3, len(some) + 1):
            for at in range(len(some) - size + 1):
                part = some[at : at + size]
                step = " + ".join(item.shown() for item in part)
                yield said.kind, sum(item.value for item in part), step


def _counts(
    said: Quantity, known: Sequence[Quantity], text: str
) -> Iterator[tuple[str, float, str]]:
    """Yield the lengths of lists, and shares of a quantity among the items of a list."""
    lengths = [len(_ITEM.findall(text))]
    lengths += [
        len(re.split(r",\s(?:and|or)\s|,\s|\s(?:and|or)\s(?=\w$)", found[0]))
        for found in _LIST.finditer(text)
    ]
    for length in lengths:
        if length > 1 and said.kind == "count":
            yield "count", float(length), f"the {length} items of a list"
        if length > 1:
            for item in known:
                if item.kind in CURRENCIES:
                    yield item.kind, item.value / length, f"{item.shown()} / {length}"


def _rates(
    said: Quantity, known: Sequence[Quantity], text: str
) -> Iterator[tuple[str, float, str]]:
    """Yield an amount per month as an amount per year, and the like."""
    for item in known:
        if item.kind not in CURRENCIES | {"count"} or text[item.start : item.end] != item.text:
            continue
        each = _EACH.match(text, item.end)
        if each is None:
            continue
        for seconds in _SECONDS.values():
            times = seconds / _SECONDS[each[1].lower()]
            if times > 1.0:
                yield item.kind, item.value * round(times), f"{round(times)} x {item.shown()}"
