"""What an adapter is worth: evaluation sets laid out, judged on a device, and reported.

    python -m training.large.evaluate prepare SHARED WORK         # WORK/eval_groups.jsonl.xz
    python -m training.large.evaluate run WORK --name run1 --adapter WORK/run1/adapter.safetensors
    python -m training.large.evaluate report WORK --name run1     # needs no device

Claims are the sentences of a response. Every claim is judged against its whole source and
against four runs of the source's sentences. A response's score is 1 - min, or 1 - product, of
P(entailment) over its claims. Several adapters: their probabilities are averaged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from halldetect_bench.datasets.labelled_rows import Row

SIX = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")
DEVELOPMENT = ("storysumm", "dialsummeval", "wice", "bump", "pubmedqa", "defacto-val")
NLI = {
    "mnli_dev": 3000,
    "vitaminc_test_bigbench": 3000,
    "hans": 3000,
    "negation_nli": 5000,
}
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
LONGEST = 12_000  # tokens of a source that is judged whole
Floats = NDArray[np.float64]


def quarters(source: str) -> list[str]:
    """Up to four runs of the sentences of a source, of about the same length."""
    from halldetect.reading.sentences import sentences

    spans = sentences(source)
    total = sum(len(span) for span in spans)
    runs: dict[int, list[int]] = {}
    before = 0
    for span in spans:
        number = min(3, 4 * (2 * before + len(span)) // (2 * max(total, 1)))
        run = runs.setdefault(number, [span.start, span.end])
        run[1] = span.end
        before += len(span)
    return [source[start:end] for start, end in runs.values()] if len(runs) > 1 else []


def drawn(shared: Path, name: str, count: int) -> list[Row]:
    """At most so many rows of a dataset, the same ones in every evaluation.

    Args:
        shared: the folder with `datasets/`.
        name: of the dataset.
        count: how many rows at most.
    """
    from halldetect_bench.registry import load_dataset

    loaded = load_dataset(name, shared / "datasets")
    found = [row for row in loaded.rows if row.response and row.hallucinated is not None]
    chosen = list(range(len(found)))
    if len(chosen) > count:
        chosen = sorted(random.Random(14).sample(chosen, count))
    print(f"{name}: {len(chosen)} of {len(found)} rows", flush=True)
    return [found[number] for number in chosen]


def prepare(options: argparse.Namespace) -> None:
    """Draw the rows and write their groups."""
    from halldetect.reading.sentences import sentences

    groups: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    known: dict[str, tuple[int, list[int], dict[str, int]]] = {}

    def place(source: str, claims: list[str], parts: bool) -> tuple[int, list[int], list[int]]:
        """The group of a source, the groups of its quarters, and the claims' places in both."""
        if source not in known:
            shared: list[str] = []
            known[source] = (len(groups), [], {})
            groups.append({"premise": source, "claims": shared})
            for text in quarters(source) if parts else []:
                known[source][1].append(len(groups))
                groups.append({"premise": text, "claims": shared})
        group, others, places = known[source]
        for claim in claims:
            if claim not in places:
                places[claim] = len(places)
                groups[group]["claims"].append(claim)
        return group, others, [places[claim] for claim in claims]

    for name in SIX + DEVELOPMENT:
        for row in drawn(options.shared, name, options.rows):
            source = row.source if isinstance(row.source, str) else "\n\n".join(row.source)
            claims = [span.cut(row.response) for span in sentences(row.response)]
            if not claims:
                continue
            group, others, places = place(source, claims, True)
            rows.append(
                {"set": name, "id": row.id, "wrong": bool(row.hallucinated), "group": group,
                 "quarters": others, "claims": places}
            )  # fmt: skip
    for name, most in NLI.items():
        with lzma.open(options.shared / "nli" / f"{name}.eval.jsonl.xz", "rt") as file:
            pairs = [json.loads(line) for line in file]
        # The first rows, as in the trial.
        for pair in pairs[: min(most, options.pairs)]:
            group, _, places = place(pair["premise"], [pair["hypothesis"]], False)
            rows.append(
                {"set": name, "label": LABELS[pair["label"]], "group": group, "claims": places}
            )
    with lzma.open(options.work / "eval_rows.json.xz", "wt", encoding="utf-8", preset=4) as file:
        json.dump(rows, file, ensure_ascii=False)
    path = options.work / "eval_groups.jsonl.xz"
    with lzma.open(path, "wt", encoding="utf-8", preset=4) as file:
        for item in groups:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")


def run(options: argparse.Namespace) -> None:
    """Judge all claims with every adapter and write WORK/NAME_logits.npz."""
    import torch

    from training.large import adapter, pack
    from training.large.model import Verifier
    from training.large.train import judged

    data = pack.load(options.work / "eval_groups.jsonl.xz", options.work / "tokenizer.json")
    start = time.monotonic()
    adapters = [adapter.read(path) for path in options.adapter]
    rank = max(
        (value.shape[0] for item in adapters for key, value in item.items() if key.endswith(".A")),
        default=0,
    )
    model = Verifier(
        options.work / "base.safetensors", device=options.device, kind=options.attention,
        dtype=torch.bfloat16 if options.device == "cuda" else torch.float32,
        compiled=not options.no_compile, rank=max(rank, 64),
    )  # fmt: skip
    chosen = np.arange(len(data))
    if options.whole:
        with lzma.open(options.work / "eval_rows.json.xz", "rt", encoding="utf-8") as file:
            chosen = np.unique([row["group"] for row in json.load(file)])
    longest = min(LONGEST, options.row - int(np.diff(data.tail_offsets).max()))
    logits = []
    for item in adapters:
        model.load(item, rank=64)
        logits.append(
            judged(model, data, chosen, options.row, options.rows, longest).half().numpy()
        )
        print(f"{time.monotonic() - start:.1f} s, {len(chosen):,} groups", flush=True)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in options.adapter]
    np.savez_compressed(
        options.work / f"{options.name}_logits.npz",
        logits=np.stack(logits), first=data.first, digests=np.array(digests),
        cut=int((np.diff(data.offsets) > longest).sum()),
    )  # fmt: skip


def softmax(logits: NDArray[Any]) -> Floats:
    values = logits.astype(np.float64)
    values = np.exp(values - values.max(-1, keepdims=True))
    found: Floats = values / values.sum(-1, keepdims=True)
    return found


def auroc(wrong: NDArray[np.bool_], scores: Floats) -> float:
    """Chance that a wrong response scores higher than a faithful one (ties count half)."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positives, negatives = int(wrong.sum()), int((~wrong).sum())
    if not positives or not negatives:
        return float("nan")
    return float((ranks[wrong].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def balanced(wrong: NDArray[np.bool_], scores: Floats, cut: float = 0.5) -> float:
    said = scores >= cut
    return float((said[wrong].mean() + (~said[~wrong]).mean()) / 2)


def f1(wrong: NDArray[np.bool_], scores: Floats, cut: float = 0.5) -> float:
    said = scores >= cut
    return float(2 * (said & wrong).sum() / max(1, said.sum() + wrong.sum()))


def spread(
    measure: Callable[[NDArray[np.bool_], Floats], float],
    wrong: NDArray[np.bool_],
    scores: Floats,
    samples: int = 300,
) -> tuple[float, float]:
    """95 % interval of a measure over rows drawn with replacement."""
    rng = np.random.default_rng(1)
    picks = (rng.integers(0, len(wrong), len(wrong)) for _ in range(samples))
    found = [measure(wrong[pick], scores[pick]) for pick in picks]
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


READINGS = ("whole", "parts")  # `parts`: the greater of P(E) of the whole and of the quarters
RULES: dict[str, Callable[[Floats], float]] = {
    "min": lambda support: 1 - float(support.min()),
    "product": lambda support: 1 - float(support.prod()),
}


def scored(
    rows: list[dict[str, Any]], probabilities: Floats, first: NDArray[np.int64]
) -> dict[str, tuple[NDArray[np.bool_], dict[tuple[str, str], Floats]]]:
    """For every set: the labels, and the scores by reading and rule."""
    labels: dict[str, list[bool]] = defaultdict(list)
    scores: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    entailed = probabilities[:, 0]
    for row in rows:
        if "wrong" not in row:
            continue
        labels[row["set"]].append(row["wrong"])
        places = np.array(row["claims"])
        whole = entailed[first[row["group"]] + places]
        best = whole
        for group in row["quarters"]:
            # Without quarters (`run --whole`) their answers are NaN, which fmax leaves out.
            best = np.fmax(best, entailed[first[group] + places])
        for reading, support in zip(READINGS, (whole, best), strict=True):
            for rule, apply in RULES.items():
                scores[row["set"]][reading, rule].append(apply(support))
    return {
        name: (np.array(found), {key: np.array(value) for key, value in scores[name].items()})
        for name, found in labels.items()
    }


def report(options: argparse.Namespace) -> None:
    """Print the figures and write WORK/NAME_report.json."""
    with lzma.open(options.work / "eval_rows.json.xz", "rt", encoding="utf-8") as file:
        rows = json.load(file)
    logits, digests = [], []
    for chosen in options.name:
        name, _, picked = chosen.partition(":")
        with np.load(options.work / f"{name}_logits.npz") as found:
            places = [int(place) for place in picked.split(",") if place]
            places = places or list(range(len(found["logits"])))
            logits.append(found["logits"][places])
            first = found["first"]
            digests += [str(digest) for digest in found["digests"][places]]
    probabilities = softmax(np.concatenate(logits)).mean(0)
    result: dict[str, Any] = {"adapters": digests, "sets": {}, "nli": {}, "means": {}}
    sets = scored(rows, probabilities, first)
    for name, (wrong, scores) in sets.items():
        entry: dict[str, Any] = {"rows": len(wrong), "wrong": int(wrong.sum())}
        for (reading, rule), values in scores.items():
            low, high = spread(auroc, wrong, values)
            entry[f"{reading} {rule}"] = {
                "auroc": round(auroc(wrong, values), 4),
                "auroc_interval": [round(low, 4), round(high, 4)],
                "balanced": round(balanced(wrong, values), 4),
                "f1": round(f1(wrong, values), 4),
            }
        result["sets"][name] = entry
        line = " ".join(
            f"{key}: {found['auroc']:.3f}/{found['balanced']:.3f}"
            for key, found in entry.items()
            if isinstance(found, dict)
        )
        print(f"{name:14} {len(wrong):4} rows, {int(wrong.sum()):4} wrong; {line}")
    cuts = np.linspace(0.05, 0.95, 91)
    for key in ((reading, rule) for reading in READINGS for rule in RULES):
        label = " ".join(key)
        entry = {}
        at_all_cuts: list[float] = []
        for title, names in (("six", SIX), ("development", DEVELOPMENT)):
            mine = [(sets[name][0], sets[name][1][key]) for name in names if name in sets]
            if mine:
                entry[f"{title}_auroc"] = float(np.mean([auroc(*pair) for pair in mine]))
                entry[f"{title}_balanced"] = float(np.mean([balanced(*pair) for pair in mine]))
                means = [float(np.mean([balanced(*pair, cut) for pair in mine])) for cut in cuts]
                if title == "development":
                    entry["development_cut"] = float(cuts[int(np.argmax(means))])
                    entry["development_balanced_at_cut"] = max(means)
                else:
                    at_all_cuts = means
        if "development_cut" in entry and "six_auroc" in entry:
            place = int(np.argmin(abs(cuts - entry["development_cut"])))
            entry["six_balanced_at_development_cut"] = at_all_cuts[place]
        result["means"][label] = {name: round(value, 4) for name, value in entry.items()}
        print(label, result["means"][label])
    if "qags-cnndm" in sets:
        entry = result["sets"]["qags-cnndm"]
        print("QAGS F1 at 0.5:", {key: v["f1"] for key, v in entry.items() if isinstance(v, dict)})
    for name in NLI:
        mine_rows = [row for row in rows if row["set"] == name]
        if mine_rows:
            places = [first[row["group"]] + row["claims"][0] for row in mine_rows]
            gold = np.array([row["label"] for row in mine_rows])
            said = probabilities[places].argmax(1)
            right = np.where(gold == 3, said != 0, said == gold)
            if not (gold == 2).any():  # sets without contradictions are two-way
                right = (said == 0) == (gold == 0)
            result["nli"][name] = {"rows": len(gold), "accuracy": round(float(right.mean()), 4)}
            print(name, result["nli"][name])
    title = "+".join(options.name).replace(":", "_").replace(",", "_")
    out = options.work / f"{title}_report.json"
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("shared", type=Path)
    first.add_argument("work", type=Path)
    first.add_argument("--rows", type=int, default=400, help="rows of every set at most")
    first.add_argument("--pairs", type=int, default=5000, help="pairs of every NLI set at most")
    second = commands.add_parser("run")
    second.add_argument("work", type=Path)
    second.add_argument("--name", required=True)
    second.add_argument("--adapter", type=Path, action="append", required=True)
    second.add_argument("--whole", action="store_true", help="leave out the quarters")
    second.add_argument("--row", type=int, default=16384)
    second.add_argument("--rows", type=int, default=2)
    second.add_argument("--attention", default="flex")
    second.add_argument("--device", default="cuda")
    second.add_argument("--no-compile", action="store_true")
    third = commands.add_parser("report")
    third.add_argument("work", type=Path)
    third.add_argument(
        "--name", action="append", required=True, metavar="NAME[:PLACE,...]",
        help="a name given to `run`, and which of its adapters; all of them are averaged",
    )  # fmt: skip
    options = parser.parse_args()
    {"prepare": prepare, "run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
