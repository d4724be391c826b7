"""Handwritten passages, for skills that the datasets hardly teach.

    python -m training.large.handmade DATA WORK     # WORK/handmade_train.jsonl.xz, handmade_dev

`training/data/*.jsonl` holds one item per line: a source, claims with their labels, and other
fillings of its slots with the same labels. `{p1}` is a person's name, `{f1}` and `{l1}` its parts,
`{o1}` a company, `{t1}` a town; other slots are filled from the item's `with`. The items of
`conclusions` are sentences of long answers that conclude from the source, in English and, in
`conclusions_other`, in other languages; both are sources of their own for `train --share`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.large.data import command, rows, without_leaks, write_groups
from training.large.sources import Claim, Passage, readable
from training.large.voice import dressed
from training.leaks import HeldOut
from training.words import words

ITEMS = Path(__file__).parents[1] / "data"
SOURCE, OTHER = "handmade", "conclusions_other"
COPIES = 14  # per item, each with other names and the next filling; half of that of conclusions
TOGETHER = 0.35  # share of the passages with two or three items in one text
MOST_CLAIMS = 20  # of a passage
DEV = 12  # one of this number of items is held out

Item = dict[str, Any]
FIRST, LAST = words("names_first"), words("names_last")
_STARTS, _MIDDLES, _ENDS = (words(f"names_{part}") for part in ("starts", "middles", "ends"))
_FORMS = ("Ltd", "Inc.", "GmbH", "LLC", "S.A.", "Group", "plc", "& Sons", "Co.", "")


def items(folder: Path = ITEMS) -> list[Item]:
    """Return all items, in the order of their files; `set` is their source."""
    return [
        {"set": SOURCE if path.parent == folder else path.parent.name, **json.loads(line)}
        for path in sorted(folder.rglob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def is_dev(item: Item) -> bool:
    """Return True if an item is held out, by its text."""
    return hashlib.sha256(item["source"].encode()).digest()[0] % DEV == 0


def place(rng: random.Random) -> str:
    """Return an invented place name."""
    middle = rng.choice(_MIDDLES) if rng.random() < 0.5 else ""
    return rng.choice(_STARTS) + middle + rng.choice(_ENDS)


def firm(rng: random.Random) -> str:
    """Return an invented company name."""
    name = rng.choice([place(rng), rng.choice(LAST), f"{rng.choice(_STARTS)}{rng.choice('aeio')}x"])
    return f"{name} {rng.choice(words('names_firms'))} {rng.choice(_FORMS)}".strip()


def shown(source: str) -> str:
    """Return a source as a check shows it: each document, if it has several, under its name."""
    first, *parts = re.split("^Document: ", source, flags=re.MULTILINE)
    texts = [readable(first)]
    for part in parts:
        name, _, text = part.partition("\n")
        texts.append(f"{name}\n{readable(text)}")
    return "\n\n".join(filter(None, texts)).strip()


def filled(item: Item, number: int, rng: random.Random) -> Passage:
    """Return one copy of an item, with one of its fillings by number (they repeat)."""
    slots = {f"o{n}": firm(rng) for n in (1, 2)}
    for n, (first, last) in enumerate(
        zip(rng.sample(FIRST, 3), rng.sample(LAST, 3), strict=True), 1
    ):
        slots |= {f"p{n}": f"{first} {last}", f"f{n}": first, f"l{n}": last}
    towns: set[str] = set()
    while len(towns) < 3:
        towns.add(place(rng))
    slots |= {f"t{n}": name for n, name in enumerate(sorted(towns), 1)}
    fillings = item.get("with") or [{}]

    def put(text: str) -> str:
        text = re.sub(r"\{([a-z]+\d?)\}", lambda match: slots.get(match[1], match[0]), text)
        return re.sub(r"\.\.(?!\.)", ".", text)  # a company's name may end with a dot

    slots |= {name: put(value) for name, value in fillings[number % len(fillings)].items()}
    claims = [Claim(put(text), label, f"hand_{item['kind']}") for text, label in item["claims"]]
    return Passage(shown(put(item["source"])), item["set"], claims)


def passages(chosen: Sequence[Item], copies: int, rng: random.Random) -> list[Passage]:
    """Return copies of items, some with one or two other items in the same text."""
    made = []
    for item in chosen:
        first = rng.randrange(100)
        for number in range(copies if item["set"] == SOURCE else copies // 2):
            made.append(filled(item, first + number, rng))
    rng.shuffle(made)
    found = []
    while made:
        count = rng.choice((2, 2, 3)) if rng.random() < TOGETHER else 1
        group = [made.pop()]
        while made and len(group) < count and OTHER not in (group[0].source, made[-1].source):
            group.append(made.pop())
        claims = [claim for passage in group for claim in passage.claims]
        joiner = rng.choice(("\n\n", "\n\n", "\n"))
        claims = rng.sample(claims, min(len(claims), MOST_CLAIMS))
        text = joiner.join(passage.text for passage in group)
        found.append(Passage(text, group[0].source, claims))
    return found


def main() -> None:
    """Write the groups."""
    parser = command(__doc__)
    parser.add_argument("--copies", type=int, default=COPIES)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    every = items()
    held_out = HeldOut.load(options.data)
    for name, dev in (("dev", True), ("train", False)):
        chosen = [item for item in every if is_dev(item) is dev]
        made = passages(chosen, 2 if dev else options.copies, rng)
        for passage in made:
            share = 0.0 if passage.source == OTHER else 0.06  # the openers are English
            passage.claims = [dressed(claim, passage.text, share, rng) for claim in passage.claims]
        dropped = Counter[str]()
        lines = rows(without_leaks(made, held_out, dropped), rng)
        write_groups(options.work / f"{SOURCE}_{name}.jsonl.xz", lines, dropped, rng)


if __name__ == "__main__":
    main()
