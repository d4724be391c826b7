"""Claims with windows of their source, so that the student learns from the best window.

    python -m training.base.bags choose WORK       # WORK/bag_groups.jsonl.xz, from the groups
    python -m training.base.bags encode WORK       # WORK/bags.npz, tokenised

One pair of window and claim does not decide the verdict: the detector takes the greatest support
over all windows, so one wrong window passes a false claim. A bag is a claim with the windows that
the detector judges for it. Its label, and the answer of the large verifier (`training.large.measure
run --groups bag_groups.jsonl.xz`), are those of the whole source. Claims assembled from pieces of
the source (`splices`) have only the answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from halldetect.protocols import Traits
from training.base.encoder import TOKENIZER
from training.base.splices import splices
from training.files import read
from training.large.data import write
from training.large.pack import parts_of
from training.large.sources import split

CODES = {"E": 0, "N": 1, "C": 2, "notE": 3, None: 4}
LIMIT = 512  # tokens of a pair
STEP = 16  # lengths are rounded up to this for the alignment of the fused kernels
SHORT, MIDDLING = 50, 250  # words of a source
# Claims per source at most, and the mean number of assembled claims.
CLAIMS = {"short": 2, "middling": 2, "long": 3, "handmade": 4, "answers": 10, "public": 30}
SPLICED = {"middling": 0.5, "long": 2}
CHUNK = 500  # groups encoded at once

Group = dict[str, Any]


@dataclass
class Bags:
    """Pairs of windows and claims in the order of their claims."""

    ids: np.ndarray  # the tokens of all pairs
    offsets: np.ndarray
    first: np.ndarray  # the first pair of each claim, and the number of pairs
    scales: np.ndarray  # per pair, 1 for a page, 2 for a short window (a set of bits)
    whole: np.ndarray  # per pair, True if the window is the whole source
    labels: np.ndarray  # of the claims, by `CODES`
    digest: np.ndarray  # sha256 of the claims, one per line

    @classmethod
    def load(cls, path: Path) -> Bags:
        """Read a file of `encode`."""
        with np.load(path) as found:
            return cls(**{name: found[name] for name in cls.__dataclass_fields__})

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each pair."""
        return np.diff(self.offsets)

    def padded(self, pairs: np.ndarray, pad: int) -> tuple[Tensor, Tensor]:
        """Return token ids and mask of some pairs, padded with `pad`."""
        lengths = self.lengths[pairs]
        columns = np.arange(STEP * int(-(-lengths.max() // STEP)))
        mask = columns < lengths[:, None]
        places = np.minimum(self.offsets[pairs][:, None] + columns, len(self.ids) - 1)
        ids = np.where(mask, self.ids[places], pad).astype(np.int64)
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))


def in_parts(source: Iterable[Group], size: int) -> Iterator[list[Group]]:
    """Yield groups in lists of `size`; the last may be shorter."""
    rest = iter(source)
    while part := list(islice(rest, size)):
        yield part


def choose(options: argparse.Namespace) -> None:
    """Write the training groups: more claims for longer sources, all with their labels."""
    rng = random.Random(options.seed)
    counts: Counter[str] = Counter()

    def chosen() -> Iterator[Group]:
        for name in ("train_groups", "handmade_train", "answers_train", "public_train"):
            if not (options.work / f"{name}.jsonl.xz").exists():
                continue
            for group in read(options.work / f"{name}.jsonl.xz"):
                words = len(group["premise"].split())
                size = "short" if words < SHORT else "middling" if words < MIDDLING else "long"
                kind = size if name == "train_groups" else name.split("_")[0]
                kind = "answers" if group["source"] == "conclusions" else kind
                foreign = group["source"] == "conclusions_other"
                if foreign or rng.random() > getattr(options, kind):
                    continue
                claims = rng.sample(group["claims"], min(CLAIMS[kind], len(group["claims"])))
                count = int(SPLICED.get(kind, 0) + rng.random())
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


class _Windows(Traits):
    """A verifier that only counts tokens: it makes the detector name the windows of a claim."""

    max_tokens = LIMIT - 4
    pairs_at_once = 1 << 20

    def __init__(self, plain: Callable[[str], list[int]]) -> None:
        self._plain = plain

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self._plain(text)) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        return [None] * len(pairs)


def encode_groups(folder: Path, part: list[Group]) -> dict[str, np.ndarray]:
    """Return the bags of some groups, with lengths instead of offsets.

    The windows are those of the detector: the best sentence, the best three, the best pages.
    """
    from tokenizers import Tokenizer

    from halldetect.reading.sources import read_source
    from halldetect.verification.judging import verify
    from halldetect.verification.windows import Task

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    begin, *between, end = tokenizer.encode("", "").ids

    @lru_cache(maxsize=4096)
    def plain(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    verifier: Any = _Windows(plain)
    pieces: list[np.ndarray] = []
    pages, whole, labels, sizes = [], [], [], []
    for group in part:
        document = read_source(group["premise"])
        claims = [parts_of(claim) for claim in group["claims"]]
        (judged,) = verify(verifier, [Task(tuple(text for text, *_ in claims), (document,))])
        for (text, label, _), found in zip(claims, judged, strict=True):
            tail = [*between, *plain(text)[:200], end]
            for window in found.windows:
                ids = plain(window.text)[: LIMIT - 1 - len(tail)]
                pieces.append(np.asarray([begin, *ids, *tail], np.uint16))
                pages.append(1 if window.page else 2)
                whole.append(len(window.span) >= 0.98 * len(document.text.strip()))
            labels.append(CODES[label or None])
            sizes.append(len(found.windows))
    return {
        "ids": np.concatenate(pieces),
        "lengths": np.fromiter(map(len, pieces), np.int64, len(pieces)),
        "sizes": np.asarray(sizes, np.int64),
        "scales": np.asarray(pages, np.uint8),
        "whole": np.asarray(whole, bool),
        "labels": np.asarray(labels, np.int64),
    }


def encode(options: argparse.Namespace) -> None:
    """Write WORK/OUT.npz, by default bags.npz."""
    folder = options.work / TOKENIZER
    claims = hashlib.sha256()
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = []
        for part in in_parts(read(options.work / options.groups), CHUNK):
            jobs.append(pool.submit(encode_groups, folder, part))
            for group in part:
                for claim in group["claims"]:
                    claims.update(f"{parts_of(claim)[0]}\n".encode())
        found = [job.result() for job in jobs]
    if not found:
        raise SystemExit(f"{options.groups} holds no groups")
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
    partial.rename(options.work / options.out)
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
    parser.add_argument("--answers", type=float, default=1.0, help="share of the long answers")
    parser.add_argument("--public", type=float, default=1.0, help="share of the published answers")
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--groups", default="bag_groups.jsonl.xz", help="what to encode")
    parser.add_argument("--out", default="bags.npz", help="where to write it")
    options = parser.parse_args()
    {"choose": choose, "encode": encode}[options.command](options)


if __name__ == "__main__":
    main()
