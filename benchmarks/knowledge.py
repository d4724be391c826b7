"""Measure the recall of retrieval, and its cost in accuracy.

    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --among 0 100000 --texts FILE.jsonl.xz ...
    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --check 349
    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --check 349 --verifier large \\
        --device cuda [--base BASE.gguf]

Recall: every source of WiCE is a document of one index, and every claim with gold evidence a
query. A claim is found at k if its k best passages hold all sentences of one of its gold sets; its
document is found if one of them is from its source. --among adds N other documents of one passage,
from the `premise` of --texts.

Check: responses of WiCE against their own source and against the index of all sources.

Adds to benchmarks/results/knowledge.json, one section per kind of measurement; its section `sizes`
(time and memory of an index) is by `git show 8f198c5:benchmarks/knowledge.py`.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.store import command, processor, store, stored
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.index import KnowledgeIndex
from halldetect.knowledge.passages import PASSAGE_CHARACTERS
from halldetect.knowledge.readers import SourceFile
from halldetect.protocols import Verifier
from halldetect_bench.registry import data_root
from halldetect_bench.stats.classification_metrics import auroc
from training.files import read
from training.operating_points import at_operating_point

DEPTHS = (1, 5, 10, 20)


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> SourceFile:
    """Write rows as JSON Lines, and return them as a source to index."""
    with path.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(row) + "\n")
    return SourceFile(path, "rows")


def wice_rows() -> list[dict[str, Any]]:
    """Return the claims of WiCE with their sources, sentence by sentence."""
    return list(read(data_root() / "wice" / "claim_dev.jsonl"))


def wice_index(
    folder: Path, rows: Sequence[dict[str, Any]], others: Iterable[str] = ()
) -> KnowledgeIndex:
    """Return an index of all sources and other texts; a source has the number of its first row."""
    texts = {"\n".join(row["evidence"]): at for at, row in reversed(list(enumerate(rows)))}
    documents = [{"id": at, "text": text} for text, at in texts.items()]
    documents += [{"id": f"other {at}", "text": text} for at, text in enumerate(others)]
    (folder / "wice.index").unlink(missing_ok=True)
    build_index(folder / "wice.index", [write_lines(folder / "wice.jsonl", documents)])
    return KnowledgeIndex(folder / "wice.index")


def wice_recall(folder: Path, others: Iterable[str] = ()) -> dict[str, Any]:
    """Measure recall of gold evidence on WiCE among other texts."""
    rows = wice_rows()
    known = [row for row in rows if any(row["supporting_sentences"])]
    with closing(wice_index(folder, rows, others)) as index:
        passages = index.passages
        found = index.search([row["claim"] for row in known], max(DEPTHS))
    result: dict[str, Any] = {"claims": len(known), "passages": passages}
    for depth in DEPTHS:
        whole, document = [], []
        for row, group in zip(known, found, strict=True):
            text = "\n".join(row["evidence"])
            spans = _sentence_spans(row["evidence"])
            own = [item for item in group[:depth] if item.span.cut(text) == item.text]
            held = {
                at
                for at, (start, end) in enumerate(spans)
                if any(item.span.start <= start and end <= item.span.end for item in own)
            }
            whole.append(any(gold and set(gold) <= held for gold in row["supporting_sentences"]))
            document.append(bool(own))
        result[f"evidence_at_{depth}"] = round(fmean(whole), 4)
        result[f"document_at_{depth}"] = round(fmean(document), 4)
    return result


def _sentence_spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    spans, start = [], 0
    for line in lines:
        stripped = line.strip()
        at = start + line.index(stripped) if stripped else start
        spans.append((at, at + len(stripped)))
        start += len(line) + 1
    return spans


def read_texts(files: Iterable[Path]) -> list[str]:
    """Return the distinct premises of files, none longer than one passage."""
    premises = (" ".join(str(row["premise"]).split()) for file in files for row in read(file))
    found = dict.fromkeys(text[:PASSAGE_CHARACTERS].strip() for text in premises)
    return [text for text in found if text]


def check(folder: Path, count: int, verifier: str | Verifier, device: str) -> dict[str, Any]:
    """Compare verdicts with the gold source and with retrieved evidence."""
    rows = wice_rows()
    chosen = random.Random(0).sample(rows, min(count, len(rows)))
    labels = [row["label"] != "supported" for row in chosen]
    index = wice_index(folder, rows)
    plain = Detector(verifier=verifier, device=device)
    knowing = Detector(verifier=plain.verifier, knowledge=index, device=device)
    result: dict[str, Any] = {
        "rows": len(chosen), "verifier": plain.verifier.description["name"],
        "weights": plain.verifier.description.get("digest"),
    }  # fmt: skip
    verdicts = []
    for name, detector in (("gold_source", plain), ("knowledge", knowing)):
        started, used = time.perf_counter(), time.process_time()
        reports = detector.check_many(
            (["\n".join(row["evidence"])] if detector is plain else [], row["claim"])
            for row in chosen
        )
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        scores = [1.0 if report.score is None else report.score for report in reports]
        area = auroc(labels, scores)
        cut = at_operating_point({"": (np.array(labels, bool), np.array(scores))}, 0.5)
        verdicts.append([report.verdict for report in reports])
        result[name] = {
            "auroc": None if area is None else round(area, 4),
            "balanced_accuracy": cut["balanced_accuracy"],
            "seconds": round(seconds / len(chosen), 2),
            "cpu_seconds": round(cpu / len(chosen), 2),
        }
    same = [one == other for one, other in zip(*verdicts, strict=True)]
    result["same_verdict"] = round(fmean(same), 4)
    return result


def main() -> None:
    """Run the requested measurements and add them to the results file."""
    parser = command(__doc__, "knowledge.json")
    parser.add_argument("--among", nargs="*", type=int, default=[], help="other passages")
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="JSON Lines, for --among")
    parser.add_argument("--check", type=int, default=0, help="so many responses of WiCE")
    add_verifier_options(parser)
    arguments = parser.parse_args()
    known = stored(arguments.out)
    known["processor"] = processor()

    def save(section: str, name: str, measured: dict[str, Any]) -> None:
        known.setdefault(section, {})[name] = measured
        store(arguments.out, known)
        print(section, name, measured, flush=True)

    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        texts = read_texts(arguments.texts)
        random.Random(0).shuffle(texts)
        for count in arguments.among:
            if count > len(texts):
                parser.error(f"--texts hold {len(texts)} passages, fewer than {count}")
            name = f"wice_among_{count}" if count else "wice"
            save("recall", name, wice_recall(folder, texts[:count]))
        if arguments.check:
            verifier = verifier_of(arguments)
            measured = check(folder, arguments.check, verifier, arguments.device)
            save("check", measured["verifier"], measured)


if __name__ == "__main__":
    main()
