"""Windows with claims to teach the small verifier, from the groups of `data`.

    python -m training.large.teach WORK [--pairs N] [--written FILE] [--seed N]

Reads WORK/train_groups.jsonl.xz and optionally a file of texts by a language model about documents
(`git show b0f1378:training/large/write.py`). Writes WORK/teach_groups.jsonl.xz: runs of 1, 2, 4, 8
or 16 sentences and pages of up to 330 words, each with claims about its document and a few others.
A claim keeps its label only if the window is the whole premise; otherwise its label is null.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.large.data import write
from training.large.product import spans
from training.large.sources import content
from training.leaks import read

SCALES = (1, 2, 4, 8, 16)
PAGE_WORDS = 330
WRITTEN_TIMES = 5
Group = dict[str, object]


def windows(text: str, rng: random.Random, count: int) -> list[str]:
    """Return distinct windows of a text at different scales.

    Args:
        text: a premise.
        rng: the random generator.
        count: the maximum number of windows.
    """
    marks = spans(text)
    sizes = [len(text[start:end].split()) for start, end in marks]
    found: dict[str, None] = {}
    for scale in rng.sample((*SCALES, 0), min(count + 1, len(SCALES) + 1)):
        if len(found) == count:
            break
        first = rng.randrange(max(1, len(marks) - (scale or 2) + 1))
        last, total = first, 0
        # Scale 0 is a page: as many sentences as fit.
        while last < len(marks) and (not scale or last - first < scale):
            if total + sizes[last] > PAGE_WORDS and last > first:
                break
            total += sizes[last]
            last += 1
        if last > first and total <= PAGE_WORDS + 60:
            found[text[marks[first][0] : marks[last - 1][1]]] = None
    return list(found)


def shared_words(claim: str, window: set[str]) -> float:
    """Return the share of a claim's words that a window has."""
    wanted = content(claim)
    return len(wanted & window) / max(1, len(wanted))


def taught(groups: Sequence[Group], pairs: int, rng: random.Random) -> Iterator[dict[str, object]]:
    """Yield windows with 6 to 10 claims, most of which share words with them.

    Args:
        groups: lines of the training file.
        pairs: the approximate number of pairs of window and claim.
        rng: the random generator.
    """
    total = sum(_wanted(group) for group in groups)
    each = pairs / max(1, 8 * total)
    earlier: list[str] = ["The committee meets on the first Monday of every month."]
    for group in groups:
        text, claims = str(group["premise"]), list(group["claims"])  # type: ignore[call-overload]
        share = each * _wanted(group)
        count = int(share) + (rng.random() < share - int(share))
        for window in windows(text, rng, count) if count else ():
            words = content(window)
            whole = len(window) >= 0.98 * len(text)
            ranked = sorted(
                claims, key=lambda c: -shared_words(c["text"], words) - 0.5 * rng.random()
            )
            chosen = ranked[: rng.randrange(5, 9)]
            rows: list[dict[str, object]] = [
                {"text": c["text"], "label": c["label"] if whole else None, "kind": c["kind"]}
                for c in chosen
            ]
            for _ in range(1 if len(rows) > 3 else 2):
                rows.append({"text": rng.choice(earlier), "label": None, "kind": "other"})
            yield {"premise": window, "source": group["source"], "claims": rows}
        earlier.append(rng.choice(claims)["text"])
        if len(earlier) > 4000:
            del earlier[:1000]


def from_written(path: Path) -> Iterator[Group]:
    """Yield texts of a language model about a document as groups, with sentences as claims."""
    for line in read(path):
        text = str(line["text"])
        claims = [text[start:end] for start, end in spans(text)]
        if not line["ended"]:  # the last sentence is cut off
            claims = claims[:-1]
        rows = [
            {"text": claim, "label": None, "kind": "written"}
            for claim in claims
            if 4 <= len(claim.split()) <= 80
        ]
        if rows:
            yield {"premise": line["premise"], "source": "written", "claims": rows}


def _wanted(group: Group) -> float:
    """Return the mean number of windows: more for longer premises with more claims."""
    size = len(str(group["premise"]).split())
    claims = len(group["claims"])  # type: ignore[arg-type]
    if size < 40:
        return 0.15
    return min(5.0, 0.5 + size / 120) * min(1.0, claims / 5)


def main() -> None:
    """Build the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--pairs", type=int, default=1_150_000)
    parser.add_argument("--written", type=Path, help="texts that a language model wrote")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    groups: list[Group] = list(read(options.work / "train_groups.jsonl.xz"))
    if options.written:
        # Each text counts several times: its errors are typical of models.
        groups += WRITTEN_TIMES * list(from_written(options.written))
    counts: Counter[str] = Counter()

    def counted() -> Iterator[dict[str, object]]:
        for line in taught(groups, options.pairs, rng):
            counts["windows"] += 1
            counts["words"] += len(str(line["premise"]).split())
            for claim in line["claims"]:  # type: ignore[attr-defined]
                counts["pairs"] += 1
                counts["with a label"] += claim["label"] is not None
            yield line

    write(options.work / "teach_groups.jsonl.xz", counted())
    print(dict(counts))


if __name__ == "__main__":
    main()
