"""Step 5: does taking sentences apart help to detect hallucinations?

    python -m training.extractor.detect prepare EVAL WORK           # sentences that can be split
    python -m training.extractor.detect choose WORK --base FOLDER   # the model's choice, on a GPU
    python -m training.extractor.detect rows EVAL WORK              # all claims, for the verifier
    python -m training.base.evaluate run WORK/judged --model base --nli-rows 0
    python -m training.extractor.detect report WORK --logits WORK/judged/base_logits.npz

EVAL is the folder that `training.base.evaluate prepare` filled. The verifier judges the claims
of every way to split in one run, so that the ways are compared on the same rows and probabilities
("named" are the splitter's claims with names for pronouns).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.claims.extractors.codes import letterable
from halldetect.claims.extractors.cover import covering, finest
from halldetect.claims.extractors.names import Names
from halldetect.claims.extractors.splits import Split, split
from training.extractor import data

ROWS = 450
WAYS = ("sentences", "clauses", "splitter", "named")
# The rule changes more easily than a run on a GPU is repeated.
NOW = "clauses_now"


def sampled(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """A seeded sample of every set; rows whose response asserts nothing are out."""
    with lzma.open(folder / "eval_rows.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found: list[dict[str, Any]] = []
    for name in sorted({row["dataset"] for row in rows}):
        part = [row for row in rows if row["dataset"] == name and row["claims"]]
        random.Random(f"{seed} {name}").shuffle(part)
        found += part[:count]
    return found


def prepare(options: argparse.Namespace) -> None:
    splits: dict[str, Split] = {}
    rows = sampled(options.eval, options.rows, options.seed)
    sentences = [sentence for row in rows for sentence in row["claims"]]
    for sentence in dict.fromkeys(sentences):
        found = split(sentence)
        if found.splittable and letterable(found):
            splits[sentence] = found
    options.work.mkdir(parents=True, exist_ok=True)
    data.write(options.work / "eval_splits.jsonl", map(data.as_row, splits.values()))
    share = sum(sentence in splits for sentence in sentences) / len(sentences)
    print(f"{len(rows)} rows, {len(sentences)} sentences, {share:.1%} can be split")


def choose(options: argparse.Namespace) -> None:
    import torch
    from safetensors.torch import load_file

    from training.extractor import decode, lora

    dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
    model, tokenizer = decode.load(options.base, options.device, dtype)
    settings = json.loads((options.work / f"{options.name}.json").read_text())
    adapters = lora.adapt(model, settings["rank"], settings["alpha"])
    lora.load_state(adapters, load_file(options.work / f"{options.name}.safetensors"))
    model.eval()
    splits = [data.from_row(row) for row in data.read(options.work / "eval_splits.jsonl")]
    splits = splits[: options.limit]
    found = decode.decode(model, tokenizer, splits)
    data.write(
        options.work / "eval_chosen.jsonl",
        ({"sentence": s.sentence, "claims": f} for s, f in zip(splits, found, strict=True)),
    )


def rows(options: argparse.Namespace) -> None:
    splits = {
        row["sentence"]: data.from_row(row) for row in data.read(options.work / "eval_splits.jsonl")
    }
    chosen = {
        row["sentence"]: row["claims"] for row in data.read(options.work / "eval_chosen.jsonl")
    }
    made = []
    for row in sampled(options.eval, options.rows, options.seed):
        ways: dict[str, list[list[str]]] = {name: [] for name in WAYS}
        names = Names(row["claims"])
        for number, sentence in enumerate(row["claims"]):
            found = splits.get(sentence)
            by_rule = by_model = [sentence]
            if found is not None:
                model = [tuple(claim) for claim in chosen.get(sentence, ())]
                by_rule = [found.text(claim) for claim in finest(found)]
                by_model = [found.text(claim) for claim in covering(model, found)]
            ways["sentences"].append([sentence])
            ways["clauses"].append(by_rule)
            ways["splitter"].append(by_model)
            ways["named"].append([names.put(text, number) for text in by_model])
        claims = list(dict.fromkeys(t for way in ways.values() for part in way for t in part))
        place = {text: at for at, text in enumerate(claims)}
        numbered = {
            name: [[place[text] for text in part] for part in way] for name, way in ways.items()
        }
        made.append({**row, "claims": claims, "ways": numbered})
    out = options.work / "judged"
    out.mkdir(exist_ok=True)
    with lzma.open(out / "eval_rows.jsonl.xz", "wt", encoding="utf-8", preset=2) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
    (out / "eval_documents.json.xz").write_bytes(
        (options.eval / "eval_documents.json.xz").read_bytes()
    )
    print(f"{len(made)} rows, {sum(len(row['claims']) for row in made)} claims")


def _now(row: dict[str, Any], result: dict[str, Any]) -> list[list[int]]:
    """The rule's choice as it is today; whole where a part was not judged, which is counted."""
    place = {text: at for at, text in enumerate(row["claims"])}
    chosen = []
    for (whole,) in row["ways"]["sentences"]:
        found = split(row["claims"][whole])
        texts = [found.text(claim) for claim in finest(found)]
        if len(texts) > 1:
            known = all(text in place for text in texts)
            result["split_now" if known else "left_whole"] += 1
            texts = texts if known else [row["claims"][whole]]
        chosen.append([place[text] for text in texts])
    return chosen


def report(options: argparse.Namespace) -> None:
    from halldetect_bench.metrics import auroc
    from halldetect_bench.resample import interval
    from training.base.calibrate import softmax
    from training.base.evaluate import load_rows

    logits = np.load(options.logits)
    found, _, windows = load_rows(options.work / "judged")
    result: dict[str, Any] = {"rows_a_set": options.rows, "split_now": 0, "left_whole": 0}
    result["sets"] = {}
    for name in sorted({row["dataset"] for row in found}):
        if f"set_{name}" not in logits:
            continue
        part = [row for row in found if row["dataset"] == name]
        values = softmax(logits[f"set_{name}"] / options.temperature)
        support = values[:, 0] * (1 - values[:, 2])
        truth = [bool(row["hallucinated"]) for row in part]
        scores: dict[str, list[float]] = {way: [] for way in (*WAYS, NOW)}
        parted = start = 0
        for row in part:
            width = len(windows[row["document"]])
            best = support[start : start + width * len(row["claims"])].reshape(-1, width).max(1)
            start += width * len(row["claims"])
            parted += row["ways"]["splitter"] != row["ways"]["sentences"]
            ways = {**row["ways"], NOW: _now(row, result)}
            for way, chosen in ways.items():
                scores[way].append(1.0 - min(best[at] for part_of in chosen for at in part_of))
        entry: dict[str, Any] = {"rows": len(part), "rows_with_a_split": parted}
        for way in scores:
            spread = interval(auroc, truth, scores[way], seed=1, samples=500)
            assert spread is not None
            entry[way] = [round(v, 4) for v in (spread.value, spread.low, spread.high)]
        result["sets"][name] = entry
        print(name, entry, flush=True)
    for way in (*WAYS, NOW):
        result[f"mean_{way}"] = round(
            float(np.mean([entry[way][0] for entry in result["sets"].values()])), 4
        )
        print(way, result[f"mean_{way}"])
    options.out.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("prepare", "choose", "rows", "report"):
        command = commands.add_parser(name)
        if name in ("prepare", "rows"):
            command.add_argument("eval", type=Path)
        command.add_argument("work", type=Path)
        command.add_argument("--rows", type=int, default=ROWS, help="rows of every set")
        command.add_argument("--seed", type=int, default=0)
        if name == "choose":
            command.add_argument("--base", type=Path, required=True)
            command.add_argument("--name", default="adapter")
            command.add_argument("--device", default="cuda")
            command.add_argument("--limit", type=int)
        if name == "report":
            command.add_argument("--logits", type=Path, required=True)
            command.add_argument("--temperature", type=float, default=1.0)
            command.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    {"prepare": prepare, "choose": choose, "rows": rows, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
