"""The ways in which lists of things are written: tables, records, lines, prose, talk, logs."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from training.large.handmade import FIRST, LAST
from training.plain.things import Attribute, World, sentence, subject
from training.plain.values import (
    CELLS,
    CURRENCIES,
    UNITS,
    Amount,
    Style,
    Value,
    spoken,
)

SEAMS = (", ", "; ", " and ", " while ", ", and ")
YES = (("yes", "no"), ("✓", "–"), ("Yes", "No"), ("included", "not included"))
ASKED = ("What about {s}?", "And {s}?", "Can you say something about {s}?", "How is it with {s}?")
TOLD = (
    "{who} reported that {what}.", "{who} said that {what}.", "{who} pointed out that {what}.",
    "According to {who}, {what}.", "{who} noted that {what}.", "{who}: {What}.",
)  # fmt: skip


class Table:
    """The headers and cells of a world; a unit stands in the header or in every cell."""

    def __init__(self, world: World, rng: random.Random) -> None:
        """Choose the headers and the form of each column."""
        self._style = replace(Style.drawn(rng), words=False)
        self._yes = rng.choice(YES)
        self._marks = rng.randrange(4)
        self.first = rng.choice(("Name", world.kind.singular.capitalize(), ""))
        self._bare = {one.key: rng.random() < 0.5 for one in world.shown}
        self.headers = {one.key: self._header(one, world, rng) for one in world.shown}

    def _header(self, one: Attribute, world: World, rng: random.Random) -> str:
        text = rng.choice(one.headers)
        value = world.values[0][one.key]
        if not isinstance(value, Amount) or value.unit == "year":
            self._bare[one.key] = False
            return text
        unit = value.unit
        if unit in CURRENCIES:
            unit = rng.choice((unit, CURRENCIES[unit][0]))
        elif unit in UNITS and rng.random() < 0.3:
            unit = UNITS[unit][2]
        if value.scale:
            unit = rng.choice((f"{value.scale} {unit}", f"{unit} {value.scale}", f"{unit} m"))
        if value.per and value.per in ("month", "year", "week", "day"):
            unit = rng.choice((f"{unit}/{value.per}", f"{unit} per {value.per}"))
        elif value.per:
            unit = f"{unit} per {value.per}"
        if not self._bare[one.key]:
            return text
        limit = {"max": rng.choice(("max. ", "at most, ", "maximum, ")),
                 "min": rng.choice(("min. ", "at least, ")), "": ""}[value.bound]  # fmt: skip
        inside = (limit + unit).rstrip(" ,")
        return f"{text} ({inside})" if inside else text

    def cell(self, one: Attribute, value: Value, *, plain: bool = False) -> Any:
        """Return a value as its column shows it; `plain`: a number stays a number."""
        if isinstance(value, bool):
            return value if plain else self._yes[0 if value else 1]
        if not isinstance(value, Amount):
            style = self._style
            return spoken(value, replace(style, clock=style.clock % 3, day=style.day % 3))
        if self._bare[one.key] or not value.unit or value.unit == "year":
            number = int(value.number) if value.number == int(value.number) else value.number
            return number if plain else f"{number:,}" if self._style.grouped and number < 1e9 and \
                value.unit != "year" else str(number)  # fmt: skip
        bound = CELLS[value.bound][self._marks] if value.bound else ""
        return spoken(value, self._style, bound=bound)

    def rows(self, world: World) -> list[list[str]]:
        """Return the header and the rows as texts."""
        head = [self.first, *(self.headers[one.key] for one in world.shown)]
        body = [
            [name, *(str(self.cell(one, values[one.key])) for one in world.shown)]
            for name, values in zip(world.names, world.values, strict=True)
        ]
        return [head, *body]


def predicate(one: Attribute, value: Value, style: Style, which: int) -> str:
    """Return what is said of a thing."""
    if isinstance(value, bool):
        options = one.said if value else one.denied
        return options[which % len(options)]
    options = one.said
    shown = value
    if isinstance(value, Amount) and value.unit == "year":
        return options[which % len(options)].replace("{v}", str(int(value.number)))
    return options[which % len(options)].replace("{v}", spoken(shown, style))


def stated(world: World, at: int, ones: Sequence[Attribute], rng: random.Random) -> str:
    """Return one sentence with some values of a thing, without its full stop."""
    style = replace(Style.drawn(rng), clock=rng.choice((0, 1, 2, 4)))
    parts = [predicate(one, world.values[at][one.key], style, rng.randrange(9)) for one in ones]
    text = f"{subject(world, at, rng.randrange(9))} {parts[0]}"
    if len(parts) == 2:
        text += rng.choice((" and ", ", and it ", " and ", "; it ")) + parts[1]
    elif len(parts) > 2:
        text += ", " + ", ".join(parts[1:-1]) + " and " + parts[-1]
    return text


def _chunks(world: World, rng: random.Random) -> list[tuple[int, list[Attribute]]]:
    """Return the things with their attributes in runs of one to three."""
    found = []
    for at in range(len(world.names)):
        ones = rng.sample(world.shown, len(world.shown))
        while ones:
            size = rng.choice((1, 1, 2, 2, 3))
            found.append((at, ones[:size]))
            ones = ones[size:]
    return found


def prose(world: World, rng: random.Random) -> str:
    """Return running text."""
    parts = [sentence(stated(world, at, ones, rng)) for at, ones in _chunks(world, rng)]
    if rng.random() < 0.4:
        pairs: list[str] = []
        for one in world.shown:  # by attribute: "A costs 3 euros, B 4 euros and C 5 euros."
            said = [stated(world, at, [one], rng) for at in range(len(world.names))]
            while said:
                size = rng.choice((1, 2, 2, 3))
                pairs.append(sentence(rng.choice(SEAMS).join(said[:size])))
                said = said[size:]
        parts = pairs
    seam = rng.choice((" ", " ", "\n", "\n\n"))
    head = rng.choice(("", "", f"{world.title}\n\n", f"# {world.title}\n\n"))
    return head + seam.join(parts)


def bullets(world: World, rng: random.Random) -> str:
    """Return a list with one line for each run of values."""
    mark = rng.choice(("- ", "* ", "• "))
    lines = [mark + sentence(stated(world, at, ones, rng)) for at, ones in _chunks(world, rng)]
    return f"{world.title}\n\n" + "\n".join(lines)


def talk(world: World, rng: random.Random) -> str:
    """Return a conversation of two or three."""
    names = rng.sample(FIRST, 2)
    lines = []
    for at, ones in _chunks(world, rng):
        asks, tells = rng.sample(names, 2)
        if rng.random() < 0.5:
            lines.append(f"{asks}: " + rng.choice(ASKED).format(s=subject(world, at, 0)))
        lines.append(f"{tells}: " + sentence(stated(world, at, ones, rng)))
    return "\n".join(lines)


def minutes(world: World, rng: random.Random) -> str:
    """Return the minutes of a meeting."""
    people = [f"{rng.choice(('Ms', 'Mr', 'Dr'))} {name}" for name in rng.sample(LAST, 3)]
    parts = []
    for at, ones in _chunks(world, rng):
        what = stated(world, at, ones, rng)
        told = rng.choice(TOLD)
        parts.append(told.format(who=rng.choice(people), what=what, What=sentence(what)[:-1]))
    head = rng.choice((f"Minutes, item {rng.randint(1, 9)}: ", "Minutes: ")) + world.title
    return head + "\n\n" + rng.choice((" ", "\n")).join(parts)


def markdown(world: World, rng: random.Random) -> str:
    """Return a Markdown table."""
    rows = Table(world, rng).rows(world)
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    text = "\n".join("| " + " | ".join(row) + " |" for row in lines)
    return rng.choice((f"{world.title}\n\n", f"## {world.title}\n\n", "")) + text


def transposed(world: World, rng: random.Random) -> str:
    """Return a Markdown table with a column for each thing."""
    rows = [list(column) for column in zip(*Table(world, rng).rows(world), strict=True)]
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def comma(world: World, rng: random.Random) -> str:
    """Return CSV."""
    file = io.StringIO()
    rows = Table(world, rng).rows(world)
    rows[0][0] = rows[0][0] or "name"
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().strip()


def _key(text: str, style: str) -> str:
    text = text.replace("%", " percent")
    plain = "".join(sign if sign.isalnum() else " " for sign in text).split()
    if style == "snake":
        return "_".join(plain).lower()
    return plain[0].lower() + "".join(word.capitalize() for word in plain[1:])


def _records(world: World, rng: random.Random) -> tuple[list[dict[str, Any]], str]:
    table, style = Table(world, rng), rng.choice(("snake", "snake", "camel"))
    found = []
    for name, values in zip(world.names, world.values, strict=True):
        one: dict[str, Any] = {"name": name}
        for item in world.shown:
            key = _key(table.headers[item.key], style)
            one[key] = table.cell(item, values[item.key], plain=True)
        found.append(one)
    return found, _key(world.kind.plural, style)


def records(world: World, rng: random.Random) -> str:
    """Return JSON."""
    data, word = _records(world, rng)
    whole: Any = data
    way = rng.random()
    if way < 0.4:
        whole = {"title": world.title, word: data}
    elif way < 0.7:
        whole = {word: {one.pop("name"): one for one in data}}
    return json.dumps(whole, indent=rng.choice((None, 2, 2, 4)), ensure_ascii=False)


def fields(world: World, rng: random.Random) -> str:
    """Return lines of names and values, a block for each thing."""
    table = Table(world, rng)
    blocks = []
    for name, values in zip(world.names, world.values, strict=True):
        lines = [
            f"{table.headers[one.key]}: {table.cell(one, values[one.key])}" for one in world.shown
        ]
        blocks.append("\n".join([f"{world.kind.singular.capitalize()}: {name}", *lines]))
    return "\n\n".join(blocks)


def log(world: World, rng: random.Random) -> str:
    """Return lines of a log."""
    lines, second = [], rng.randrange(30000, 80000)
    table = Table(world, rng)
    start = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    for at, ones in _chunks(world, rng):
        second += rng.randint(1, 400)
        stamp = f"{start} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        said = " ".join(f"{_key(table.headers[one.key], 'snake')}="
                        f"{str(table.cell(one, world.values[at][one.key])).replace(' ', '')}"
                        for one in ones)  # fmt: skip
        lines.append(f"{stamp} INFO {world.kind.name}={world.names[at].replace(' ', '_')} {said}")
    return "\n".join(lines)


def letter(world: World, rng: random.Random) -> str:
    """Return an email."""
    body = prose(world, rng).lstrip("# ")
    names = rng.sample(FIRST, 2)
    head = f"From: {names[0]}\nTo: {names[1]}\nSubject: {world.title}"
    return f"{head}\n\nDear {names[1]},\n\n{body}\n\nKind regards,\n{names[0]}"


LAYOUTS: tuple[Callable[[World, random.Random], str], ...] = (
    prose, prose, prose, prose, bullets, bullets, talk, talk, minutes, markdown, markdown,
    transposed, comma, records, records, fields, fields, log, letter,
)  # fmt: skip


def written(world: World, rng: random.Random) -> list[str]:
    """Return the documents that show a world: mostly one, sometimes two."""
    layout = rng.choice(LAYOUTS)
    if len(world.names) < 2 or rng.random() < 0.8:
        return [layout(world, rng)]
    middle = rng.randint(1, len(world.names) - 1)
    parts = (slice(0, middle), slice(middle, None))
    return [
        rng.choice(LAYOUTS)(replace(world, names=world.names[part], values=world.values[part]), rng)
        for part in parts
    ]
