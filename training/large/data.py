"""Build the training groups of the large verifier and print what went in.

    python -m training.large.data DATA WORK [--without-unstated] [--seed N]

Writes train_groups.jsonl.xz and dev_groups.jsonl.xz (one premise with its claims per line) and
data.md (the table of sets with their licences). The same seed gives the same files.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from training.large import compose, sources
from training.large.sources import Claim, Passage
from training.large.voice import dressed
from training.leaks import HeldOut

MAX_WORDS = 1100
PER_GROUP = 16
DEV_SHARE = 0.012
DEV_CLAIMS = 3000


def is_dev(passage: Passage) -> bool:
    """Return True if a passage is held out; passages of one title stay together."""
    key = f"{passage.source}|{passage.title or passage.text}"
    return zlib.crc32(key.encode()) / 2**32 < DEV_SHARE


def command(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the folders and the seed that every command of groups takes."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="the folder with the datasets")
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def without_leaks(
    passages: Iterable[Passage], held_out: HeldOut, dropped: Counter[str]
) -> list[Passage]:
    """Return what shares nothing with an evaluation set; `dropped` counts the rest by set."""
    kept = []
    for passage in passages:
        if held_out.holds(passage.text):
            dropped[passage.source] += max(1, len(passage.claims))
            continue
        claims = [
            claim
            for claim in passage.claims
            if not held_out.holds(claim.text) and not held_out.holds_pair(passage.text, claim.text)
        ]
        dropped[passage.source] += len(passage.claims) - len(claims)
        if claims or not passage.claims:
            passage.claims = claims
            kept.append(passage)
    return kept


def cut_long(passage: Passage, rng: random.Random) -> Passage | None:
    """Return a passage of at most `MAX_WORDS` words with the evidence of its claims, or None."""
    size = len(passage.text.split())
    if size <= MAX_WORDS:
        return passage
    sentences = sources.split(passage.text)
    weights = [len(sentence.split()) for sentence in sentences]
    # Try runs of sentences and keep the one with most words of the claims.
    best: tuple[float, int, int] | None = None
    starts = sorted({0, *(rng.randrange(len(sentences)) for _ in range(6))})
    for start in starts:
        total, stop = 0, start
        while stop < len(sentences) and total + weights[stop] <= MAX_WORDS:
            total += weights[stop]
            stop += 1
        text = " ".join(sentences[start:stop])
        found = sources.content(text)
        score = sum(
            len(sources.content(claim.text) & found) / max(1, len(sources.content(claim.text)))
            for claim in passage.claims
        )
        if best is None or score > best[0]:
            best = (score, start, stop)
    if best is None or best[2] == best[1]:
        return None
    _, start, stop = best
    text = " ".join(sentences[start:stop])
    found = sources.content(text)
    claims = [
        claim
        for claim in passage.claims
        if claim.label != "E"
        or len(sources.content(claim.text) & found) >= 0.8 * len(sources.content(claim.text))
    ]
    return Passage(text, passage.source, claims, passage.title) if claims else None


def rows(
    passages: Iterable[Passage], rng: random.Random, most: int = PER_GROUP
) -> list[dict[str, object]]:
    """Return passages as lines of the file, with at most `most` distinct claims each."""
    made: list[dict[str, object]] = []
    for passage in passages:
        seen: dict[str, Claim] = {}
        clash: set[str] = set()
        for claim in passage.claims:
            known = seen.setdefault(claim.text, claim)
            if known.label != claim.label:
                clash.add(claim.text)
        claims = [claim for text, claim in seen.items() if text not in clash]
        rng.shuffle(claims)
        for start in range(0, len(claims), most):
            made.append(
                {
                    "premise": passage.text,
                    "source": passage.source,
                    "claims": [_claim(claim) for claim in claims[start : start + most]],
                }
            )
    return made


def _claim(claim: Claim) -> dict[str, object]:
    row: dict[str, object] = {"text": claim.text, "label": claim.label, "kind": claim.kind}
    if claim.weight != 1.0:
        row["weight"] = round(claim.weight, 3)
    return row


def write(path: Path, lines: Iterable[dict[str, object]]) -> None:
    """Write JSON lines, compressed."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 1 << 26}]
    with lzma.open(path, "wt", encoding="utf-8", filters=filters) as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_groups(path: Path, groups: list[Any], dropped: Counter[str], rng: random.Random) -> None:
    """Shuffle and write groups; print how many claims they have by set and label."""
    rng.shuffle(groups)
    write(path, groups)
    counts = Counter((one["source"], claim["label"]) for one in groups for claim in one["claims"])
    print(path.name, len(groups), "groups", dict(counts), "dropped", dict(dropped), flush=True)


def collect(
    shared: Path, *, unstated: bool, held_out: HeldOut, rng: random.Random
) -> tuple[list[Passage], list[Passage], Counter[str]]:
    """Return short pairs and passages of every set, and the dropped claims.

    `unstated` adds the sets without a stated licence.
    """
    dropped: Counter[str] = Counter()
    short: list[Passage] = []
    for name in sources.PAIR_FILES:
        if unstated or name not in sources.UNSTATED_PAIRS:
            short += without_leaks(sources.pairs(shared, name, rng), held_out, dropped)
    long: list[Passage] = []
    for group in sources.grounding(shared, unstated=unstated, rng=rng):
        long += without_leaks(group, held_out, dropped)
    long += without_leaks(sources.summaries_judged(shared), held_out, dropped)
    for group in sources.decompositions(shared, rng):
        long += without_leaks(group, held_out, dropped)
    long += without_leaks(sources.abstracts(shared), held_out, dropped)
    return short, long, dropped


def build(short: Sequence[Passage], long: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return all groups made of the passages: original, edited, joined and padded."""
    short = [cut for passage in short if (cut := cut_long(passage, rng)) is not None]
    fitting = [cut for passage in long if (cut := cut_long(passage, rng)) is not None]
    found: list[Passage] = []
    steps: list[tuple[str, Callable[[], list[Passage]]]] = [
        ("short pairs", lambda: compose.short_groups(short, rng)),
        ("passages", lambda: compose.passage_groups(fitting, rng)),
        ("joined", lambda: compose.joined_passages(fitting, rng)),
        ("holes", lambda: compose.with_holes(fitting, rng)),
    ]
    for name, step in steps:
        start = time.monotonic()
        made = step()
        found += made
        count = sum(len(passage.claims) for passage in made)
        print(f"{name}: {len(made):,} groups, {count:,} claims, "
              f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
    return found


def table(lines: Sequence[dict[str, object]], unstated: frozenset[str]) -> str:
    """Return the sets with claims, labels, mean premise length and licence, in Markdown."""
    licences = {name.split(".")[0]: terms for name, (_, terms) in sources.PAIR_FILES.items()}
    licences |= sources.LICENCES
    labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    tokens = 0.0
    for line in lines:
        name = str(line["source"])
        sizes[name].append(len(str(line["premise"]).split()))
        tokens += 1.35 * sizes[name][-1]
        for claim in line["claims"]:  # type: ignore[attr-defined]
            labels[name][claim["label"]] += 1
            kinds[claim["kind"]][claim["label"]] += 1
            tokens += 1.35 * len(claim["text"].split())
    total = sum(sum(counter.values()) for counter in labels.values())
    text = [
        f"{len(lines):,} groups, {total:,} claims, about {tokens / 1e6:.1f} million tokens.",
        "",
        "| set | groups | claims | E / N / C / not E, % | mean premise words | licence |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(labels):
        count = sum(labels[name].values())
        mean = sum(sizes[name]) / len(sizes[name])
        terms = licences.get(name, "") + (" (unstated)" if name in unstated else "")
        text.append(f"| {name} | {len(sizes[name]):,} | {count:,} | {_shares(labels[name])} | "
                    f"{mean:.0f} | {terms} |")  # fmt: skip
    text += ["", "| kind | claims | E / N / C / not E, % |", "|---|---|---|"]
    for kind in sorted(kinds):
        text.append(f"| {kind} | {sum(kinds[kind].values()):,} | {_shares(kinds[kind])} |")
    return "\n".join(text) + "\n"


def _shares(counter: Counter[str]) -> str:
    count = sum(counter.values())
    return " / ".join(f"{100 * counter[label] / count:.0f}" for label in ("E", "N", "C", "notE"))


def unstated_names() -> frozenset[str]:
    """Return the names of the sets without a stated licence."""
    named = {name for name, terms in sources.LICENCES.items() if terms.startswith("none")}
    return frozenset(named | {name.split(".")[0] for name in sources.UNSTATED_PAIRS})


def main() -> None:
    """Build the files."""
    parser = command(__doc__)
    parser.add_argument("--without-unstated", action="store_true")
    parser.add_argument("--share", type=float, default=1.0, help="part of the passages to use")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rng = random.Random(options.seed)
    held_out = HeldOut.load(options.data)
    print(f"held out: {len(held_out):,} runs of ten words", flush=True)
    short, long, dropped = collect(
        options.data, unstated=not options.without_unstated, held_out=held_out, rng=rng
    )
    rng = random.Random(f"{options.seed} build")
    print(f"dropped for sharing text with an evaluation set: {dict(+dropped)}", flush=True)
    short, long = ([passage for passage in part if rng.random() < options.share]
                   for part in (short, long))  # fmt: skip
    parts: dict[str, list[dict[str, object]]] = {}
    for part, keep in (("dev", True), ("train", False)):
        chosen = build(
            [passage for passage in short if is_dev(passage) is keep],
            [passage for passage in long if is_dev(passage) is keep],
            rng,
        )
        made_up = sources.forms()
        chosen += made_up[:100] if keep else made_up[100:]
        for passage in chosen:
            passage.claims = [dressed(claim, passage.text, 0.06, rng) for claim in passage.claims]
        made = rows(without_leaks(chosen, held_out, Counter()), rng)
        rng.shuffle(made)
        parts[part] = made
    dev, count = [], 0
    for line in parts["dev"]:
        if count < DEV_CLAIMS:
            dev.append(line)
            count += len(line["claims"])  # type: ignore[arg-type]
    kept = {_plain(line["premise"]) for line in dev}
    train = [line for line in parts["train"] if _plain(line["premise"]) not in kept]
    write(options.work / "train_groups.jsonl.xz", train)
    write(options.work / "dev_groups.jsonl.xz", dev)
    text = "# Training groups\n\n" + table(train, unstated_names())
    text += "\n# Held-out groups\n\n" + table(dev, unstated_names())
    text += "\n# Claims dropped because they or their premise share ten words with an evaluation "
    text += "set\n\n| set | claims |\n|---|---|\n"
    text += "".join(f"| {name} | {n:,} |\n" for name, n in sorted((+dropped).items()))
    (options.work / "data.md").write_text(text)
    print(text)


def _plain(text: object) -> str:
    return re.sub(r"\W+", " ", str(text).lower())


if __name__ == "__main__":
    main()
