"""Values of plain facts: amounts, clocks, days and names, in the forms that people write.

A `Style` fixes the form, so that a right and a wrong sentence differ in their value alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from halldetect.facts.recogniser import VALUES
from halldetect.reading.words import MONTHS
from training.perturbation.lexicon import MONTH_DAYS

_WORDS = {int(value): word for word, value in VALUES.items()}
MOST_IN_WORDS = 20
O_CLOCK = " o'clock"
# Symbol -> family, size, and its word in the plural.
UNITS: dict[str, tuple[str, float, str]] = {
    "mg": ("mass", 1e-3, "milligrams"), "g": ("mass", 1, "grams"), "kg": ("mass", 1e3, "kilograms"),
    "t": ("mass", 1e6, "tonnes"), "lb": ("mass", 0, "pounds"), "oz": ("mass", 0, "ounces"),
    "mm": ("length", 1e-3, "millimetres"), "cm": ("length", 1e-2, "centimetres"),
    "m": ("length", 1, "metres"), "km": ("length", 1e3, "kilometres"),
    "mi": ("length", 0, "miles"), "ft": ("length", 0, "feet"), "in": ("length", 0, "inches"),
    "ml": ("volume", 1e-3, "millilitres"), "cl": ("volume", 1e-2, "centilitres"),
    "l": ("volume", 1, "litres"), "litres": ("volume", 1, "litres"),
    "gal": ("volume", 0, "gallons"),
    "ms": ("time", 1e-3, "milliseconds"), "s": ("time", 1, "seconds"),
    "minutes": ("time", 60, "minutes"), "hours": ("time", 3600, "hours"),
    "days": ("time", 86400, "days"), "weeks": ("time", 604800, "weeks"),
    "months": ("years", 1, "months"), "years": ("years", 12, "years"),
    "KB": ("data", 1e-3, "kilobytes"), "MB": ("data", 1, "megabytes"),
    "GB": ("data", 1e3, "gigabytes"), "TB": ("data", 1e6, "terabytes"),
    "W": ("power", 1, "watts"), "kW": ("power", 1e3, "kilowatts"),
    "MW": ("power", 1e6, "megawatts"),
    "m2": ("area", 1, "square metres"), "ha": ("area", 1e4, "hectares"),
    "km2": ("area", 1e6, "square kilometres"), "sq ft": ("area", 0, "square feet"),
    "°C": ("heat", 0, "degrees Celsius"), "°F": ("heat", 0, "degrees Fahrenheit"),
    "km/h": ("speed", 0, "kilometres per hour"), "mph": ("speed", 0, "miles per hour"),
    "m/s": ("speed", 0, "metres per second"),
    "kcal": ("energy", 0, "kilocalories"), "kJ": ("energy", 0, "kilojoules"),
    "mmHg": ("pressure", 0, "mmHg"), "kPa": ("pressure", 0, "kPa"),
    "dB": ("noise", 0, "decibels"), "%": ("share", 0, "percent"),
}  # fmt: skip
_LAPSES = ("ms", "s", "minutes", "hours", "days", "weeks", "months", "years")
CURRENCIES = {"EUR": ("€", "euros"), "USD": ("$", "dollars"), "GBP": ("£", "pounds")}
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
PERIODS = ("day", "week", "month", "year", "hour", "person", "group", "piece")
_UPPER = ("up to {}", "at most {}", "no more than {}", "a maximum of {}", "not more than {}")
_LOWER = ("at least {}", "no less than {}", "a minimum of {}", "{} or more", "not less than {}")
BOUNDS = {"max": _UPPER, "min": _LOWER}
AGAINST = {"max": (*_LOWER, "more than {}", "over {}"), "min": (*_UPPER, "less than {}")}
CELLS = {"max": ("up to {}", "max. {}", "≤ {}", "at most {}"),
         "min": ("from {}", "min. {}", "≥ {}", "at least {}")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit; money has a currency, a counted thing its plural."""

    number: float
    unit: str = ""
    per: str = ""  # "month" in "9 euros a month"
    scale: str = ""  # "million"
    bound: str = ""  # "max" or "min"


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of the day, in minutes."""

    minutes: int


@dataclass(frozen=True, slots=True)
class Day:
    """A date."""

    year: int
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Name:
    """A person, place, code, or one of several words."""

    text: str
    sort: str


Value = Amount | Clock | Day | Name | bool


@dataclass(frozen=True, slots=True)
class Style:
    """The form of the values of one sentence."""

    words: bool  # numbers in words
    long: bool  # units in words
    grouped: bool  # 1,500
    bound: int
    clock: int
    day: int

    @classmethod
    def drawn(cls, rng: random.Random) -> Style:
        """Return a random style."""
        return cls(rng.random() < 0.25, rng.random() < 0.5, rng.random() < 0.75,
                   rng.randrange(60), rng.randrange(5), rng.randrange(5))  # fmt: skip


def digits(number: float, style: Style) -> str:
    """Return a number in figures, or in words if the style has words."""
    if number == int(number):
        whole = int(number)
        if style.words and 0 < whole <= MOST_IN_WORDS and whole in _WORDS:
            return _WORDS[whole]
        return f"{whole:,}" if style.grouped else str(whole)
    text = f"{number:,.3f}" if style.grouped else f"{number:.3f}"
    return text.rstrip("0").rstrip(".")


def counted(number: float, plural: str) -> str:
    """Return the plural, or the singular for one."""
    if number != 1:
        return plural
    irregular = {"people": "person", "feet": "foot", "inches": "inch", "stories": "story"}
    last = plural.rsplit(" ", 1)[-1]
    return plural[: len(plural) - len(last)] + irregular.get(last, last.removesuffix("s"))


def spoken(value: Value, style: Style, *, bound: str | None = None) -> str:
    """Return a value as a sentence says it; `bound` replaces the words of its bound."""
    if isinstance(value, Clock):
        return clock(value, style)
    if isinstance(value, Day):
        return day(value, style)
    if isinstance(value, Name):
        return value.text
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = _amount(value, style)
    if bound is None and value.bound:
        options = BOUNDS[value.bound]
        bound = options[style.bound % len(options)]
    text = bound.format(text) if bound else text
    if not value.per:
        return text
    if value.per in ("month", "year", "week", "day"):
        ends = (f"a {value.per}", f"per {value.per}", f"per {value.per}")
    else:
        ends = (f"per {value.per}", f"a {value.per}" if value.per[0] not in "aeiouh" else
                f"per {value.per}", f"per {value.per}")  # fmt: skip
    return f"{text} {ends[style.bound % 3]}"


def _amount(value: Amount, style: Style) -> str:
    scale = f" {value.scale}" if value.scale else ""
    if value.unit in CURRENCIES:
        sign, word = CURRENCIES[value.unit]
        cents = not value.scale and value.number != int(value.number)
        plain = replace_words(style) if cents or value.scale else style
        text = f"{value.number:,.2f}" if cents else digits(value.number, plain)
        if style.long:
            return f"{text}{scale} {counted(value.number, word) if not scale else word}"
        return f"{sign}{digits(value.number, replace_words(style)) if not cents else text}{scale}"
    text = digits(value.number, style)
    if not value.unit:
        return text + scale
    if value.unit not in UNITS:
        return f"{text}{scale} {counted(value.number, value.unit)}"
    word = UNITS[value.unit][2]
    if value.unit == "%":
        text = digits(value.number, style if style.long else replace_words(style))
        word = "percent" if style.bound % 2 else "per cent"
        return f"{text} {word}" if style.long else f"{text}%"
    shown = {"m2": "m²", "km2": "km²"}.get(value.unit, value.unit)
    if style.long or shown == word or style.words:
        return f"{text} {counted(value.number, word)}"
    return f"{text} {shown}"


def replace_words(style: Style) -> Style:
    """Return the style with numbers in figures."""
    return replace(style, words=False)


def clock(value: Clock, style: Style) -> str:
    """Return a time of the day in one of five forms."""
    hour, minute = divmod(value.minutes % 1440, 60)
    half = "am" if hour < 12 else "pm"
    twelve = (hour - 1) % 12 + 1
    if style.clock == 0:
        return f"{hour:02}:{minute:02}"
    if style.clock == 1:
        return f"{twelve}{f':{minute:02}' if minute else ''} {half}"
    if style.clock == 2:
        return f"{twelve}:{minute:02} {half[0]}.m."
    if style.clock == 3 and minute in (0, 15, 30, 45):
        part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "at night"
        part = "in the evening" if 18 <= hour < 22 else part
        near = _WORDS[twelve] if minute != 45 else _WORDS[twelve % 12 + 1]
        start = {0: "", 15: "quarter past ", 30: "half past ", 45: "quarter to "}[minute]
        return f"{start}{near}{'' if minute else O_CLOCK} {part}"
    return f"{hour}:{minute:02}"


def day(value: Day, style: Style) -> str:
    """Return a date in one of five forms."""
    month = MONTHS[value.month - 1]
    ends = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
    end = ends.get(value.day, "th")
    return (
        f"{value.day} {month} {value.year}",
        f"{month} {value.day}, {value.year}",
        f"{value.year}-{value.month:02}-{value.day:02}",
        f"the {value.day}{end} of {month} {value.year}",
        f"{month[:3]} {value.day}, {value.year}",
    )[style.day]


def nearby(number: float, rng: random.Random) -> float:
    """Return another number of the same size and form: one digit, a neighbour, or a multiple."""
    for _ in range(20):
        text = digits(number, Style(False, False, False, 0, 0, 0))
        way = rng.random()
        if way < 0.5:
            at = rng.choice([at for at, sign in enumerate(text) if sign.isdigit()])
            made = float(text[:at] + rng.choice("123456789") + text[at + 1 :])
        elif way < 0.75:
            step = 10.0 ** -len(text.partition(".")[2]) if "." in text else 1.0
            made = round(number + step * rng.choice((-3, -2, -1, 1, 2, 3)), 3)
        else:
            made = round(number * rng.choice((0.5, 0.8, 1.2, 1.5, 2.0)), 3)
            made = made if "." in text else float(round(made))
        if made > 0 and made != number:
            return made
    return number + 1


def other_clock(value: Clock, rng: random.Random) -> Clock:
    """Return another time: the other half of the day, another hour, or other minutes."""
    shift = rng.choice((720, 720, 60, -60, 120, 30, -30, 15, 10, -10, 5))
    return Clock((value.minutes + shift) % 1440)


def other_day(value: Day, rng: random.Random) -> Day:
    """Return another date: another year, month or day, or day and month exchanged."""
    while True:
        way = rng.randrange(4)
        made = value
        if way == 0:
            made = replace(value, year=value.year + rng.choice((-10, -2, -1, 1, 2)))
        elif way == 1:
            made = replace(value, month=rng.randint(1, 12))
        elif way == 2:
            made = replace(value, day=min(28, max(1, value.day + rng.choice((-10, -1, 1, 2, 10)))))
        elif value.day <= 12:
            made = replace(value, month=value.day, day=value.month)
        if made != value and made.day <= MONTH_DAYS[MONTHS[made.month - 1]]:
            return made


def other_unit(value: Amount, rng: random.Random) -> Amount | None:
    """Return the same number in another unit, currency, scale or period."""
    made: list[Amount] = []
    if value.unit in CURRENCIES:
        made += [replace(value, unit=unit) for unit in CURRENCIES if unit != value.unit]
    elif value.unit in UNITS:
        family, _, word = UNITS[value.unit]
        if family in {"time", "years"}:
            near = _LAPSES.index(value.unit)
            others = [*_LAPSES[max(0, near - 2) : near], *_LAPSES[near + 1 : near + 3]]
        else:
            others = [unit for unit, (kind, _, name) in UNITS.items()
                      if kind == family and name != word]  # fmt: skip
        made += [replace(value, unit=unit) for unit in others]
    if value.scale:
        made += 2 * [replace(value, scale=scale) for scale in SCALES if scale != value.scale]
    if value.per:
        kinds = PERIODS[:4] if value.per in PERIODS[:4] else PERIODS
        made += [replace(value, per=per) for per in kinds if per != value.per]
    return rng.choice(made) if made else None


def rescaled(value: Amount, rng: random.Random) -> list[Amount]:
    """Return the same amount in other units or scales, where it stays readable."""
    found: list[Amount] = []
    if value.unit in UNITS and UNITS[value.unit][1] and not value.scale:
        family, size, _ = UNITS[value.unit]
        for unit, (kind, other, word) in UNITS.items():
            if kind == family and other and unit != value.unit and word != UNITS[value.unit][2]:
                number = round(value.number * size / other, 6)
                fits = number == round(number, 3) and 0.05 <= number <= 20_000
                if fits and unit != "ms" and not (unit == "hours" and number > 168):
                    found.append(replace(value, number=number, unit=unit))
    if value.scale:
        number = round(value.number * SCALES[value.scale])
        found.append(replace(value, number=float(number), scale=""))
        for scale, size in SCALES.items():
            other = round(number / size, 6)
            if scale != value.scale and 0.01 <= other < 1e5 and other == round(other, 3):
                found.append(replace(value, number=other, scale=scale))
    elif value.number >= 2000 and value.number % 100 == 0 and not value.per:
        for scale, size in (("thousand", 1e3), ("million", 1e6)):
            other = round(value.number / size, 6)
            if 0.5 <= other < 1000 and other == round(other, 3):
                found.append(replace(value, number=other, scale=scale))
    if value.per in ("month", "week", "year"):
        times = {"month": ("year", 12), "week": ("month", 0), "year": ("month", 1 / 12)}[value.per]
        number = round(value.number * times[1], 4)
        if number and number == round(number, 2):
            found.append(replace(value, number=number, per=times[0]))
    rng.shuffle(found)
    return found


def misscaled(value: Amount, rng: random.Random) -> Amount:
    """Return a rewritten amount that is off by a power of ten, or another one close by."""
    times = rng.choice((10, 10, 0.1, 0.1, 100, 0.01, 1000))
    number = round(value.number * times, 3)
    if rng.random() < 0.25:
        number = nearby(value.number, rng)
    return replace(value, number=number if number >= 0.01 else value.number * 10)
