"""Records made by program, with sentences about them whose labels are known.

`training/data/records.txt` names kinds of records, their fields and sentences about each field. A
sentence with the record's value is entailed; with another value, or a flipped boolean, it is
contradicted; about a null or missing field it is neutral. Records are written as JSON, YAML, tables
or lines; several share one source, each after a line with its name.
"""

from __future__ import annotations

import json
import operator
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from halldetect.reading.sources import read_source
from halldetect.reading.words import MONTHS
from halldetect.reading.words import WEEKDAYS as DAYS
from training.large.handmade import FIRST, LAST, firm, place
from training.large.sources import Claim, Passage
from training.large.voice import dressed, merged, named
from training.words import words

KINDS = Path(__file__).parents[1] / "data" / "records.txt"
DEV_KINDS = frozenset({"museum", "order", "server", "library_book", "car"})
CLOSED = "closed"
_PLAIN = re.compile(r"-?\d+|true|false")
_WEEKEND = "{S} is open on weekends"
_NULL = 0.1  # share of the fields without a value
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of a kind: its path, type, and the sentences (of a boolean: if true, if false)."""

    path: str
    type: str
    options: tuple[str, ...]
    says: tuple[str, ...]
    denials: tuple[str, ...]


@dataclass
class Kind:
    """A kind of record."""

    name: str
    subjects: list[str]
    names: list[str]
    fields: list[Field] = field(default_factory=list)
    rules: list[tuple[str, str, str, tuple[str, ...]]] = field(default_factory=list)
    never: tuple[str, ...] = ()


@dataclass
class Record:
    """One record: its name, its values by path (None: null), and the paths that are left out."""

    kind: Kind
    name: str
    values: dict[str, Any]
    missing: frozenset[str]


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(" ; ") if part.strip())


@lru_cache(maxsize=1)
def kinds() -> tuple[dict[str, Kind], dict[str, dict[str, list[tuple[str, ...]]]]]:
    """Return the kinds of records by name, and the tables at the end of the file."""
    found: dict[str, Kind] = {}
    tables: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for line in KINDS.read_text(encoding="utf-8").splitlines():
        first, *cells = (cell.strip() for cell in line.split(" | "))
        head = re.fullmatch(r"\[(\w+)\](.*)", first)
        if line.startswith("#"):
            continue
        if head and cells:
            kind = Kind(head[1], [s.strip() for s in head[2].split(",")], list(_items(cells[0])))
            found[kind.name] = kind
        elif head:
            table = tables.setdefault(head[1], {})
        elif tables:
            table[first] = [_items(cell) for cell in cells]
        elif first == "never":
            kind.never = _items(cells[0])
        elif first.startswith("if "):
            path, sign, value = first[3:].split(" ", 2)
            kind.rules.append((path, sign, value, _items(cells[0])))
        else:
            name, _, inner = cells[0].partition("(")
            mark = "/" if name in {"choice", "list", "reviews"} else ","
            options = tuple(inner.rstrip(")").split(mark)) if inner else ()
            says, denials = (_items(cells[at]) if len(cells) > at else () for at in (1, 2))
            kind.fields.append(Field(first, name, options, says, denials))
    return found, tables


def _patterns(name: str) -> tuple[str, ...]:
    return kinds()[1]["patterns"][name][0]


def _filled(pattern: str, rng: random.Random) -> str:
    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name in kinds()[1]["parts"]:
            return rng.choice(kinds()[1]["parts"][name][0])
        made: dict[str, Callable[[], Any]] = {
            "last": lambda: rng.choice(LAST), "start": lambda: rng.choice(words("names_starts")),
            "place": lambda: place(rng), "person": lambda: _value("person", (), rng),
            "street": lambda: _value("street", (), rng), "n": lambda: str(rng.randrange(11, 9999)),
            "v1": lambda: _value("version", (), rng),
        }  # fmt: skip
        return str(made[name]())

    return re.sub(r"\{(\w+)\}", part, pattern)


def _value(kind: str, options: Sequence[str], rng: random.Random) -> Any:
    """Return a random value of a type of field."""
    if kind in {"int", "money", "percent", "year"}:
        low, high = map(int, options)
        number = rng.randint(low, high)
        if kind == "money" and high <= 500 and rng.random() < 0.4:
            return number + rng.choice((0.5, 0.99, 0.95, 0.25))
        return round(number, -1) if high - low > 3000 and rng.random() < 0.6 else number
    if kind == "float":
        return round(rng.uniform(float(options[0]), float(options[1])), 1)
    if kind == "choice":
        value = rng.choice(options)
        return int(value) if value.isdigit() else value
    if kind == "list":
        return rng.sample(options, rng.randint(2, min(4, len(options) - 1)))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "rating":
        return rng.choice([x / 2 for x in range(3, 11)] + [x / 10 for x in range(21, 50)])
    made: dict[str, Callable[[], str]] = {
        "place": lambda: place(rng), "firm": lambda: firm(rng),
        "person": lambda: f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        "street": lambda: f"{rng.randint(1, 980)} {rng.choice(LAST)} "
        + rng.choice(("Street", "Avenue", "Road", "Lane")),
        "phone": lambda: f"{rng.randint(200, 989)}-555-{rng.randint(100, 9999):04}",
        "id": lambda: f"{rng.choice('ABKPRTX')}{rng.randint(100, 99999)}",
        "version": lambda: f"{rng.randint(0, 9)}.{rng.randint(0, 14)}.{rng.randint(0, 9)}",
        "date": lambda: "{}-{:02}-{:02}".format(*map(rng.randint, (2015, 1, 1), (2025, 12, 28))),
        "time": lambda: f"{rng.randint(5, 22):02}:{rng.choice((0, 0, 15, 30, 45)):02}",
    }  # fmt: skip
    return made[kind]()


def _clock(value: str, rng: random.Random) -> str:
    hour, minute = map(int, value.split(":"))
    if rng.random() < 0.35:
        return f"{hour:02}:{minute:02}"
    half = "AM" if hour % 24 < 12 else "PM"
    return f"{(hour - 1) % 12 + 1}{f':{minute:02}' if minute or rng.random() < 0.5 else ''} {half}"


def _spoken(value: Any, kind: str, options: Sequence[str], rng: random.Random) -> str:
    """Return a value as a sentence says it."""
    if kind == "money":
        text = f"{value:,.2f}" if value % 1 else f"{value:,}"
        return rng.choice((f"${text}", f"${text}", f"{text} dollars"))
    if kind == "percent":
        return rng.choice((f"{value}%", f"{value} %", f"{value} percent"))
    if kind == "float":
        return f"{value} {options[2]}" if len(options) > 2 else str(value)
    if kind == "int":
        return rng.choice((str(value), f"{value:,}"))
    if kind == "time":
        return _clock(value, rng)
    if kind == "date":
        year, month, day = map(int, value.split("-"))
        name = MONTHS[month - 1]
        return rng.choice((f"{name} {day}, {year}", f"{day} {name} {year}", value))
    if kind == "list":
        if len(value) == 1:
            return str(value[0])
        return ", ".join(value[:-1]) + f" and {value[-1]}"
    return str(value)


def _near(value: Any, item: Field, others: Sequence[Any], rng: random.Random) -> Any:
    """Return another value, close to the given one or taken from another row."""
    options = [other for other in others if other not in (None, value)]
    if options and rng.random() < 0.6 and item.type != "list":
        return rng.choice(options)
    for _ in range(8):
        if item.type in {"int", "money", "percent"} and rng.random() < 0.6:
            digits = list(str(value))
            at = rng.choice([n for n, digit in enumerate(digits) if digit.isdigit()])
            digits[at] = rng.choice("123456789")
            made: Any = type(value)("".join(digits))
        elif item.type in {"float", "rating"}:
            made = round(max(0.5, min(value + rng.choice((-1, 1, -0.5, 0.5, -2, 1.5)), 99)), 1)
        elif item.type == "time" and rng.random() < 0.5:
            made = f"{(int(value[:2]) + rng.choice((1, 2, 12, -1))) % 24:02}{value[2:]}"
        else:
            made = _value(item.type, item.options, rng)
        if made != value and not (item.type == "rating" and made > 5):
            return made
    return None


def record(kind: Kind, rng: random.Random) -> Record:
    """Return a random record of a kind, with some fields null or left out."""
    values: dict[str, Any] = {}
    missing = set()
    for item in kind.fields:
        if rng.random() < _NULL and item.type != "reviews":
            values[item.path] = None
            if rng.random() < 0.5:
                missing.add(item.path)
        elif item.type == "hours":
            values[item.path] = _week(rng)
        elif item.type == "reviews":
            values[item.path] = _reviews(item.options, rng)
        else:
            values[item.path] = _value(item.type, item.options, rng)
    return Record(kind, _filled(rng.choice(kind.names), rng), values, frozenset(missing))


def _week(rng: random.Random) -> dict[str, str | None]:
    opens = f"{rng.randint(6, 12)}:{rng.choice(('00', '00', '30'))}"
    closes = f"{rng.randint(15, 23)}:{rng.choice(('00', '00', '30'))}"
    week: dict[str, str | None] = dict.fromkeys(DAYS, f"{opens}-{closes}")
    for day in rng.sample(DAYS, rng.choice((0, 1, 1, 2, 3))):
        week[day] = f"{rng.randint(6, 12)}:00-{rng.randint(14, 23)}:{rng.choice(('00', '30'))}"
    for day in rng.sample(("Sunday", "Monday", "Saturday"), rng.choice((0, 0, 1, 2))):
        week[day] = CLOSED
    for day in rng.sample(DAYS, rng.choice((0, 0, 0, 1))):
        week[day] = None  # not stated
    return week


def _reviews(aspects: Sequence[str], rng: random.Random) -> list[dict[str, Any]]:
    """Return reviews; `aspects` in each names what it praises (True) or criticises (False)."""
    made = []
    for _ in range(rng.randint(2, 4)):
        stars = rng.randint(1, 5)
        said = {
            name: stars >= 4 if rng.random() < 0.8 else stars < 4
            for name in rng.sample(aspects, min(len(aspects), rng.randint(1, 3)))
        }
        if stars == 3:
            said = {name: rng.random() < 0.5 for name in said}
        parts = [
            rng.choice(kinds()[1]["aspects"][name][1 if good else 2]) for name, good in said.items()
        ]
        date, end = _value("date", (), rng), rng.choice((".", "!", "."))
        text = ". ".join(parts) + end
        made.append({"stars": stars, "date": date, "text": text, "aspects": said})
    return made


def _subject(made: Record, rng: random.Random, *, many: bool) -> str:
    if many:
        return made.name
    plain = [s.replace("{p}", made.name).replace("{kind}", str(made.values.get("category") or
             "device")) for s in made.kind.subjects]  # fmt: skip
    return made.name if rng.random() < 0.45 else rng.choice(plain)


def _said(pattern: str, subject: str, value: str = "") -> str:
    text = pattern.replace("{S}", subject).replace("{v}", value)
    return text[:1].upper() + text[1:] + "."


def _ask(path: str) -> str:
    return "the " + re.sub(r"[_.]", " ", path.split(".")[-1])


def statements(
    made: Record, rng: random.Random, others: Sequence[Record] = (), *, many: bool = False
) -> list[Claim]:
    """Return sentences about a record, with their labels; with `many`, each names the record.

    `others` are further records of the same kind in the source; their values are near misses.
    """
    found: list[Claim] = []

    def add(pattern: str, label: str, kind: str, value: str = "") -> None:
        if many and "{S}" not in pattern:
            pattern = rng.choice(("For {S}: ", "As for {S}, ")) + pattern[:1].lower() + pattern[1:]
        found.append(Claim(_said(pattern, _subject(made, rng, many=many), value), label, kind))

    for item in made.kind.fields:
        value = made.values[item.path]
        says = _patterns("rating") if item.type == "rating" else item.says
        if item.type == "hours":
            found += [] if many else _hours(value, made, rng)
        elif item.type == "reviews":
            found += [] if many else _opinions(value, item.options, rng)
        elif value is None:
            ask = _ask(item.path)
            said = rng.choice(_patterns("unstated")).replace("{ask}", ask)
            if rng.random() < 0.35:
                add(said.replace("{Ask}", ask[:1].upper() + ask[1:]), "E", "record_unstated")
            if item.type == "bool":
                add(rng.choice(says), "N", "record_null")
                add(rng.choice(item.denials), "N", "record_null")
            else:
                wrong = _value(item.type, item.options, rng)
                said = rng.choice(says)
                add(said, "N", "record_null", _spoken(wrong, item.type, item.options, rng))
        elif item.type == "bool":
            right, wrong = (says, item.denials) if value else (item.denials, says)
            add(rng.choice(right), "E", "record_bool")
            add(rng.choice(wrong), "C", "record_bool")
        else:
            spoken = _spoken(value, item.type, item.options, rng)
            add(rng.choice(says), "E", "record_value", spoken)
            if item.type == "list":
                outside = [option for option in item.options if option not in value]
                add(rng.choice(says), "E", "record_part", str(rng.choice(value)))
                mixed = [rng.choice(value), rng.choice(outside)]
                add(rng.choice(says), "N", "record_list", _spoken(mixed, "list", (), rng))
                continue
            pool = [other.values[item.path] for other in others]
            wrong = _near(value, item, pool, rng)
            if wrong is not None:
                said = rng.choice(says)
                add(said, "C", "record_near", _spoken(wrong, item.type, item.options, rng))
            if rng.random() < 0.05:
                said = rng.choice(_patterns("unstated")[:3]).replace("{ask}", _ask(item.path))
                add(said, "C", "record_unstated")
    for path, sign, bound, says in made.kind.rules:
        value, limit = made.values[path], json.loads(bound) if _PLAIN.fullmatch(bound) else bound
        label = "N"
        if value is not None:
            label = "E" if _OPERATORS[sign](value, limit) else "C"
        add(rng.choice(says), label, "record_rule")
    for said in rng.sample(made.kind.never, 2):
        add(said, "N", "record_never")
    return found


def _hours(week: dict[str, str | None] | None, made: Record, rng: random.Random) -> list[Claim]:
    """Return sentences about opening hours."""
    found = []

    def add(
        pattern: str, label: str, day: str = "", hours: str = "0:00-0:00", end: str = ""
    ) -> None:
        text = rng.choice(_patterns(pattern)) if pattern != "weekend" else _WEEKEND
        opens, closes = (_clock(part, rng) for part in hours.split("-"))
        filled = {"{d}": day, "{e}": end, "{a}": opens, "{b}": closes}
        text = _said(text, _subject(made, rng, many=False))
        for slot, value in filled.items():
            text = text.replace(slot, value)
        found.append(Claim(text, label, "record_hours"))

    day = rng.choice(DAYS)
    if week is None:
        add("open", "N", day, "9:00-18:00")
        add("all_week", "N")
        return found
    shut = CLOSED in week.values()
    add("all_week", "C" if shut else "N" if None in week.values() else "E")
    for day in rng.sample(DAYS, 3):
        hours, other = week[day], rng.choice(list(week.values()))
        if hours is None:
            add("closed", "N", day)
            add("open", "N", day, "9:00-18:00")
            continue
        add("closed", "E" if hours == CLOSED else "C", day)
        if hours == CLOSED:
            add("open", "C", day, "10:00-18:00")
            continue
        add("open", "E", day, hours)
        if other in (None, hours, CLOSED):
            opens, closes = hours.split("-")
            other = f"{opens}-{int(closes.split(':')[0]) - rng.choice((1, 2, 3))}:00"
        add("open", "C", day, str(other))
    start = rng.randrange(4)
    run = DAYS[start : start + rng.randint(3, 7 - start)]
    hours, known = week[run[0]], {week[day] for day in run} - {None}
    if hours not in (None, CLOSED) and (len(known) > 1 or None not in map(week.get, run)):
        add("run", "E" if len(known) == 1 else "C", run[0], str(hours), run[-1])
    weekend = [week["Saturday"], week["Sunday"]]
    if None not in weekend:
        add("weekend", "C" if CLOSED in weekend else "E")
    return found


def _opinions(
    reviews: Sequence[dict[str, Any]], options: Sequence[str], rng: random.Random
) -> list[Claim]:
    """Return summaries of reviews."""
    found = []

    def add(patterns: Sequence[str], label: str, noun: str) -> None:
        text = rng.choice(patterns).replace("{x}", noun).replace("{X}", noun.capitalize())
        found.append(Claim(_said(text, ""), label, "record_reviews"))

    praise, blame, mixed = map(_patterns, ("praise", "blame", "mixed"))
    for name in options:
        noun = kinds()[1]["aspects"][name][0][0]
        said = {review["aspects"][name] for review in reviews if name in review["aspects"]}
        if not said:
            add(rng.choice((praise, blame)), "N", noun)
        elif said == {True, False}:
            add(rng.choice((praise[-1:], blame[-1:], mixed)), "E", noun)
            add(("All reviewers praise {x}", "Nobody has anything bad to say about {x}"), "C", noun)
        else:
            right, wrong = (praise, blame) if True in said else (blame, praise)
            add(right, "E", noun)
            add((*wrong, *mixed), "C", noun)
    stars = [review["stars"] for review in reviews]
    good, bad = min(stars) >= 4, max(stars) <= 2
    add(("Overall, the reviews are positive", "Reviewers are satisfied on the whole"),
        "E" if good else "C" if bad else "N", "")  # fmt: skip
    if min(stars) < max(stars):
        add(("The reviews range from {x} stars",), "E", f"{min(stars)} to {max(stars)}")
    add((f"{len(stars)} reviews are quoted", f"There are {len(stars)} reviews"), "E", "")
    add((f"There are {len(stars) + rng.choice((1, 2, 3))} reviews",), "C", "")
    return found


def comparisons(made: Sequence[Record], rng: random.Random) -> list[Claim]:
    """Return sentences about several records of a kind: the greatest, more, the same."""
    found = []
    for item in made[0].kind.fields:
        name = re.sub(r"[_.]", " ", item.path.split(".")[-1])
        values = [one.values[item.path] for one in made]
        if None in values or rng.random() < 0.3:
            continue
        first, second = rng.sample(range(len(made)), 2)
        one, two = made[first].name, made[second].name
        if item.type in {"int", "money", "percent", "float", "rating"}:
            if values[first] != values[second]:
                more = values[first] > values[second]
                texts = (f"{one} has a higher {name} than {two}.",
                         f"The {name} of {one} is higher than that of {two}.",
                         f"Compared with {two}, {one} has the higher {name}.")  # fmt: skip
                found.append(Claim(rng.choice(texts), "E" if more else "C", "record_compare"))
            if len(made) > 2 and values.count(max(values)) == 1:
                top = made[values.index(max(values))].name
                text = f"{rng.choice((top, one))} has the highest {name}"
                label = "E" if text.startswith(f"{top} has") else "C"
                found.append(Claim(text + rng.choice((".", " of all.")), label, "record_compare"))
        elif item.type in {"choice", "place"}:
            same = values[first] == values[second]
            text = f"{one} and {two} have the same {name}."
            found.append(Claim(text, "E" if same else "C", "record_compare"))
    return found


def _nested(made: Record, style: str) -> dict[str, Any]:
    def key(text: str) -> str:
        if style == "camel":
            return re.sub(r"_(\w)", lambda match: match[1].upper(), text)
        return text.replace("_", " ").title() if style == "title" else text

    found: dict[str, Any] = {key("name"): made.name}
    for item in made.kind.fields:
        if item.path in made.missing:
            continue
        inner = found
        *above, last = item.path.split(".")
        for part in above:
            inner = inner.setdefault(key(part), {})
        value = made.values[item.path]
        if item.type == "hours" and value:
            value = {day: hours for day, hours in value.items() if hours}
        if item.type == "reviews":
            value = [{key(k): v for k, v in one.items() if k != "aspects"} for one in value]
        inner[key(last)] = value
    return found


def path_lines(value: Any, path: str = "") -> list[str]:
    """Return a structure as lines "path, key: value"."""
    if isinstance(value, dict):
        return [line for key, inner in value.items()
                for line in path_lines(inner, f"{path}, {key}" if path else str(key))]  # fmt: skip
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        return [line for at, inner in enumerate(value, 1)
                for line in path_lines(inner, f"{path} {at}".strip())]  # fmt: skip
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if value is None or isinstance(value, bool):
        value = {None: "null", True: "yes", False: "no"}[value]
    return [f"{path}: {value}"]


def _yaml(value: Any, depth: int = 0) -> list[str]:
    pad, lines = "  " * depth, []
    for key, inner in value.items():
        if isinstance(inner, dict):
            lines += [f"{pad}{key}:", *_yaml(inner, depth + 1)]
        elif isinstance(inner, list):
            lines.append(f"{pad}{key}:")
            for one in inner:
                first, *rest = _yaml(one, depth + 2) if isinstance(one, dict) else [str(one)]
                lines += [f"{pad}  - {first.strip()}", *rest]
        else:
            lines.append(
                f"{pad}{key}: {json.dumps(inner) if not isinstance(inner, str) else inner}"
            )
    return lines


def written(made: Sequence[Record], rng: random.Random) -> str:
    """Return records as one text: JSON, YAML, a table, or lines."""
    style = rng.choice(("snake", "snake", "camel", "title"))
    flat = all(item.type not in {"hours", "reviews"} for item in made[0].kind.fields)
    form = rng.choice(("json", "json", "compact", "read", "read", "paths", "paths", "yaml"))
    if len(made) > 1 and flat and rng.random() < 0.6:
        return _table(made, style, rng)
    data = [_nested(one, style) for one in made]
    whole: Any = data[0] if len(data) == 1 else data
    if len(data) > 1 and rng.random() < 0.5:
        whole = {rng.choice(("items", "results", "data", made[0].kind.name + "s")): data}
    if form == "paths":
        return "\n".join(path_lines(whole))
    if form == "yaml":
        parts = ["\n".join(_yaml(one)) for one in data]
        return "\n---\n".join(parts)
    text = json.dumps(whole, indent=None if form == "compact" else rng.choice((2, None, 4)))
    if form != "read":
        return text
    document = read_source(text)
    return document.readable(type(document.sentences[0])(0, len(text)))


def _table(made: Sequence[Record], style: str, rng: random.Random) -> str:
    flat = [dict(line.split(": ", 1) for line in path_lines(_nested(one, style))) for one in made]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    rows = [[row.get(column, "") for column in columns] for row in flat]
    if rng.random() < 0.4:
        return "\n".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row)
                         for row in [columns, *rows])  # fmt: skip
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def passages(chosen: Sequence[Kind], count: int, rng: random.Random) -> list[Passage]:
    """Return sources of one to six records of the chosen kinds, with sentences about them."""
    found = []
    for _ in range(count):
        kind = rng.choice(chosen)
        number = rng.choice((1, 1, 1, 1, 2, 3, 4, 6))
        made = [record(kind, rng) for _ in range(number)]
        if len({one.name for one in made}) < number:
            continue
        claims: list[Claim] = []
        for one in made:
            others = [other for other in made if other is not one]
            mine = statements(one, rng, others, many=number > 1)
            mine += merged(mine, len(mine) // 4, rng)
            claims += rng.sample(mine, min(len(mine), 34 if number == 1 else 14))
        if number > 1:
            claims += comparisons(made, rng)
            claims += merged(claims, 6, rng)
        if number in {2, 3} and rng.random() < 0.6:
            text = named([written([one], rng) for one in made], rng)
        else:
            text = written(made, rng)
            if rng.random() < 0.15:
                other = record(rng.choice(chosen), rng)
                texts = [text, written([other], rng)]
                rng.shuffle(texts)
                text = named(texts, rng)
        claims = rng.sample(claims, min(len(claims), 40))
        found.append(Passage(text, "records", [dressed(claim, text, 0.2, rng) for claim in claims]))
    return found
