"""Short windows of the sources of other groups, without labels: what a search for passages asks.

    python -m training.large.windows WORK --groups A,B [--count N] [--seed N]

A check also asks the verifier about short passages of a long source, to point at the one that
settles a claim. Each group here is a run of sentences around the one that shares most words with a
claim, with that claim and others of its source. Only the answers of a teacher can label them.
Writes WORK/windows_train.jsonl.xz.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.files import read
from training.large.data import write
from training.large.sources import content, split

LEAST = 120  # words of a source worth dividing
SIZES = (1, 40, 90, 200, 400)  # words of a window at most; a sentence may have more
OTHERS = 3  # further claims of the same source


def window(sentences: Sequence[str], claim: str, most: int) -> str:
    """Return a run of sentences of so many words, around the one closest to the claim."""
    wanted = content(claim)
    shared = [len(content(sentence) & wanted) for sentence in sentences]
    first = last = max(range(len(sentences)), key=shared.__getitem__)
    size = len(sentences[first].split())
    while True:
        sides = [at for at in (first - 1, last + 1) if 0 <= at < len(sentences)]
        if not sides:
            break
        at = max(sides, key=shared.__getitem__)
        size += len(sentences[at].split())
        if size > most:
            break
        first, last = min(first, at), max(last, at)
    return " ".join(sentences[first : last + 1])


def windows(
    groups: Sequence[dict[str, Any]], count: int, rng: random.Random
) -> Iterator[dict[str, Any]]:
    """Yield windows of groups that are drawn, with claims that have no label."""
    for group in rng.sample(groups, min(count, len(groups))):
        sentences = split(group["premise"])
        texts = [claim["text"] for claim in group["claims"]]
        if len(sentences) > 2 and texts:
            claim = rng.choice(texts)
            text = window(sentences, claim, rng.choice(SIZES))
            chosen = {claim, *rng.sample(texts, min(OTHERS, len(texts)))}
            yield {"premise": text, "source": "windows", "claims": sorted(chosen)}


def main() -> None:
    """Write the groups."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--groups", required=True, help="files in WORK, divided by commas")
    parser.add_argument("--count", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    groups = [
        group
        for name in options.groups.split(",")
        for group in read(options.work / name)
        if len(group["premise"].split()) >= LEAST
    ]
    made = list(windows(groups, options.count, random.Random(options.seed)))
    write(options.work / "windows_train.jsonl.xz", made)
    print(f"{len(groups):,} sources, {len(made):,} windows, "
          f"{sum(len(group['claims']) for group in made):,} claims")  # fmt: skip


if __name__ == "__main__":
    main()
