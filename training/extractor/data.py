"""Step 1: the examples, from people, from rules and, where there are some, from a teacher.

    python -m training.extractor.data SHARED WORK

writes WORK/examples.jsonl (sentence, pieces, allowed claims, the ones to choose),
WORK/held_out.jsonl (the same for documents nothing is trained on), WORK/questions.jsonl (sentences
for the teacher) and WORK/bench.jsonl (sentences of `halldetect bench extract`, for its answers).
Only sentences that the guard lets be split are examples: no model is asked about the others.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect.claims.extractors.codes import letterable
from halldetect.claims.extractors.cover import finest
from halldetect.claims.extractors.splits import Split, split
from halldetect_bench.decompositions import in_held_out_part, load_gold
from halldetect_bench.extract import sample
from training.base.corpus import HeldOut, documents
from training.extractor.align import chosen
from training.extractor.hard import hard
from training.extractor.score import agreement

HARD_OF_A_KIND = 120
COMPARED = 400
_FROM_ONE = 40


def example(source: str, sentence: str, facts: Iterable[str]) -> dict[str, Any] | None:
    """One line of training data, or None where there is nothing to choose."""
    found = split(sentence)
    if not found.splittable or not letterable(found):
        return None
    claims = chosen(facts, found)
    return None if claims is None else {"source": source, **as_row(found), "chosen": claims}


def as_row(found: Split) -> dict[str, Any]:
    pieces = [[piece.start, piece.end] for piece in found.pieces]
    return {"sentence": found.sentence, "pieces": pieces, "claims": found.claims}


def from_row(row: dict[str, Any]) -> Split:
    from halldetect.text.sentences import Span

    return Split(
        row["sentence"],
        tuple(Span(*piece) for piece in row["pieces"]),
        tuple(map(tuple, row["claims"])),
    )


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    evaluated = HeldOut(options.shared)
    examples: list[dict[str, Any]] = []
    held_out: list[dict[str, Any]] = []
    counts: Counter[tuple[str, str]] = Counter()
    for gold in load_gold(options.shared / "datasets"):
        if not gold.held_out and evaluated.holds(gold.sentence):
            counts[gold.source, "left out: part of an evaluation set"] += 1
            continue
        made = example(gold.source, gold.sentence, gold.facts)
        part = "held out" if gold.held_out else "training"
        counts[gold.source, part if made else f"{part}: nothing to split"] += 1
        if made:
            (held_out if gold.held_out else examples).append({**made, "facts": gold.facts})
    for kind, sentence, facts in hard(HARD_OF_A_KIND, options.seed):
        made = example("rule", sentence, facts)
        counts[f"rule, {kind}", "training" if made else "training: nothing to split"] += 1
        if made:
            examples.append(made)
    questions = _questions(options.shared, evaluated, options.questions, options.seed)
    write(options.work / "examples.jsonl", examples)
    write(options.work / "held_out.jsonl", held_out)
    write(options.work / "questions.jsonl", questions)
    compared = sample(load_gold(options.shared / "datasets"), COMPARED, 0)
    write(options.work / "bench.jsonl", ({"sentence": gold.sentence} for gold in compared))
    for (source, part), count in sorted(counts.items()):
        print(f"{source:28} {part:40} {count:6}")
    splits = [from_row(row) for row in held_out]
    wanted = [row["chosen"] for row in held_out]
    by_rule = agreement(splits, wanted, [finest(split) for split in splits])
    print(f"held out, people against rule and whole: {by_rule['finest']}, {by_rule['whole']}")
    print(f"{len(examples)} examples, {len(held_out)} held out, {len(questions)} questions")


def _questions(shared: Path, evaluated: HeldOut, count: int, seed: int) -> list[dict[str, Any]]:
    """Sentences of documents that training may use, for a teacher to take apart."""
    found: dict[str, dict[str, Any]] = {}
    chance = random.Random(seed)
    texts = documents(shared, evaluated)
    chance.shuffle(texts)
    for document in texts:
        if document.source == "factscore" or in_held_out_part(document.sentences[0]):
            continue  # people have taken those apart already
        for sentence in chance.sample(document.sentences, min(_FROM_ONE, len(document.sentences))):
            if not 8 <= len(sentence.split()) <= 60 or sentence in found:
                continue
            parted = split(sentence)
            if parted.splittable and letterable(parted):
                found[sentence] = {"source": document.source, **as_row(parted)}
        if len(found) >= count:
            break
    return list(found.values())


if __name__ == "__main__":
    main()
