"""Build the corpus of plain facts: sources with pairs of a right and a wrong sentence.

    python -m training.plain.corpus DATA WORK [--made 40000] [--passages 12000] [--seed N]

Writes WORK/plain_train.jsonl.xz and WORK/plain_dev.jsonl.xz: one source a line, its `documents`
and its `pairs`. Made sources and real passages of `grounding/` whose licence allows training. The
development set has kinds of things, events and passages that training does not see.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from training.large import sources
from training.large.data import cut_long, without_leaks, write
from training.leaks import HeldOut
from training.plain import events, layouts, pairs, passages, things
from training.plain.pairs import Pair

DEV_KINDS = frozenset({"museum", "parcel", "arm", "machine", "concert"})
STORIES = 0.35  # share of the made sources that tell what happened
PER_SOURCE = 20  # pairs
LONGEST = 700  # words of a source
Line = dict[str, Any]


def line(documents: list[str], found: Iterable[Pair], source: str) -> Line:
    """Return a source as a line of the file."""
    return {"documents": documents, "source": source, "pairs": [asdict(pair) for pair in found]}


def made(count: int, rng: random.Random, *, held_out: bool) -> Iterator[Line]:
    """Yield made sources."""
    kinds = [kind for name, kind in things.kinds().items() if (name in DEV_KINDS) is held_out]
    for _ in range(count):
        if rng.random() < STORIES:
            documents, found = events.story(rng, held_out=held_out)
        else:
            world = things.world(rng.choice(kinds), rng)
            documents, found = layouts.written(world, rng), pairs.pairs_of(world, rng, 60)
        found = [pair for pair in found if pair.right != pair.wrong]
        if found and sum(len(text.split()) for text in documents) <= LONGEST:
            yield line(documents, found, "plain_made")


def real(shared: Path, count: int, rng: random.Random) -> Iterator[tuple[bool, Line]]:
    """Yield passages with pairs, and whether each is held out."""
    held = HeldOut.load(shared)
    found = [passage for group in sources.grounding(shared, unstated=False, rng=rng)
             for passage in group if len(passage.text.split()) >= 20]  # fmt: skip
    found = without_leaks(rng.sample(found, min(count, len(found))), held, Counter())
    for passage in found:
        cut = cut_long(passage, rng)
        if cut is None or len(cut.text.split()) > LONGEST:
            continue
        usable = passages.pairs_of(cut, rng)
        if usable:
            yield passages.is_held_out(passage), line([cut.text], usable, cut.source)


def balanced(lines: Iterable[Line], most: int, rng: random.Random) -> list[Line]:
    """Return the sources with at most so many pairs of a kind in all; rare kinds come first."""
    counts: Counter[str] = Counter()
    kept = []
    for one in lines:
        rng.shuffle(one["pairs"])
        chosen: list[dict[str, Any]] = []
        for pair in sorted(one["pairs"], key=lambda pair: counts[pair["kind"]]):
            if counts[pair["kind"]] < most and len(chosen) < PER_SOURCE:
                counts[pair["kind"]] += 1
                chosen.append(pair)
        if chosen:
            kept.append({**one, "pairs": chosen})
    return kept


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--made", type=int, default=40_000, help="made sources")
    parser.add_argument("--passages", type=int, default=12_000)
    parser.add_argument("--most", type=int, default=20_000, help="made pairs of a kind")
    parser.add_argument("--dev", type=int, default=60, help="made sources held out")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    train = balanced(made(options.made, rng, held_out=False), options.most, rng)
    dev = balanced(made(options.dev, rng, held_out=True), 200, rng)
    for held_out, one in real(options.data, options.passages, rng) if options.passages else ():
        (dev if held_out else train).append(one)
    for name, lines in (("train", train), ("dev", dev)):
        rng.shuffle(lines)
        write(options.work / f"plain_{name}.jsonl.xz", lines)
        counts = Counter((one["source"] == "plain_made", pair["kind"])
                         for one in lines for pair in one["pairs"])  # fmt: skip
        print(name, f"{len(lines):,} sources, {sum(counts.values()):,} pairs")
        for kind in sorted({kind for _, kind in counts}):
            print(f"  {kind:12} made {counts[True, kind]:7,}  real {counts[False, kind]:7,}")


if __name__ == "__main__":
    main()
