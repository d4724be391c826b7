"""Sources about what two parties did, why, and how surely, with pairs of sentences about them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from training.large.handmade import FIRST, LAST, firm, place
from training.plain.pairs import Pair
from training.plain.things import name_of, sentence

FILE = Path(__file__).with_name("events.txt")
TEAMS = ("Rovers", "Wanderers", "Town", "United", "Athletic", "Harriers", "Rangers", "City")
# What a source says of a plan -> the same in other words, and what goes too far.
HEDGES = (
    ("{A} is considering {ing}", ("{A} may {do}", "{A} is thinking about {ing}"),
     ("{A} has decided to {do}", "{A} will {do}", "{A} {did}")),
    ("{A} may {do}", ("it is possible that {A} will {do}", "perhaps {A} will {do}"),
     ("{A} will {do}", "it is certain that {A} will {do}", "{A} {did}")),
    ("{A} plans to {do}", ("{A} intends to {do}", "there is a plan at {A} for {ing}"),
     ("{A} {did}", "{A} has already {done}", "{A} is obliged to {do}")),
    ("{A} was advised to {do}", ("somebody advised {A} to {do}", "the advice to {A} was to {do}"),
     ("{A} was ordered to {do}", "{A} {did}", "{A} has to {do}")),
    ("{A} proposed {ing}", ("{A} made the proposal of {ing}", "{A} suggested {ing}"),
     ("{A} decided on {ing}", "{A} {did}", "{A} insisted on {ing}")),
    ("{A} hopes to {do} by the end of the year", ("{A} would like to {do} this year",),
     ("{A} will {do} by the end of the year", "{A} has promised to {do} this year")),
    ("{A} can {do} if the board agrees", ("with the consent of the board {A} can {do}",),
     ("{A} can {do} without asking the board", "{A} must {do} if the board agrees")),
    ("{A} is allowed to {do}", ("{A} may {do} if it wants to", "nothing forbids {A} to {do}"),
     ("{A} is obliged to {do}", "{A} must {do}", "{A} is forbidden to {do}")),
    ("there are signs that {A} will {do}", ("{A} will possibly {do}", "{A} seems ready to {do}"),
     ("it has been shown that {A} will {do}", "{A} has confirmed that it will {do}")),
    ("early figures suggest that {A} {did} too late", ("{A} may have been late in {ing}",),
     ("it is proven that {A} was too late in {ing}", "{A} admitted being late in {ing}")),
    ("{A} sometimes {does} at short notice", ("now and then {A} {does} at short notice",),
     ("{A} always {does} at short notice", "{A} never {does} at short notice")),
    ("{A} has asked for permission to {do}", ("{A} would like to be allowed to {do}",),
     ("{A} has been given permission to {do}", "{A} {did} without permission")),
)  # fmt: skip
AMOUNTS = (
    ("some of {g}", ("some of {g}", "at least a few of {g}"), ("all of {g}", "none of {g}")),
    ("most of {g}", ("more than half of {g}", "the majority of {g}"),
     ("all of {g}", "less than half of {g}", "only a few of {g}")),
    ("about a third of {g}", ("roughly one in three of {g}", "some of {g}"),
     ("about two thirds of {g}", "most of {g}", "all of {g}")),
    ("{n} of the {m} {p}", ("{n} out of {m} {p}", "not all of the {m} {p}"),
     ("all {m} {p}", "all of {g}")),
    ("not all of {g}", ("only a part of {g}", "not every one of {g}"),
     ("all of {g}", "each of {g}")),
    ("all {m} {p}", ("every one of the {m} {p}", "all of {g}"),
     ("only some of the {m} {p}", "not all of {g}", "{n} of the {m} {p}")),
    ("nearly all of {g}", ("almost all of {g}", "most of {g}"), ("all of {g} without exception",
     "few of {g}")),
    ("none of the {m} {p}", ("not one of {g}",), ("some of {g}", "one of {g}")),
)  # fmt: skip
CAUSES = (
    "{e} because {c}", "because {c}, {e}", "{e} because of {cn}", "{cn} led to {en}",
    "{cn} was the reason for {en}", "the reason for {en} was {cn}", "{en} was caused by {cn}",
)  # fmt: skip
AFTER = ("{e} although {c}", "{en} led to {cn}", "{en} was the reason for {cn}",
         "{e} although {c}")  # fmt: skip


@dataclass
class Story:
    """Sentences of a source, and the pairs about them."""

    held_out: bool = False  # only with the rows that training does not see
    lines: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)


def _items(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(" ; ") if part.strip())


@lru_cache(maxsize=1)
def sections() -> dict[str, list[list[str]]]:
    """Return the lines of each section, cut into cells."""
    found: dict[str, list[list[str]]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]\n")] = lines = []
        elif line and not line.startswith("#"):
            lines.append([cell.strip() for cell in line.split(" | ")])
    return found


def rows(made: Story, name: str) -> list[list[str]]:
    """Return the rows of a section for training, or the sixth of them that is held out."""
    return [row for row in sections()[name]
            if (zlib.crc32(row[-1].encode()) % 6 == 0) is made.held_out]  # fmt: skip


def _party(who: str, rng: random.Random) -> str:
    if who == "team":
        return f"{place(rng)} {rng.choice(TEAMS)}"
    return firm(rng) if who == "firm" else name_of("person", (), rng)


def _two(who: str, rng: random.Random) -> tuple[str, str]:
    first, second = _party(who, rng), _party(who, rng)
    if who == "person" and rng.random() < 0.4:
        first, second = rng.sample(FIRST, 2)
    return (first, second) if not set(first.split()) & set(second.split()) else _two(who, rng)


def _short(name: str, rng: random.Random) -> str:
    """Return how a later sentence names a party: in full, or by the last name."""
    words = name.split()
    if words[0] in {"Ms", "Mr", "Dr"} or len(words) != 2 or rng.random() < 0.6:
        return name
    return words[1] if words[1] in LAST else name


def exchange(story: Story, rng: random.Random) -> None:
    """Add what one party did to another; the wrong sentence has the two exchanged."""
    who, objects, wordings = rng.choice(rows(story, "exchange"))
    thing = rng.choice(_items(objects))
    one, two = _two(who, rng)
    said = _items(wordings)

    def filled(text: str, first: str, second: str) -> str:
        bare = thing.split(" ", 1)[-1]
        return text.format(A=first, B=second, o=thing, bare=bare)

    story.lines.append(sentence(filled(rng.choice(said), one, two)))
    short = (_short(one, rng), _short(two, rng))
    for text in rng.sample(said, min(len(said), 3)):
        right, wrong = filled(text, *short), filled(text, *short[::-1])
        story.pairs.append(Pair("actors", sentence(right), sentence(wrong)))
    text = rng.choice(said)
    stranger = _party(who, rng)
    if stranger.split()[-1] not in one + two:
        first, second = ((stranger, short[1]), (short[0], stranger))[rng.randrange(2)]
        story.pairs.append(Pair("name", sentence(filled(text, *short)),
                                sentence(filled(text, first, second))))  # fmt: skip
    detail = rng.choice(_items(sections()["detail"][0][0]))
    right = filled(text, *short)
    story.pairs.append(Pair("invented", sentence(right), sentence(f"{right} {detail}")))


def cause(story: Story, rng: random.Random) -> None:
    """Add two happenings with their causes; the wrong sentence has another one, or the reverse."""
    chosen = rng.sample(rows(story, "cause"), 2)

    def filled(text: str, effect: list[str], reason: list[str]) -> str:
        return text.format(e=effect[0], en=effect[1], c=reason[2], cn=reason[3])

    for row in chosen:
        story.lines.append(sentence(filled(rng.choice(CAUSES), row, row)))
    for row, other in (chosen, chosen[::-1]):
        for text in rng.sample(CAUSES, 2):
            right = sentence(filled(text, row, row))
            wrong = sentence(filled(text, row, other))
            if rng.random() < 0.3:
                wrong = sentence(filled(rng.choice(AFTER), row, row))
            story.pairs.append(Pair("cause", right, wrong))


def hedge(story: Story, rng: random.Random) -> None:
    """Add a plan or a guess; the wrong sentence says it as a fact, or as a duty."""
    do, did, does, doing = rng.choice(rows(story, "hedge"))
    said, equal, strong = rng.choice(HEDGES)
    party = _party(rng.choice(("firm", "firm", "person")), rng)

    def filled(text: str) -> str:
        done = did
        return sentence(text.format(A=party, do=do, did=did, does=does, ing=doing, done=done))

    story.lines.append(filled(said))
    for text in (rng.choice((said, *equal)), rng.choice(equal)):
        story.pairs.append(Pair("too_strong", filled(text), filled(rng.choice(strong))))


def some(story: Story, rng: random.Random) -> None:
    """Add a statement about a part of a group; the wrong one is about all, or another part."""
    group, statements = rng.choice(rows(story, "some"))
    the, _, _ = group.partition(",")
    total = rng.randint(4, 60)
    said, equal, wrong = rng.choice(AMOUNTS)
    parts = {"g": the, "p": the.removeprefix("the "), "m": total, "n": rng.randint(2, total - 1)}
    told = _items(statements)
    words = rng.randrange(len(told))
    story.lines.append(sentence(f"{said.format(**parts)} {told[words]}"))
    for _ in range(2):
        rest = rng.choice(told)
        right, other = (rng.choice(options).format(**parts) for options in (equal, wrong))
        story.pairs.append(Pair("all", sentence(f"{right} {rest}"), sentence(f"{other} {rest}")))


def fact(story: Story, rng: random.Random) -> None:
    """Add a plain fact; the wrong sentence denies it."""
    who, yes, no = rng.choice(rows(story, "fact"))
    party = _party(who, rng)
    sides = (_items(yes), _items(no))
    side = rng.randrange(2)
    story.lines.append(sentence(rng.choice(sides[side]).format(A=party)))
    short = _short(party, rng)
    for _ in range(2):
        at = rng.randrange(min(map(len, sides)))
        right, wrong = sides[side][at].format(A=short), sides[1 - side][at].format(A=short)
        story.pairs.append(Pair("negation", sentence(right), sentence(wrong)))


MAKERS: tuple[Callable[[Story, random.Random], None], ...] = (
    exchange, exchange, exchange, cause, cause, hedge, hedge, some, fact,
)  # fmt: skip
TITLES = ("Report", "News from the district", "Summary of the week", "Memo", "Notes", "Chronicle")


def story(rng: random.Random, *, held_out: bool = False) -> tuple[list[str], list[Pair]]:
    """Return the documents of a story, mostly one, and its pairs."""
    made = Story(held_out)
    for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5))):
        rng.choice(MAKERS)(made, rng)
    lines = rng.sample(made.lines, len(made.lines))
    fillers = _items(sections()["filler"][0][0])
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        lines.insert(rng.randint(0, len(lines)), rng.choice(fillers))
    if len(lines) > 3 and rng.random() < 0.2:
        middle = len(lines) // 2
        return [_written(lines[:middle], rng), _written(lines[middle:], rng)], made.pairs
    return [_written(lines, rng)], made.pairs


def _written(lines: list[str], rng: random.Random) -> str:
    way = rng.random()
    title = rng.choice(TITLES)
    if way < 0.5:
        return rng.choice((" ", " ", "\n")).join(lines)
    if way < 0.65:
        people = rng.sample(FIRST, 2)
        return "\n".join(f"{people[at % 2]}: {line}" for at, line in enumerate(lines))
    if way < 0.75:
        return f"{title}\n\n" + "\n".join(f"- {line}" for line in lines)
    if way < 0.85:
        people = [f"{rng.choice(('Ms', 'Mr', 'Dr'))} {name}" for name in rng.sample(LAST, 2)]
        said = (f"{rng.choice(people)}: {line}" if rng.random() < 0.5 else line for line in lines)
        return "Minutes\n\n" + "\n".join(said)
    if way < 0.93:
        stamps = sorted(rng.sample(range(480, 1200), len(lines)))
        return "\n".join(f"{at // 60:02}:{at % 60:02} {line}"
                         for at, line in zip(stamps, lines, strict=True))  # fmt: skip
    return f"# {title}\n\n" + "\n\n".join(lines)
