"""Lists of things with their values, made by program from `things.txt`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from training.large.handmade import FIRST, LAST, place
from training.plain.values import Amount, Clock, Day, Name, Value

FILE = Path(__file__).with_name("things.txt")
CURRENCIES = ("EUR", "EUR", "USD", "USD", "GBP")


@dataclass(frozen=True)
class Attribute:
    """What is known of a thing: headers, type, and what is said of one or of two."""

    key: str
    headers: tuple[str, ...]
    type: str
    options: tuple[str, ...]
    said: tuple[str, ...]
    denied: tuple[str, ...] = ()  # of a flag
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    least: tuple[str, ...] = ()


@dataclass
class Kind:
    """A kind of things."""

    name: str
    singular: str
    plural: str
    subjects: tuple[str, ...]
    names: tuple[str, ...]
    titles: tuple[str, ...]
    attributes: list[Attribute] = field(default_factory=list)


@dataclass
class World:
    """Some things of a kind: their names, and their values by attribute."""

    kind: Kind
    title: str
    names: list[str]
    shown: list[Attribute]
    hidden: list[Attribute]
    values: list[dict[str, Value]]


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(" ; ") if part.strip())


@lru_cache(maxsize=1)
def kinds() -> dict[str, Kind]:
    """Return the kinds of things by their names."""
    found: dict[str, Kind] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("#"):
            continue
        if line.startswith("["):
            name, _, words = cells[0][1:].partition("]")
            singular, _, plural = words.strip().partition("/")
            subjects, names, titles = map(_items, cells[1:4])
            kind = Kind(name, singular, plural, subjects, names, titles)
            found[name] = kind
            continue
        type_, *options = cells[2].split()
        if type_ in {"count", "max", "min"} and len(options) > 4:  # a unit of two words
            options = [" ".join(options[:-3]), *options[-3:]]
        if type_ == "choice":
            options = " ".join(options).split("/")
        more = [_items(cell) for cell in cells[3:]]
        if type_ == "flag":
            more = more[:2]
        kind.attributes.append(
            Attribute(cells[0], _items(cells[1]), type_, tuple(options), *_placed(type_, more))
        )
    return found


def _placed(type_: str, more: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the wordings in the order of the fields; only a flag can be denied."""
    return more if type_ == "flag" else [more[0], (), *more[1:]]


def drawn(attribute: Attribute, currency: str, rng: random.Random) -> Value:
    """Return a random value of an attribute."""
    options = attribute.options
    if attribute.type == "clock":
        first, last, step = map(int, options)
        return Clock(rng.randrange(first, last + 1, step))
    if attribute.type == "date":
        return Day(rng.randint(*map(int, options)), rng.randint(1, 12), rng.randint(1, 28))
    if attribute.type == "flag":
        return rng.random() < 0.55
    if attribute.type == "choice":
        return Name(rng.choice(options), "choice")
    if attribute.type in {"person", "place", "code"}:
        return Name(name_of(attribute.type, options, rng), attribute.type)
    if attribute.type == "year":
        return Amount(float(rng.randint(*map(int, options))), "year")
    if attribute.type == "number":
        return Amount(_stepped(options, rng))
    if attribute.type == "money":
        return Amount(_stepped(options[:3], rng), currency, options[3])
    if attribute.type == "big":
        return Amount(_stepped(options[1:4], rng), currency, "", options[4])
    bound = attribute.type if attribute.type in {"max", "min"} else ""
    unit = currency if options[0] == "EUR" else options[0]
    return Amount(_stepped(options[1:], rng), unit, bound=bound)


def _stepped(options: tuple[str, ...], rng: random.Random) -> float:
    low, high, step = map(float, options[:3])
    # Most numbers of a wide range are small ones.
    share = rng.random() ** (2 if high > 40 * max(low, 1) else 1)
    number = low + step * round(share * (high - low) / step)
    if step == 0.5 and rng.random() < 0.3:
        return number + 0.49 if number % 1 else number
    return round(number, 3)


def name_of(sort: str, options: tuple[str, ...], rng: random.Random) -> str:
    """Return an invented person, place or code."""
    if sort == "person":
        first = rng.choice(FIRST)
        return rng.choice((f"{first} {rng.choice(LAST)}", f"{first} {rng.choice(LAST)}",
                           f"{rng.choice(('Ms', 'Mr', 'Dr'))} {rng.choice(LAST)}"))  # fmt: skip
    if sort == "place":
        return place(rng)
    made = {"#": "123456789", "@": "ABCDEFGHKLMNPRSTVX"}
    return "".join(rng.choice(made.get(sign, sign)) for sign in options[0])


def world(kind: Kind, rng: random.Random) -> World:
    """Return a few things of a kind with random values; some attributes stay hidden."""
    count = rng.choice((2, 2, 3, 3, 4, 4, 5, 6, 8))
    if kind.names in {("PERSONS",), ("PLACES",)}:
        sort = "person" if kind.names == ("PERSONS",) else "place"
        names = list(dict.fromkeys(name_of(sort, (), rng) for _ in range(count)))
    else:
        names = rng.sample(kind.names, min(count, len(kind.names)))
    attributes = rng.sample(kind.attributes, len(kind.attributes))
    shown = attributes[: rng.choice((2, 3, 3, 4, 4, 5, 6))]
    hidden = attributes[len(shown) :]
    currency = rng.choice(CURRENCIES)
    values = [{one.key: drawn(one, currency, rng) for one in shown} for _ in names]
    return World(kind, rng.choice(kind.titles), names, shown, hidden, values)


def subject(world: World, at: int, pattern: int) -> str:
    """Return how a sentence names a thing."""
    patterns = world.kind.subjects
    return patterns[pattern % len(patterns)].replace("{n}", world.names[at])


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")
