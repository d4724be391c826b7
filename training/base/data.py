"""Step 2: build the training pairs and print what went in.

    python -m training.base.data DATA WORK

Writes pairs.jsonl.xz (human labels, in and out of context), rule_pairs.jsonl.xz (claims made from
documents by rule), documents.jsonl.xz and prompts.jsonl.xz (for the model that writes claims)
and data.md (the table).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from training.base import pairs as make
from training.base.corpus import PAIR_FILES, Document, HeldOut, Pair, documents, human_pairs

LICENCES = {
    "rule": "as the documents: MIT (DeFacto, BUMP, FactCG, PubMedQA, FActScore)",
    "factscore": "MIT",
    "rose": "BSD-3-Clause",
    "defacto": "MIT",
    "bump": "MIT",
    "padded": "as the pairs",
    "elsewhere": "as the pairs",
    "dialogue": "as MNLI",
    "fever": "CC BY-SA 3.0",
    "docnli": "CC BY-SA 3.0",
}
FACTUAL = (
    "mnli_part.train", "fever_train_part.train", "fever_val_pairs.eval", "scitail_part.train",
    "fm2.eval",
)  # fmt: skip


def write(path: Path, rows: Iterable[dict[str, object]]) -> int:
    """Write rows as compressed JSON lines; returns how many."""
    count = 0
    # Neighbouring rows share their documents: a wide dictionary is worth more than effort.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 25}]
    with lzma.open(path, "wt", encoding="utf-8", filters=filters) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def sample(pairs: Sequence[Pair], times: float, rng: random.Random) -> list[Pair]:
    """Pairs repeated `times` times; a fraction is sampled."""
    whole, part = int(times), times - int(times)
    return [*pairs] * whole + rng.sample(pairs, int(part * len(pairs)))


def prompts(found: Sequence[Document], count: int, rng: random.Random) -> list[dict[str, object]]:
    """Passages of one to seven sentences and what the writing model is asked to do with them."""
    rows: list[dict[str, object]] = []
    while len(rows) < count:
        number = rng.randrange(len(found))
        sentences = found[number].sentences
        size = min(rng.choice((1, 1, 2, 3, 4, 7)), len(sentences))
        start = rng.randrange(len(sentences) - size + 1)
        passage = sentences[start : start + size]
        if not 10 <= sum(len(s.split()) for s in passage) <= 160:
            continue
        task = rng.choice(("restate",) * 3 + ("summarise",) * 2 + ("change",) * 2 + ("add",))
        rows.append({"task": task, "document": number, "start": start, "size": size})
    return rows


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-document", type=int, default=12)
    parser.add_argument("--prompts", type=int, default=120_000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    held_out = HeldOut(options.shared)
    print(f"held out: {len(held_out.seen):,} word sequences", flush=True)
    human = human_pairs(options.shared, held_out)
    found = documents(options.shared, held_out)
    print(f"documents: {Counter(d.source for d in found)}", flush=True)
    factual = [pair for name in FACTUAL for pair in human[name]]
    three_way = [pair for pair in factual if pair.label != "not_entailment"]
    spoken = human["mnli_part.train"]
    groups: dict[str, list[Pair]] = {
        name: sample(human[name], times, rng) for name, (times, _) in PAIR_FILES.items()
    }
    print("pairs from rules", flush=True)
    groups["rule"] = list(make.from_documents(found, options.per_document, rng))
    groups["atomic"] = list(make.from_atomic_facts(options.shared, held_out, rng))
    groups["summaries"] = list(make.from_summaries(options.shared, held_out, rng))
    groups["padded"] = list(make.padded(three_way, 90_000, rng))
    groups["dialogue"] = list(make.spoken(spoken, 12_000, rng))
    groups["elsewhere"] = list(make.elsewhere(three_way, 70_000, rng))
    print({name: len(group) for name, group in groups.items()}, flush=True)
    for pair in groups["rule"][:12]:
        print(pair.label, "|", pair.source, "|", pair.hypothesis, "|", pair.premise[:200])
    human_made = [pair for name, group in groups.items() if name != "rule" for pair in group]
    write(options.work / "pairs.jsonl.xz", map(asdict, human_made))
    write(options.work / "rule_pairs.jsonl.xz", map(asdict, groups["rule"]))
    # Single premises of other kinds of text stand beside the documents.
    premises = sorted({pair.premise for pair in factual if len(pair.premise.split()) >= 14})
    short = [
        Document("premise", (text,)) for text in rng.sample(premises, min(len(premises), 25_000))
    ]
    texts = [*found, *short]
    write(options.work / "documents.jsonl.xz", map(asdict, texts))
    asked = prompts(found, 3 * options.prompts // 4, rng)
    more = prompts(short, options.prompts // 4, rng)
    asked += [{**row, "document": int(str(row["document"])) + len(found)} for row in more]
    write(options.work / "prompts.jsonl.xz", asked)
    (options.work / "data.md").write_text(table(groups))
    print(table(groups))


def table(groups: dict[str, list[Pair]]) -> str:
    """The Markdown table of what the training pairs are made of."""
    lines = [
        "| source | pairs | E / N / C / not E, % | mean premise words | licence |",
        "|---|---|---|---|---|",
    ]
    by_source: defaultdict[str, list[Pair]] = defaultdict(list)
    for name, group in groups.items():
        for pair in group:
            by_source[name if name in PAIR_FILES else pair.source].append(pair)
    for source, group in by_source.items():
        labels = Counter(pair.label for pair in group)
        order = ("entailment", "neutral", "contradiction", "not_entailment")
        split = " / ".join(f"{100 * labels[label] / len(group):.0f}" for label in order)
        length = sum(len(pair.premise.split()) for pair in group) / len(group)
        licence = (
            PAIR_FILES[source][1]
            if source in PAIR_FILES
            else LICENCES.get(source.split("_")[0], "")
        )
        lines.append(f"| {source} | {len(group):,} | {split} | {length:.0f} | {licence} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
