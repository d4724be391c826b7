"""Knowledge: the recall of retrieval, its time, and its cost in accuracy.

    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --among 0 100000 --texts FILE.jsonl.xz ...
    python -m benchmarks.knowledge --sizes 10000 100000 1000000 --texts FILE.jsonl.xz ...
    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --check 349
    HALLDETECT_DATA=DIR python -m benchmarks.knowledge --check 349 --verifier large \\
        --device cuda [--base BASE.gguf]

Recall: every source of WiCE is a document of one index, and every claim with gold evidence a
query. A claim is found at k if its k best passages hold all sentences of one of its gold sets; its
document is found if one of them is from its source. --among adds N other documents of one passage,
from the `premise` of --texts.

Sizes: documents of one passage, from the `premise` of --texts. If these are too few, they are
reused with every fifth word from another text, which keeps the word frequencies. Measured are the
seconds of `halldetect index build`, bytes, peak memory of that process, and milliseconds per query,
which is a sentence of a passage.

Check: responses of WiCE against their own source and against the index of all sources.

Adds to benchmarks/results/knowledge.json, one section per kind of measurement.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean, median
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
from halldetect.reading.sentences import sentences
from halldetect_bench.registry import data_root
from halldetect_bench.stats.classification_metrics import auroc
from training.operating_points import at_operating_point

DEPTHS = (1, 5, 10, 20)
QUERIES = 100
# In a reused text, each nth word comes from another text.
EXCHANGED = 5


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> SourceFile:
    """Write rows as JSON Lines, and return them as a source to index."""
    with path.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(row) + "\n")
    return SourceFile(path, "rows")


def wice_rows() -> list[dict[str, Any]]:
    """Return the claims of WiCE with their sources, sentence by sentence."""
    path = data_root() / "wice" / "claim_dev.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


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
    found: dict[str, None] = {}
    for file in files:
        with (lzma.open if file.suffix == ".xz" else open)(file, "rt", encoding="utf-8") as stream:
            for line in stream:
                text = " ".join(str(json.loads(line)["premise"]).split())
                found[text[:PASSAGE_CHARACTERS].strip()] = None
    return [text for text in found if text]


def variations(texts: Sequence[str], size: int, chance: random.Random) -> Iterator[str]:
    """Yield `size` texts: the given ones, then mixtures of them."""
    yield from texts[:size]
    for number in range(size - len(texts)):
        words = texts[number % len(texts)].split()
        for at in range(0, len(words), EXCHANGED):
            words[at] = chance.choice(chance.choice(texts).split())
        yield " ".join(words)[:PASSAGE_CHARACTERS]


def speed(folder: Path, size: int, texts: Sequence[str]) -> dict[str, Any]:
    """Measure build and query times of an index of `size` passages."""
    made = variations(texts, size, random.Random(size))
    documents = ({"id": number, "text": text} for number, text in enumerate(made))
    file = write_lines(folder / "made.jsonl", documents)
    path = folder / "made.index"
    started = time.perf_counter()
    words = ("-m", "halldetect", "index", "build", str(file.path), "-o", str(path))
    command = [sys.executable, *words]
    build = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(build.pid, 0)
    build.returncode = os.waitstatus_to_exitcode(status)
    if build.returncode:
        raise SystemExit(f"the build ended with {build.returncode}")
    seconds = time.perf_counter() - started
    result = {
        "of_them_variations": max(0, size - len(texts)),
        "build_seconds": round(seconds, 1),
        "build_cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "bytes": path.stat().st_size,
        "text_bytes": file.path.stat().st_size,
        "build_peak_memory_mb": round(usage.ru_maxrss / 1024),
        "load_average": round(os.getloadavg()[0], 1),
        **query_times(path),
    }
    path.unlink()
    file.path.unlink()
    return result


def query_times(path: Path) -> dict[str, Any]:
    """Return the times of queries, each a sentence of a passage."""
    durations: list[float] = []
    with closing(KnowledgeIndex(path)) as index:
        step = max(1, index.passages // QUERIES)
        with closing(sqlite3.connect(path)) as connection:
            chosen = connection.execute("SELECT text FROM passages WHERE id % ? = 0", (step,))
            texts = [text for (text,) in chosen]
        queries = [random.Random(text).choice(sentences(text)).cut(text) for text in texts]
        used = time.process_time()
        for query in queries:
            begun = time.perf_counter()
            index.search([query], 5)
            durations.append(1000 * (time.perf_counter() - begun))
        query_cpu = 1000 * (time.process_time() - used) / len(queries)
        return {
            "passages": index.passages,
            "queries": len(queries),
            "query_cpu_ms_mean": round(query_cpu, 2),
            "query_ms_median": round(median(durations), 2),
            "query_ms_95": round(sorted(durations)[int(0.95 * len(durations))], 2),
        }


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
    parser.add_argument("--sizes", nargs="*", type=int, default=[], help="passages to index")
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="JSON Lines, for --sizes")
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
            others = variations(texts, count, random.Random(count))
            name = f"wice_among_{count}" if count else "wice"
            save("recall", name, wice_recall(folder, others))
        for size in arguments.sizes:
            save("sizes", str(size), speed(folder, size, texts))
        if arguments.check:
            verifier = verifier_of(arguments)
            measured = check(folder, arguments.check, verifier, arguments.device)
            save("check", measured["verifier"], measured)


if __name__ == "__main__":
    main()
