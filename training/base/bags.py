"""Claims with windows of their source, so that the student learns from the best window.

    python -m training.base.bags choose WORK       # WORK/bag_groups.jsonl.xz, from the groups
    python -m training.base.bags encode WORK       # WORK/bags.npz, tokenised

One pair of window and claim does not decide the verdict: the detector takes the greatest support
over all windows, so one wrong window passes a false claim. A bag is a claim with the windows that
share most words with it at every scale. Its label, and the answer of the large verifier
(`training.large.label --groups bag_groups.jsonl.xz`), are those of the whole source. Claims
assembled from pieces of the source (`splices`) have only the answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from training.base.batches import Encoded
from training.base.encoder import TOKENIZER
from training.base.splices import splices
from training.base.taught import CODES, LIMIT, groups, in_parts
from training.large.data import write
from training.large.product import split
from training.large.sources import content

# Windows per claim at each scale (1: the whole source in pages, 16: a sixteenth of it).
MOST = {1: 1, 2: 1, 4: 2, 8: 2, 16: 2}
SHORT, MIDDLING = 50, 250  # words of a source
CLAIMS = {"short": 2, "middling": 2, "long": 3, "handmade": 4}  # per source, at most
SPLICED = {"short": 0, "middling": 0.5, "long": 2, "handmade": 0}  # mean number of assembled claims
CHUNK = 500  # groups encoded at once
ROOM = 448  # tokens of a window

Group = dict[str, Any]


@dataclass
class Bags:
    """Pairs of windows and claims in the order of their claims.

    Attributes:
        ids, offsets: the tokens of all pairs in one array.
        first: the first pair of each claim, and the number of pairs.
        scales: per pair, bit k is set if the window has scale 2**k.
        whole: per pair, True if the window is the whole source.
        labels: the label of each claim, by `taught.CODES`.
        digest: sha256 of the claims, one per line.
    """

    ids: np.ndarray
    offsets: np.ndarray
    first: np.ndarray
    scales: np.ndarray
    whole: np.ndarray
    labels: np.ndarray
    digest: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Bags:
        """Read a file of `encode`."""
        with np.load(path) as found:
            return cls(**{name: found[name] for name in cls.__dataclass_fields__})

    @cached_property
    def pairs(self) -> Encoded:
        """All pairs, for making batches."""
        return Encoded(self.ids, self.offsets, self.labels, np.zeros(0, np.float32))


def choose(options: argparse.Namespace) -> None:
    """Write the training groups: more claims for longer sources, all with their labels."""
    rng = random.Random(options.seed)
    counts: Counter[str] = Counter()

    def chosen() -> Iterator[Group]:
        for name in ("train_groups", "handmade_train"):
            for group in groups(options.work / f"{name}.jsonl.xz"):
                words = len(group["premise"].split())
                size = "short" if words < SHORT else "middling" if words < MIDDLING else "long"
                kind = "handmade" if name == "handmade_train" else size
                if rng.random() > getattr(options, kind):
                    continue
                claims = rng.sample(group["claims"], min(CLAIMS[kind], len(group["claims"])))
                count = int(SPLICED[kind] + rng.random())
                for text in splices(split(group["premise"]), count, rng) if count else ():
                    claims.append({"text": text, "label": None, "kind": "spliced"})
                    counts["spliced"] += 1
                counts[kind] += 1
                counts[f"{kind} claims"] += len(claims)
                counts[f"{kind} words"] += words
                yield {**group, "claims": claims}

    found = list(chosen())
    rng.shuffle(found)
    # Long sources first: the large verifier answers their claims.
    found.sort(key=lambda group: len(group["premise"].split()) < SHORT)
    write(options.work / "bag_groups.jsonl.xz", found)
    print(dict(counts))


def windows(text: str, count: Any) -> list[tuple[int, int, int]]:
    """Return start, end and scales (as bits) of the windows of a source, with pages for long ones.

    Args:
        text: a source.
        count: the function that counts the tokens of a string.
    """
    from halldetect.paper.windows import source_windows
    from halldetect.reading.references import begins_with_pronoun
    from halldetect.reading.sentences import read_document
    from halldetect.verification.windows import MAX_LEAD_IN

    document = read_document(text)
    sizes = {span.start: count(span.cut(document.text)) for span in document.sentences}
    found: dict[tuple[int, int], int] = {}
    for window in source_windows([document]):
        bits = sum(1 << scale.bit_length() - 1 for scale in window.scales)
        spans = document.sentences_in(window.span)
        # A window that begins with a pronoun includes the sentences before it.
        first = document.sentences.index(spans[0])
        for before in reversed(document.sentences[max(first - MAX_LEAD_IN, 0) : first]):
            if not begins_with_pronoun(spans[0].cut(document.text)):
                break
            spans = (before, *spans)
        parts: list[list[int]] = []
        size = ROOM + 1
        for span in spans:
            if size + sizes[span.start] > ROOM:
                parts.append([span.start, span.end])
                size = 0
            parts[-1][1] = span.end
            size += sizes[span.start]
        for start, end in parts:
            found[start, end] = found.get((start, end), 0) | bits
    return [(start, end, bits) for (start, end), bits in found.items()]


def picked(claim: set[str], found: list[tuple[set[str], int]]) -> list[int]:
    """Return the windows for a claim: at each scale those that share most words with it.

    Args:
        claim: its words.
        found: words and scales of every window.
    """
    shares = [len(claim & words) for words, _ in found]
    chosen: dict[int, None] = {}
    for scale, most in MOST.items():
        bit = 1 << scale.bit_length() - 1
        own = [at for at, (_, bits) in enumerate(found) if bits & bit]
        own.sort(key=lambda at: -shares[at])
        chosen.update(dict.fromkeys(own[:most]))
    return list(chosen)


def encode_groups(folder: Path, part: list[Group]) -> dict[str, np.ndarray]:
    """Return the bags of some groups, with lengths instead of offsets."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    begin, *between, end = tokenizer.encode("", "").ids

    def plain(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    pieces: list[np.ndarray] = []
    scales, whole, labels, sizes = [], [], [], []
    for group in part:
        text = group["premise"]
        places = windows(text, lambda piece: len(plain(piece)))
        texts = [text[start:stop] for start, stop, _ in places]
        words = [(content(piece), bits) for piece, (_, _, bits) in zip(texts, places, strict=True)]
        tokens: dict[int, list[int]] = {}
        for claim in group["claims"]:
            tail = [*between, *plain(claim["text"])[:200], end]
            chosen = picked(content(claim["text"]), words)
            for at in chosen:
                ids = tokens.get(at) or tokens.setdefault(at, plain(texts[at]))
                pieces.append(np.asarray([begin, *ids[: LIMIT - 1 - len(tail)], *tail], np.uint16))
                scales.append(words[at][1])
                whole.append(len(texts[at]) >= 0.98 * len(text.strip()))
            labels.append(CODES[claim["label"]])
            sizes.append(len(chosen))
    return {
        "ids": np.concatenate(pieces),
        "lengths": np.fromiter(map(len, pieces), np.int64, len(pieces)),
        "sizes": np.asarray(sizes, np.int64),
        "scales": np.asarray(scales, np.uint8),
        "whole": np.asarray(whole, bool),
        "labels": np.asarray(labels, np.int64),
    }


def encode(options: argparse.Namespace) -> None:
    """Write WORK/bags.npz."""
    folder = options.work / TOKENIZER
    claims = hashlib.sha256()
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = []
        for part in in_parts(groups(options.work / "bag_groups.jsonl.xz"), CHUNK):
            jobs.append(pool.submit(encode_groups, folder, part))
            for group in part:
                claims.update("".join(f"{claim['text']}\n" for claim in group["claims"]).encode())
        found = [job.result() for job in jobs]
    if not found:
        raise SystemExit("bag_groups.jsonl.xz holds no groups")
    joined = {name: np.concatenate([item[name] for item in found]) for name in found[0]}
    partial = options.work / "bags.partial.npz"
    np.savez(
        partial,
        ids=joined["ids"],
        offsets=np.concatenate([[0], np.cumsum(joined["lengths"])]),
        first=np.concatenate([[0], np.cumsum(joined["sizes"])]),
        scales=joined["scales"],
        whole=joined["whole"],
        labels=joined["labels"],
        digest=claims.hexdigest(),
    )
    partial.rename(options.work / "bags.npz")
    about = {
        "claims": len(joined["labels"]),
        "pairs": len(joined["lengths"]),
        "tokens": len(joined["ids"]),
        "digest": claims.hexdigest(),
    }
    print(json.dumps(about), flush=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("choose", "encode"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", type=float, default=1.0, help="share of the short sources")
    parser.add_argument("--middling", type=float, default=1.0)
    parser.add_argument("--long", type=float, default=1.0)
    parser.add_argument("--handmade", type=float, default=1.0, help="share of those by hand")
    parser.add_argument("--processes", type=int, default=12)
    options = parser.parse_args()
    {"choose": choose, "encode": encode}[options.command](options)


if __name__ == "__main__":
    main()
