"""Right and wrong sentences about a world that differ in one fact, by the kind of the fact."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from training.plain.layouts import predicate
from training.plain.things import Attribute, World, drawn, name_of, sentence, subject
from training.plain.values import (
    AGAINST,
    BOUNDS,
    CURRENCIES,
    MOST_IN_WORDS,
    Amount,
    Clock,
    Day,
    Name,
    Style,
    Value,
    misscaled,
    nearby,
    other_clock,
    other_day,
    other_unit,
    rescaled,
    spoken,
)

KINDS = (
    "number", "unit", "scale", "comparison", "bound", "clock", "date", "sum", "actors", "amounts",
    "name", "row", "negation", "all", "cause", "too_strong", "invented",
)  # fmt: skip
_SEAMS = (" and ", ", and ", ", while ", "; ", ", whereas ")
_OPENERS = ("According to the list, ", "Note that ", "As the source says, ", "In short: ")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences about one source that differ in one fact; `certain` labels need no teacher."""

    kind: str
    right: str
    wrong: str
    certain: bool = True


class Teller:
    """Says things of a world in one form: the same wording for the right and the wrong value."""

    def __init__(self, world: World, rng: random.Random) -> None:
        """Draw the form."""
        self.world, self.rng = world, rng
        self.style = Style.drawn(rng)
        self._pattern, self._which = rng.randrange(12), rng.randrange(12)
        self._opener = rng.choice(_OPENERS) if rng.random() < 0.06 else ""

    def said(self, at: int, one: Attribute, value: Value) -> str:
        """Return what is said of a thing, without a full stop."""
        return f"{self.subject(at)} {predicate(one, value, self.style, self._which)}"

    def bounded(self, at: int, one: Attribute, value: Amount, words: str) -> str:
        """Return what is said of a thing, with the words of a bound."""
        text = one.said[self._which % len(one.said)]
        shown = spoken(value, self.style, bound=words)
        return f"{self.subject(at)} {text.replace('{v}', shown)}"

    def subject(self, at: int) -> str:
        """Return how the thing is named."""
        return subject(self.world, at, self._pattern)

    def end(self, text: str) -> str:
        """Return a sentence."""
        return sentence(self._opener + text)

    def pair(self, kind: str, right: str, wrong: str) -> Pair:
        """Return a pair of sentences."""
        return Pair(kind, self.end(right), self.end(wrong))


Maker = Callable[[Teller, int, Attribute, Value], Iterator[Pair]]


def _with(value: Amount, number: float) -> Amount:
    return replace(value, number=number)


def _number(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, Amount):
        others = {_size(values[one.key]) for values in told.world.values}
        wrong = nearby(value.number, told.rng)
        if value.unit == "year":
            wrong = value.number + told.rng.choice((-100, -10, -3, -1, 1, 2, 9, 10, 100))
        if wrong not in others:
            yield told.pair("number", told.said(at, one, value),
                            told.said(at, one, _with(value, wrong)))  # fmt: skip


def _unit(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    wrong = other_unit(value, told.rng) if isinstance(value, Amount) else None
    if wrong is not None:
        yield told.pair("unit", told.said(at, one, value), told.said(at, one, wrong))


def _scale(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if not isinstance(value, Amount) or value.unit == "year":
        return
    for other in rescaled(value, told.rng)[:2]:
        wrong = misscaled(other, told.rng)
        if wrong.number != other.number:
            yield told.pair("scale", told.said(at, one, other), told.said(at, one, wrong))
    whole = value.number == int(value.number)
    if whole and value.number <= MOST_IN_WORDS and value.unit not in CURRENCIES:  # in words
        told.style = replace(told.style, words=True)
        changed = _with(value, nearby(value.number, told.rng))
        yield told.pair("number", told.said(at, one, value), told.said(at, one, changed))


def _bound(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, Amount) and value.bound:
        for _ in range(2):
            right = told.rng.choice(BOUNDS[value.bound])
            wrong = told.rng.choice(AGAINST[value.bound])
            yield told.pair("bound", told.bounded(at, one, value, right),
                            told.bounded(at, one, value, wrong))  # fmt: skip
        changed = _with(value, nearby(value.number, told.rng))
        yield told.pair("bound", told.bounded(at, one, value, right),
                        told.bounded(at, one, changed, right))  # fmt: skip


def _clock(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, Clock):
        for form in told.rng.sample(range(5), 2):
            told.style = replace(told.style, clock=form)
            wrong = other_clock(value, told.rng)
            yield told.pair("clock", told.said(at, one, value), told.said(at, one, wrong))


def _date(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, Day):
        for form in told.rng.sample(range(5), 2):
            told.style = replace(told.style, day=form)
            wrong = other_day(value, told.rng)
            yield told.pair("date", told.said(at, one, value), told.said(at, one, wrong))


def _name(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, Name):
        if value.sort == "choice":
            wrong = told.rng.choice([text for text in one.options if text != value.text])
        elif value.sort == "person" and told.rng.random() < 0.4:  # another first or last name
            first, _, last = value.text.partition(" ")
            made = name_of("person", (), told.rng).split(" ")
            wrong = f"{made[0]} {last}" if told.rng.random() < 0.5 else f"{first} {made[1]}"
        else:
            wrong = name_of(value.sort, one.options, told.rng)
        if wrong != value.text:
            yield told.pair("name", told.said(at, one, value),
                            told.said(at, one, Name(wrong, value.sort)))  # fmt: skip


def _negation(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if isinstance(value, bool):
        yield told.pair("negation", told.said(at, one, value), told.said(at, one, not value))


def _row(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    world, rng = told.world, told.rng
    others = [values[one.key] for values in world.values if values[one.key] != value]
    if others and not isinstance(value, bool):
        wrong = rng.choice(others)
        yield told.pair("row", told.said(at, one, value), told.said(at, one, wrong))
        other = next(n for n in range(len(world.names)) if world.values[n][one.key] == wrong)
        if rng.random() < 0.4:  # the same value, said of another thing
            yield told.pair("row", told.said(at, one, value), told.said(other, one, value))
    for key, beside in world.values[at].items():
        if key == one.key or type(beside) is not type(value) or beside == value:
            continue
        if isinstance(value, Amount) and isinstance(beside, Amount) and "year" not in (
            value.unit, beside.unit) and beside.number != value.number:  # fmt: skip
            yield told.pair("row", told.said(at, one, value),
                            told.said(at, one, _with(value, beside.number)))  # fmt: skip
            return
        if isinstance(value, Clock) and value != beside:
            yield told.pair("row", told.said(at, one, value), told.said(at, one, beside))
            return


def _amounts(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    world, rng = told.world, told.rng
    others = [n for n in range(len(world.names)) if world.values[n][one.key] != value]
    if not others or isinstance(value, bool):
        return
    other = rng.choice(others)
    second = world.values[other][one.key]
    seam = rng.choice(_SEAMS)
    verbs = told.said(other, one, second).removeprefix(told.subject(other) + " ")
    right = told.said(at, one, value) + seam + f"{told.subject(other)} {verbs}"
    verbs = told.said(other, one, value).removeprefix(told.subject(other) + " ")
    wrong = told.said(at, one, second) + seam + f"{told.subject(other)} {verbs}"
    yield told.pair("amounts", right, wrong)


def _compared(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    world, rng = told.world, told.rng
    size = _size(value)
    others = [n for n in range(len(world.names)) if _size(world.values[n][one.key]) != size]
    if size is None or not one.more or not others:
        return
    other = rng.choice(others)
    more = size > (_size(world.values[other][one.key]) or 0)
    for words in rng.sample((one.more, one.less), 2) if one.less else (one.more,):
        way = rng.choice(words)
        first, last = told.subject(at), told.subject(other)
        if more != (words is one.more):
            first, last = last, first
        right = f"{first} {way} {last}"
        opposite = rng.choice(one.less if words is one.more else one.more) if one.less else ""
        wrong = f"{last} {way} {first}"
        if opposite and rng.random() < 0.5:
            wrong = f"{first} {opposite} {last}"
        yield told.pair("comparison", right, wrong)
    yield from _superlative(told, at, one, size)


def _superlative(told: Teller, at: int, one: Attribute, size: float) -> Iterator[Pair]:
    world, rng = told.world, told.rng
    sizes = [_size(values[one.key]) or 0.0 for values in world.values]
    if len(sizes) < 3 or not one.most or not one.least:
        return
    for words, best in ((one.most, max(sizes)), (one.least, min(sizes))):
        if sizes.count(best) == 1:
            top = sizes.index(best)
            tail = rng.choice((f" of the {world.kind.plural}", "", " of all"))
            word = rng.choice(words) + tail
            rest = rng.choice([n for n in range(len(sizes)) if n != top])
            verb = "was" if one.said[0].startswith(("had", "was", "scored", "made")) else "is"
            yield told.pair("comparison", f"{told.subject(top)} {verb} {word}",
                            f"{told.subject(rest)} {verb} {word}")  # fmt: skip


def _size(value: Value) -> float | None:
    """Return a value as a number that can be compared."""
    if isinstance(value, Amount):
        return value.number
    if isinstance(value, Clock):
        return float(value.minutes)
    if isinstance(value, Day):
        return value.year * 400.0 + value.month * 32 + value.day
    return None


def _sums(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    """Yield sums, differences, multiples, shares and counts of rows."""
    world, rng = told.world, told.rng
    if not isinstance(value, Amount) or value.unit in {"year", "°C", "dB"} or len(world.names) < 2:
        return
    amounts = [v for values in world.values if isinstance(v := values[one.key], Amount)]
    other = rng.choice([n for n in range(len(world.names)) if n != at])
    first, second = value.number, amounts[other].number
    label = rng.choice(one.headers).lower().split(",")[0]
    plain = replace(value, bound="", per="")
    both = f"{told.subject(at)} and {told.subject(other)}"

    def shown(number: float) -> str:
        return spoken(_with(plain, round(number, 3)), told.style)

    added = value.unit not in {"%", "mmHg"}
    if added:
        total = first + second
        text = rng.choice((f"the {label} figures of {both} add up to {{}}",
                           f"for {both} together, the {label} figures come to {{}}",
                           f"taken together, {both} come to {{}} ({label})"))  # fmt: skip
        yield told.pair("sum", text.format(shown(total)), text.format(shown(_off(total, rng))))
    gap = abs(first - second)
    if gap:
        big, small = (at, other) if first > second else (other, at)
        text = rng.choice((f"by {label}, {told.subject(big)} is {{}} above {told.subject(small)}",
                           f"between {both} there is a difference of {{}} ({label})",
                           f"by {label}, {told.subject(small)} is {{}} below "
                           f"{told.subject(big)}"))  # fmt: skip
        yield told.pair("sum", text.format(shown(gap)), text.format(shown(_off(gap, rng))))
    if first and second and first % second == 0 and 2 <= first / second <= 4:
        words = {2: "twice", 3: "three times", 4: "four times"}
        times = int(first / second)
        wrong = words[rng.choice([n for n in words if n != times])]
        text = f"the {label} figure of {told.subject(at)} is {{}} that of {told.subject(other)}"
        yield told.pair("sum", text.format(words[times]), text.format(wrong))
    yield from _over_all(told, one, amounts, label, shown, added)


def _over_all(
    told: Teller, one: Attribute, amounts: list[Amount], label: str,
    shown: Callable[[float], str], added: bool,
) -> Iterator[Pair]:  # fmt: skip
    """Yield the total, a share of it, and the number of things above a limit."""
    world, rng = told.world, told.rng
    numbers = [amount.number for amount in amounts]
    total = sum(numbers)
    if added and total and len(numbers) > 2:
        text = f"all {len(numbers)} {world.kind.plural} together come to {{}} ({label})"
        yield told.pair("sum", text.format(shown(total)), text.format(shown(_off(total, rng))))
        at = rng.randrange(len(numbers))
        share = round(100 * numbers[at] / total)
        wrong = rng.choice([n for n in (share + 8, share - 9, share * 2, share // 2, 100 - share)
                            if 0 < n < 100 and abs(n - share) > 4] or [share + 20])  # fmt: skip
        text = f"{told.subject(at)} makes up about {{}}% of the total {label}"
        yield told.pair("sum", text.format(share), text.format(wrong))
    limit = rng.choice(sorted(numbers))
    above = sum(number > limit for number in numbers)
    if above and len(numbers) > 2:
        words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")
        wrong_count = rng.choice([n for n in range(1, len(numbers) + 1) if n != above])
        text = f"{{}} of the {len(numbers)} {world.kind.plural} {{}} above {shown(limit)} ({label})"
        yield told.pair("sum", text.format(words[above], "is" if above == 1 else "are"),
                        text.format(words[wrong_count],
                                    "is" if wrong_count == 1 else "are"))  # fmt: skip


def _off(number: float, rng: random.Random) -> float:
    """Return a wrong result, mostly close to the right one."""
    return nearby(round(number, 3), rng)


def _all(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    if not isinstance(value, bool) or len(told.world.names) < 2:
        return
    kind, rng = told.world.kind, told.rng
    flags = [bool(values[one.key]) for values in told.world.values]
    yes, no = rng.choice(one.said), rng.choice(one.denied)
    every = rng.choice((f"every {kind.singular} {{}}", f"each of the {kind.plural} {{}}",
                        f"each {kind.singular} {{}}"))  # fmt: skip
    some = rng.choice((f"at least one {kind.singular} {{}}", f"not every {kind.singular} {{}}"))
    if all(flags) or not any(flags):
        right, wrong = (yes, no) if all(flags) else (no, yes)
        yield told.pair("all", every.format(right), f"at least one {kind.singular} {wrong}")
        yield told.pair("all", every.format(right), f"not every {kind.singular} {right}")
        return
    word = rng.choice((yes, no))
    yield told.pair("all", some.format(word), every.format(word))
    mine = [n for n, flag in enumerate(flags) if flag is (word == yes)]
    if len(mine) == 1:
        wrong_one = rng.choice([n for n in range(len(flags)) if n != mine[0]])
        text = f"only {{}} {word}"
        yield told.pair("all", text.format(told.subject(mine[0])),
                        text.format(told.subject(wrong_one)))  # fmt: skip
    else:
        yield told.pair("all", f"not only {told.subject(mine[0])} {word}",
                        f"only {told.subject(mine[0])} {word}")  # fmt: skip


def _invented(told: Teller, at: int, one: Attribute, value: Value) -> Iterator[Pair]:
    world, rng = told.world, told.rng
    if not world.hidden:
        return
    hidden = rng.choice(world.hidden)
    made = drawn(hidden, "EUR", rng)
    shown = [other for other in world.shown if other is not one]
    if not shown:
        return
    other = rng.choice(shown)
    first = told.said(at, one, value)
    seam = rng.choice((" and ", ", and it ", "; it "))
    which = rng.randrange(9)
    rest = [predicate(item, what, told.style, which)
            for item, what in ((other, world.values[at][other.key]), (hidden, made))]  # fmt: skip
    yield told.pair("invented", first + seam + rest[0], first + seam + rest[1])
    if rng.random() < 0.5:
        name = told.subject(at)
        yield told.pair("invented", f"{name} {rest[0]}", f"{name} {rest[1]}")


_MAKERS: dict[str, Maker] = {
    "number": _number, "unit": _unit, "scale": _scale, "bound": _bound, "clock": _clock,
    "date": _date, "name": _name, "negation": _negation, "row": _row, "amounts": _amounts,
    "comparison": _compared, "sum": _sums, "all": _all, "invented": _invented,
}  # fmt: skip
# Makers that nearly always apply are asked less often.
_SHARE = {"number": 0.3, "row": 0.35, "amounts": 0.45, "sum": 0.3, "comparison": 0.45,
          "invented": 0.3, "unit": 0.6, "name": 0.9}  # fmt: skip


def pairs_of(world: World, rng: random.Random, most: int = 24) -> list[Pair]:
    """Return pairs about a world, those of rare kinds first."""
    places = [(at, one) for at in range(len(world.names)) for one in world.shown]
    found: list[Pair] = []
    for at, one in rng.sample(places, len(places)):
        value = world.values[at][one.key]
        for name, maker in _MAKERS.items():
            if rng.random() < _SHARE.get(name, 1.0):
                found += maker(Teller(world, rng), at, one, value)
    found = [pair for pair in found if pair.right != pair.wrong]
    distinct = list({pair.right + pair.wrong: pair for pair in found}.values())
    return rng.sample(distinct, min(most, len(distinct)))
