"""Judge every claim of the evaluation sets against every window.

    python -m training.base.evaluate prepare DATA WORK       # once: rows, claims, windows
    python -m training.base.evaluate run WORK --model base   # probabilities, on a GPU

Claims are the sentences of the response. The rows are those on which the large verifier is
evaluated (`training.large.evaluate`).
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.large.evaluate import DEVELOPMENT, NLI, SIX, drawn

if TYPE_CHECKING:
    from training.base.batches import Encoded
    from training.base.encoder import Encoder

ROOM = 448  # tokens of window beside a claim of up to 64


def prepare(options: argparse.Namespace) -> None:
    """Write the rows, claims and windows of the evaluation sets."""
    from tokenizers import Tokenizer

    from halldetect.reading.sentences import read_document, sentences

    tokenizer = Tokenizer.from_file(str(options.work / "mpnet" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    documents: dict[str, int] = {}
    windows: list[list[list[int]]] = []
    texts: list[str] = []
    with lzma.open(options.work / "eval_rows.jsonl.xz", "wt", encoding="utf-8", preset=2) as file:
        for name in SIX + DEVELOPMENT:
            for row in drawn(options.shared, name, options.rows):
                source = row.source if isinstance(row.source, str) else "\n\n".join(row.source)
                if source not in documents:
                    documents[source] = len(texts)
                    texts.append(source)
                    windows.append(_fitting(read_document(source), tokenizer))
                claims = [span.cut(row.response) for span in sentences(row.response)]
                file.write(
                    json.dumps(
                        {
                            "dataset": name,
                            "id": row.id,
                            "hallucinated": row.hallucinated,
                            "document": documents[source],
                            "claims": claims,
                        },
                        ensure_ascii=False,
                    )
                    + "\n"
                )
    with lzma.open(
        options.work / "eval_documents.json.xz", "wt", encoding="utf-8", preset=2
    ) as file:
        json.dump({"texts": texts, "windows": windows}, file, ensure_ascii=False)
    (options.work / "nli").mkdir(exist_ok=True)
    for name, most in NLI.items():
        pairs = f"{name}.eval.jsonl.xz"
        with (
            lzma.open(options.shared / "nli" / pairs, "rt", encoding="utf-8") as source,
            lzma.open(options.work / "nli" / pairs, "wt", encoding="utf-8") as target,
        ):
            target.writelines(islice(source, most))


def _fitting(document, tokenizer) -> list[list[int]]:  # type: ignore[no-untyped-def]
    """[start, end, scales] of every window, the too long ones divided at sentence ends."""
    from halldetect.verification.scales import source_windows

    result: dict[tuple[int, int], set[int]] = {}
    counts: dict[tuple[int, int], int] = {}

    def count(start: int, end: int) -> int:
        if (start, end) not in counts:
            counts[start, end] = len(
                tokenizer.encode(document.text[start:end], add_special_tokens=False).ids
            )
        return counts[start, end]

    for window in source_windows([document]):
        parts = [[window.span.start, window.span.end]]
        if count(*parts[0]) > ROOM:
            parts = []
            size = ROOM + 1
            for span in document.sentences_in(window.span):
                tokens = count(span.start, span.end)
                if size + tokens > ROOM:
                    parts.append([span.start, span.end])
                    size = 0
                parts[-1][1] = span.end
                size += tokens
        for start, end in parts:
            result.setdefault((start, end), set()).update(window.scales)
    return [[start, end, *sorted(scales)] for (start, end), scales in result.items()]


def load_rows(work: Path) -> tuple[list[dict[str, Any]], list[str], list[list[list[int]]]]:
    """The rows, the documents and the windows of each document that `prepare` wrote."""
    with lzma.open(work / "eval_rows.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with lzma.open(work / "eval_documents.json.xz", "rt", encoding="utf-8") as file:
        data = json.load(file)
    return rows, data["texts"], data["windows"]


def layout(
    rows: list[dict[str, Any]], windows: list[list[list[int]]]
) -> list[tuple[int, int, int]]:
    """(row, claim, window) of every pair, in the order of the probabilities."""
    return [
        (number, claim, window)
        for number, row in enumerate(rows)
        for claim in range(len(row["claims"]))
        for window in range(len(windows[row["document"]]))
    ]


def assembled(
    folder: Path, rows: list[dict[str, Any]], texts: list[str], windows: list[list[list[int]]]
) -> Encoded:
    """Every pair of the rows, put together from windows and claims that are encoded once."""
    from tokenizers import Tokenizer

    from training.base.batches import Encoded

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    first, *between, last = tokenizer.encode("", "").ids

    def plain(strings: list[str]) -> list[np.ndarray]:
        found = tokenizer.encode_batch(strings, add_special_tokens=False)
        return [np.asarray(item.ids, dtype=np.int32) for item in found]

    premises = {}
    for document in {row["document"] for row in rows}:
        cuts = [texts[document][start:end] for start, end, *_ in windows[document]]
        premises[document] = plain(cuts)
    pieces: list[np.ndarray] = []
    for row in rows:
        for claim in plain(row["claims"]):
            tail = np.array([*between, *claim[:200], last], dtype=np.int32)
            for premise in premises[row["document"]]:
                pieces.append(np.concatenate([[first], premise[: 511 - len(tail)], tail]))
    lengths = np.fromiter(map(len, pieces), dtype=np.int64)
    return Encoded(
        ids=np.concatenate(pieces).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.zeros(len(pieces), np.int64),
        weights=np.zeros(0, np.float32),
    )


def judge(model: Encoder, data: Encoded, device: str) -> np.ndarray:
    """The logits of every pair."""
    import torch

    from training.base import batches as B

    if device == "cuda":
        model.half()
    answers = torch.empty((len(data), 3), dtype=torch.float16, device=device)
    with torch.inference_mode():
        groups = B.batches(data, 131_072 if device == "cuda" else 2048, None)
        for rows, ids, mask in B.prefetched(data, groups, model.shape.pad, device):
            answers[torch.from_numpy(rows).to(device)] = model(ids, mask).half()
    logits: np.ndarray = answers.cpu().numpy()
    return logits


def run(options: argparse.Namespace) -> None:
    """Judge every pair and write the logits."""
    from training.base import batches as B
    from training.base.encoder import TOKENIZER, Encoder
    from training.base.rounded import RoundedWeights

    model = Encoder.load(options.work / options.model).to(options.device).eval()
    if options.rounded:
        RoundedWeights(model).round()
    encoder = B.pair_encoder(options.work / TOKENIZER, 512)

    out: dict[str, Any] = {}
    found = options.work / f"{options.model}{'_rounded' if options.rounded else ''}_logits.npz"
    for name in NLI:
        path = options.work / "nli" / f"{name}.eval.jsonl.xz"
        if path.exists():
            pairs = B.read_pairs(path)
            out[name] = judge(model, B.encode(pairs, encoder), options.device)
            gold = np.array([B.CODES[str(row["label"])] for row in pairs])
            print(f"{name}: {accuracy(out[name], gold):.4f} of {len(pairs)}", flush=True)
    if options.sets:
        rows, texts, windows = load_rows(options.work)
        began = time.monotonic()
        wanted = set(options.sets.split(",")) if options.sets != "all" else None
        names = {row["dataset"] for row in rows}
        for name in sorted(names & wanted if wanted else names):
            part = [row for row in rows if row["dataset"] == name]
            data = assembled(options.work / TOKENIZER, part, texts, windows)
            out[f"set_{name}"] = judge(model, data, options.device)
            area = separation(part, windows, out[f"set_{name}"])
            spent = time.monotonic() - began
            print(f"{name}: AUROC {area:.4f}, {len(data):,} pairs, {spent:.0f} s", flush=True)
            # After every set: a run that is broken off keeps what it has.
            np.savez_compressed(found, **out)
    np.savez_compressed(found, **out)


def separation(
    rows: list[dict[str, Any]], windows: list[list[list[int]]], logits: np.ndarray
) -> float:
    """A first look: AUROC of 1 - min over claims of max P(E); `calibrate` has the real figures."""
    values = np.exp(logits.astype(np.float64))
    entailed = values[:, 0] / values.sum(1)
    scores, truth, start = [], [], 0
    for row in rows:
        width = len(windows[row["document"]])
        stop = start + width * len(row["claims"])
        if stop > start:
            scores.append(1 - entailed[start:stop].reshape(-1, width).max(1).min())
            truth.append(bool(row["hallucinated"]))
        start = stop
    wrong = np.array(truth)
    found = np.array(scores)
    above = (found[wrong][:, None] > found[~wrong]).mean()
    level = (found[wrong][:, None] == found[~wrong]).mean()
    return float(above + level / 2)


def accuracy(logits: np.ndarray, gold: np.ndarray) -> float:
    """Three-way where the label is; two-way labels ask only whether entailment was said."""
    said = logits.astype(np.float32).argmax(1)
    right = np.where(gold == 3, said != 0, said == gold)
    # Sets without contradictions (HANS, SciTail) are two-way.
    if not (gold == 2).any():
        right = (said == 0) == (gold == 0)
    return float(right.mean())


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("shared", type=Path)
    first.add_argument("work", type=Path)
    first.add_argument("--rows", type=int, default=400, help="rows of every set at most")
    second = commands.add_parser("run")
    second.add_argument("work", type=Path)
    second.add_argument("--model", default="base")
    second.add_argument("--sets", default="all")
    second.add_argument("--rounded", action="store_true", help="with the weights that ship")
    second.add_argument("--device", default="cuda")
    options = parser.parse_args()
    {"prepare": prepare, "run": run}[options.command](options)


if __name__ == "__main__":
    main()
