"""Pack results for the repository: gzipped, and without any text of the datasets.

    python -m benchmarks.pack DIR OUT

Many publishers do not allow copies of their texts, and claims are such texts. The claims' scores
are assigned to the labelled sentences first, which are then called s1, s2, ...: every figure
that `halldetect bench report` makes stays the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.predictions import Prediction, Results, latency_folders, read_all
from halldetect_bench.stats.sentence_level import sentence_scores


def pack(folder: Path, out: Path) -> Iterator[Path]:
    """Pack every file of a folder of results, and of its latency folders.

    folder: where `bench run` wrote. out: where to write.
    Yields the files that were written.
    """
    yield from _pack(folder, out)
    for inner in latency_folders(folder):
        yield from _pack(inner, out / inner.name)


def _pack(folder: Path, out: Path) -> Iterator[Path]:
    for results in read_all(folder):
        path = (out / results.header.path).with_suffix(".jsonl.gz")
        lines = [asdict(results.header), *map(_compact, _without_texts(results))]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a timestamp the same results give the same bytes.
            path.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error
        yield path


def _without_texts(results: Results) -> Iterator[Prediction]:
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


def _compact(item: Prediction) -> dict[str, Any]:
    """The fields of a prediction, without those that reading fills in."""
    fields = {key: value for key, value in asdict(item).items() if value not in ([], {})}
    if "cost" in fields:
        fields["cost"] = {key: value for key, value in fields["cost"].items() if value}
    return fields


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    options = parser.parse_args()
    for path in pack(options.results, options.out):
        print(path)


if __name__ == "__main__":
    main()
