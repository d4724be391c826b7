"""Long answers of language models, and records: the groups that the other sets lack.

    python -m training.large.answers DATA WORK [--seed N]

Reads WORK/train_groups.jsonl.xz of `data`. Writes WORK/answers_train.jsonl.xz and answers_dev:
RAGTruth (questions and summaries, the training half; a fifth of its sources is for development)
with its sentences labelled by the spans, and edited ones; records with sentences about them; claims
of the other groups in the voice of a language model, over one to three named documents.
"""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from halldetect.reading.claims import Claim as ReadClaim
from halldetect.reading.claims import read_claims
from halldetect.reading.response import read_response
from training.files import read
from training.large import edits, records
from training.large.compose import PROSE
from training.large.data import command, rows, without_leaks, write_groups
from training.large.sources import Claim, Passage
from training.large.voice import dressed, merged, named
from training.leaks import HeldOut

TASKS = ("qa", "summary")  # data2txt is for evaluation only
COPIES, RECORDS, LONG = 14, 2600, 3600  # passes over RAGTruth, sources of the others
DEV_RECORDS = 60


def ragtruth(shared: Path, task: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield part (train, dev or test), source text and responses of RAGTruth's sources."""
    path = shared / "datasets" / "ragtruth" / f"ragtruth_{task}.jsonl"
    for record in read(path):
        source = record["source"]
        if task == "data2txt":
            yield "test", json.dumps(source), record["responses"]
            continue
        text = source if isinstance(source, str) else source["passages"]
        number = zlib.crc32(text.encode())
        part = "test" if number % 2 else "dev" if number // 2 % 5 == 0 else "train"
        yield part, text, record["responses"]


def labelled(response: dict[str, Any]) -> list[tuple[ReadClaim, str]]:
    """Return the claims of a response as the package reads them, labelled by the spans."""
    found = []
    for claim in read_claims(read_response(response["response"])):
        if claim.span is None or claim.problem is not None:
            continue
        touching = [
            label["label_type"]
            for label in response["labels"]
            if label["start"] < claim.span.end and label["end"] > claim.span.start
        ]
        label = "E"
        if touching:
            label = "C" if any("Conflict" in kind for kind in touching) else "N"
        found.append((claim, label))
    return found


def of_ragtruth(shared: Path, part: str, rng: random.Random, *, edited: float) -> list[Passage]:
    """Return the sources of a part with the sentences of their answers, some edited or merged."""
    found = []
    for task in TASKS:
        for mine, text, responses in ragtruth(shared, task):
            if mine != part:
                continue
            claims: list[Claim] = []
            for response in responses:
                own = [Claim(claim.text, label, f"ragtruth_{task}")
                       for claim, label in labelled(response)]  # fmt: skip
                true = [claim for claim in own if claim.label == "E"]
                claims += own
                for claim in rng.sample(true, int(edited * len(true))):
                    made = edits.false_claims(claim.text, text, 1, rng)
                    claims += [Claim(m.text, m.label, "ragtruth_edited", 0.7) for m in made]
                if edited:
                    claims += merged(own, 1, rng, text)
            found.append(Passage(text, f"ragtruth_{task}", claims))
    return found


def long_answers(groups: Sequence[dict[str, Any]], count: int, rng: random.Random) -> list[Passage]:
    """Return passages, one to three as named documents, with their claims in another voice."""
    fitting = [group for group in groups if group["source"] in PROSE and len(group["claims"]) > 2
               and 60 <= len(group["premise"].split()) <= 500]  # fmt: skip
    found = []
    for _ in range(count):
        chosen = rng.sample(fitting, rng.choice((1, 1, 2, 3)))
        text = chosen[0]["premise"]
        if len(chosen) > 1:
            text = named([group["premise"] for group in chosen], rng)
        vague = {"qa_unanswerable", "elsewhere"} if len(chosen) > 1 else set()
        claims = [
            Claim(c["text"], c["label"], c["kind"], c.get("weight", 1.0))
            for group in chosen
            for c in group["claims"]
            if c["kind"].removesuffix("_opened") not in vague
        ]
        claims = rng.sample(claims, min(len(claims), 12))
        made = [dressed(claim, text, 0.8, rng) for claim in rng.sample(claims, min(7, len(claims)))]
        made += [dressed(claim, text, 0.3, rng) for claim in merged(claims, 6, rng, text)]
        found.append(Passage(text, "long_answers", made))
    return found


def main() -> None:
    """Write the groups."""
    options = command(__doc__).parse_args()
    kinds = records.kinds()[0]
    held_out = HeldOut.load(options.data)
    for task in (*TASKS, "data2txt"):
        for part, text, _ in ragtruth(options.data, task):
            if part == "test":
                held_out.add(text)
    for part in ("dev", "train"):
        rng = random.Random(f"{options.seed} {part}")
        train = part == "train"
        groups = list(read(options.work / f"{part}_groups.jsonl.xz"))
        chosen = [kind for name, kind in kinds.items() if (name in records.DEV_KINDS) != train]
        made = []
        for _ in range(COPIES if train else 1):
            made += of_ragtruth(options.data, part, rng, edited=0.3 * train)
        made += records.passages(chosen, RECORDS if train else DEV_RECORDS, rng)
        made += long_answers(groups, LONG if train else DEV_RECORDS, rng)
        dropped = Counter[str]()
        lines = rows(without_leaks(made, held_out, dropped), rng, 48)
        write_groups(options.work / f"answers_{part}.jsonl.xz", lines, dropped, rng)


if __name__ == "__main__":
    main()
