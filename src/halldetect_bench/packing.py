"""Results to keep or pass on: gzipped, and without a word of the datasets.

Many publishers do not let their texts be passed on, and claims are such texts. Their scores
are brought to the labelled sentences first, which then are called s1, s2, ...: every figure of
a report stays what it was.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.claimwise import sentence_scores
from halldetect_bench.predictions import Prediction, Results, read_all

# Folders in the results whose names begin so hold rows that were scored one at a time.
LATENCY = "latency"


def pack(folder: Path, out: Path) -> Iterator[Path]:
    """Every file of a folder of results, and of its folders of single rows, one after the other."""
    yield from _pack(folder, out)
    for inner in sorted(folder.glob(f"{LATENCY}*")):
        if inner.is_dir():
            yield from _pack(inner, out / inner.name)


def _pack(folder: Path, out: Path) -> Iterator[Path]:
    for results in read_all(folder):
        path = (out / results.header.path).with_suffix(".jsonl.gz")
        lines = [asdict(results.header), *map(asdict, _wordless(results))]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # No time in it: the same results give the same bytes.
            path.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error
        yield path


def _wordless(results: Results) -> Iterator[Prediction]:
    for item in results.predictions:
        scores = sentence_scores(
            [text for text, _ in item.gold_claims],
            [(text, score) for text, score in item.claims if score is not None],
        )
        gold: list[list[Any]] = [
            [f"s{at}", wrong] for at, (_, wrong) in enumerate(item.gold_claims, start=1)
        ]
        claims = [[f"s{at}", score] for at, score in enumerate(scores, start=1)]
        yield replace(item, claims=claims, gold_claims=gold)
