"""Learning curves: what more of the same pairs would give, and what each kind of pair gives.

    python -m training.base.curve WORK --out benchmarks/results/learning_curve.json

Students that differ in nothing but their pairs are trained for one pass over them, from the
same start, and read the same rows afterwards: the shares of the whole mixture one after the
other, then one share with a kind of pair left out or put in. Needs what `train` and
`evaluate run` need.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.base import batches as B
from training.base.encoder import TOKENIZER, Encoder, from_base
from training.base.evaluate import accuracy, assembled, judge, load_rows, separation
from training.base.train import train

SETS = ("qags-cnndm", "defacto-test", "dialsummeval", "bump", "wice", "pubmedqa")
NLI = ("mnli_dev", "vitaminc_test_bigbench", "hans", "negation_nli")
HUMAN, RULE, WRITTEN = "pairs.jsonl.xz", "rule_pairs.jsonl.xz", "llm_pairs.jsonl.xz"


class Questions:
    """The same pairs for every student, encoded once."""

    def __init__(self, work: Path, rows: int, pairs: int, device: str) -> None:
        self.device = device
        encoder = B.pair_encoder(work / TOKENIZER, 512)
        self.nli = {}
        for name in NLI:
            found = B.read_pairs(work / "nli" / f"{name}.eval.jsonl.xz")
            found = random.Random(1).sample(found, min(pairs, len(found)))
            gold = np.array([B.CODES[str(row["label"])] for row in found])
            self.nli[name] = B.encode(found, encoder), gold
        every, texts, self.windows = load_rows(work)
        self.sets = {}
        for name in SETS:
            part = [row for row in every if row["dataset"] == name and row["claims"]]
            part = random.Random(1).sample(part, min(rows, len(part)))
            self.sets[name] = part, assembled(work / TOKENIZER, part, texts, self.windows)

    def answered(self, model: Encoder) -> dict[str, Any]:
        """The accuracy and the AUROC of a student on every set."""
        model.eval()
        nli = {name: accuracy(judge(model, data, self.device), gold)
               for name, (data, gold) in self.nli.items()}  # fmt: skip
        areas = {name: separation(part, self.windows, judge(model, data, self.device))
                 for name, (part, data) in self.sets.items()}  # fmt: skip
        return {
            "accuracy": {name: round(value, 4) for name, value in nli.items()},
            "auroc": {name: round(value, 4) for name, value in areas.items()},
            "mean_accuracy": round(float(np.mean(list(nli.values()))), 4),
            "mean_auroc": round(float(np.mean(list(areas.values()))), 4),
        }


def mixtures(options: argparse.Namespace) -> list[dict[str, float]]:
    """Which share of which file each student reads."""
    found = [{HUMAN: share, RULE: share} for share in options.shares]
    kept = options.compared
    found += [{HUMAN: kept}, {HUMAN: kept, RULE: kept / 3}]
    if (options.work / WRITTEN).exists():
        found.append({HUMAN: kept, RULE: kept, WRITTEN: 1.0})
    return found


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=[1 / 16, 1 / 8, 1 / 4, 1 / 2])
    parser.add_argument("--compared", type=float, default=1 / 4, help="share for other mixtures")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no student after these")
    parser.add_argument("--tokens", type=int, default=24576)
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--rows", type=int, default=250, help="rows of each set")
    parser.add_argument("--pairs", type=int, default=4000, help="pairs of each NLI set")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    began = time.monotonic()
    encoder = B.pair_encoder(options.work / TOKENIZER, 512)
    questions = Questions(options.work, options.rows, options.pairs, options.device)
    files: dict[str, B.Encoded] = {}
    students: list[dict[str, Any]] = []
    for mixture in mixtures(options):
        if time.monotonic() - began > options.seconds:
            print(f"{mixture}: left out", flush=True)
            continue
        for name in mixture:
            if name not in files:
                files[name] = B.encode_file(options.work / name, TOKENIZER, encoder)
        data = B.joined([files[name].sample(share, 1) for name, share in mixture.items()])
        torch.manual_seed(0)
        model = from_base(options.work / TOKENIZER)
        outcome = train(
            model, data, seconds=None, mix=0.0, seed=1, tokens=options.tokens, most=options.most,
            steps=len(B.batches(data, options.tokens, None, options.most)), peak=options.rate,
            device=options.device, compile_layers=not options.no_compile,
        )  # fmt: skip
        spent = {key: outcome[key] for key in ("steps", "tokens", "curve")}
        students.append({"shares": mixture, "pairs": len(data), **spent,
                         "seconds": round(float(str(outcome["seconds"])), 1),
                         **questions.answered(model)})  # fmt: skip
        print({k: v for k, v in students[-1].items() if k != "curve"}, flush=True)
        del model
        rows = {name: len(part) for name, (part, _) in questions.sets.items()}
        pairs = {name: len(gold) for name, (_, gold) in questions.nli.items()}
        result = {"rows": rows, "nli_pairs": pairs, "students": students}
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
