"""Find the one step by which a number follows from the numbers of a source.

The steps are a conversion of degrees, a sum, a difference, a share, a ratio, a product, a quotient,
the length of a list, and a date plus or minus a duration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from halldetect.facts.quantities import CURRENCIES, Quantity, fits, same_kind

# More quantities are not combined: chance would find a step for any number.
_MOST = 14
_YEAR, _DAY = 31557600.0, 86400.0
_EACH = re.compile(r"\s*(?:an?|per|each|every|/)\s*(hour|day|week|month|year)", re.IGNORECASE)
_SECONDS = {"hour": 3600.0, "day": _DAY, "week": 7 * _DAY, "month": _YEAR / 12, "year": _YEAR}
# Seconds between two consecutive values of a kind. A count may be a year.
_DATE_UNITS = {"year": _YEAR, "count": _YEAR, "month": _YEAR / 12, "day": _DAY, "clock": 60.0}
_DEGREES = {("temperature", "fahrenheit"): (5 / 9, -160 / 9),
            ("fahrenheit", "temperature"): (1.8, 32.0)}  # fmt: skip
_ITEM = re.compile(r"^[^\S\n]*(?:[-*•]|\d+[.)])\s", re.MULTILINE)
_LIST = re.compile(r"(?:[^,;:.\n]{1,60},\s(?!and |or )){1,12}[^,;:.\n]{1,60},?\s(?:and|or)\s\w")
_COMMA = re.compile(r",\s(?:and|or)\s|,\s|\s(?:and|or)\s(?=\w$)")
_RISE = re.compile(
    r"\b(?:r[oi]se|gr[eo]w|increas|gain|more|dearer|higher|up|jump|climb|above)", re.IGNORECASE
)
_FALL = re.compile(
    r"\b(?:f[ae]ll|shr[aiu]nk|decreas|reduc|drop|declin|los[et]|less|fewer|cheaper|lower|down|cut"
    r"|off|below)", re.IGNORECASE,
)  # fmt: skip
_ADDABLE = frozenset("time length area mass volume data power energy count".split()) | CURRENCIES

Step = tuple[str, float, str]


def derived(said: Quantity, claim: str, known: Sequence[Quantity], text: str) -> str | None:
    """Return the step that gives a quantity; None if no single step does.

    Args:
        said: The quantity of the claim.
        claim: The claim; "rose by 25 %" can be a change, "25 % of" cannot.
        known: Quantities of the source, the closest to the claim first.
        text: The part of the source that they are in; it may have lists.
    """
    changes = bool(_RISE.search(claim)), bool(_FALL.search(claim))
    for kind, value, step in _steps(said, known[:_MOST], text, changes):
        found = Quantity(kind, value, 0.0, "", "", 0, 0, "")
        if same_kind(said, found) and fits(said, value, exact=said.bound in ("over", "under")):
            return f"{said.shown()} = {step}"
    return None


def _steps(
    said: Quantity, known: Sequence[Quantity], text: str, changes: tuple[bool, bool]
) -> Iterator[Step]:
    """Yield the kind and value of each result, and the step in words."""
    for item in known:
        if (said.kind, item.kind) in _DEGREES:
            slope, zero = _DEGREES[said.kind, item.kind]
            degrees = item.value * slope + zero
            yield said.kind, round(degrees), item.shown()
            yield said.kind, 5 * round(degrees / 5), item.shown()  # an oven at 350 °F: 175 °C
    yield from _sums(known)
    for first, second in permutations(known, 2):
        yield from _pair(said, first, second, changes)
    yield from _lists(said, known, text)
    for item in (item for item in known if item.kind == "share"):
        yield "share", 1.0 - item.value, f"100 % - {item.shown()}"


def _pair(said: Quantity, one: Quantity, two: Quantity, changes: Sequence[bool]) -> Iterator[Step]:
    """Yield differences, shares, ratios, products, quotients and dates."""
    a, b, kinds = one.shown(), two.shown(), {one.kind, two.kind}
    alike, dated = len(kinds) == 1, _DATE_UNITS.get(two.kind)
    added = alike and (one.kind in _ADDABLE or said.text.endswith("percentage"))
    if one.value >= two.value and (added or kinds <= {"year", "count"}):
        yield ("count" if dated else one.kind), one.value - two.value, f"{a} - {b}"
    if one.value >= two.value and dated and (alike or kinds == {"year", "count"}):
        yield "time", (one.value - two.value) * dated, f"{a} - {b}"
    if one.kind == "time" and dated and two.kind != "clock":
        kind = "year" if two.kind == "count" else two.kind
        for value, word in ((one.value, "after"), (-one.value, "before")):
            moved = two.value + value / dated
            yield kind, moved, f"{a} {word} {b}"
            if kind == "month":
                yield "year", (round(moved) - 1) // 12, f"{a} {word} {b}"
    if one.kind == "share" and two.kind in _ADDABLE:
        yield two.kind, one.value * two.value, f"{a} of {b}"
        yield two.kind, two.value * (1 - one.value), f"{b} - {a}"
        yield two.kind, two.value * (1 + one.value), f"{b} + {a}"
        if one.value:
            yield two.kind, two.value / one.value, f"{b} / {a}"
    if alike and two.value and one.kind in _ADDABLE | {"share"}:
        if said.kind in ("share", "times") or (said.kind == "count" and one.kind != "count"):
            yield said.kind, one.value / two.value, f"{a} / {b}"
        # A rise is a share of the smaller value, a fall of the greater one.
        if said.kind == "share" and changes[two.value > one.value]:
            yield "share", abs(one.value - two.value) / abs(two.value), f"({a} - {b}) / {b}"
    like = two.kind != "count" or said.noun in ("", two.noun) or one.claimed
    if one.kind in ("count", "times") and two.kind in _ADDABLE and like and said.kind != "times":
        yield two.kind, one.value * two.value, f"{a} x {b}"
        if one.value:
            yield two.kind, two.value / one.value, f"{b} / {a}"
    if one.kind == "time" and two.kind in CURRENCIES:  # a price per month, and a number of months
        yield two.kind, one.value / one.factor * two.value, f"{a} x {b}"


def _sums(known: Sequence[Quantity]) -> Iterator[Step]:
    """Yield sums of two quantities of one kind, and of neighbours of one kind or one noun."""
    groups: dict[tuple[str, ...], list[Quantity]] = {}
    for item in sorted(known, key=lambda item: item.start):
        for key in ((item.kind,), (item.kind, item.noun)):
            groups.setdefault(key, []).append(item)
    for (kind, *_), some in groups.items():
        if kind not in _ADDABLE | {"share"}:
            continue
        parts = [some[at:end] for end in range(len(some) + 1) for at in range(end - 1)]
        parts += [[one, two] for at, one in enumerate(some) for two in some[at + 2 :]]
        for part in parts:
            shown = " + ".join(item.shown() for item in part)
            yield kind, sum(item.value for item in part), shown


def _lists(said: Quantity, known: Sequence[Quantity], text: str) -> Iterator[Step]:
    """Yield lengths of lists, an amount by item, and an amount per month as one per year."""
    lengths = [len(_ITEM.findall(text))]
    lengths += [len(_COMMA.split(found[0])) for found in _LIST.finditer(text)]
    for length in (length for length in lengths if length > 1):
        if said.kind == "count":
            yield "count", float(length), f"the {length} items of a list"
        for item in known:
            if item.kind in CURRENCIES:
                yield item.kind, item.value / length, f"{item.shown()} / {length}"
    for item in known:
        each = _EACH.match(text, item.end)
        if each and item.kind in _ADDABLE and text[item.start : item.end] == item.text:
            for seconds in _SECONDS.values():
                times = round(seconds / _SECONDS[each[1].lower()])
                if times > 1:
                    yield item.kind, item.value * times, f"{times} x {item.shown()}"
