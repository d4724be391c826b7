"""The measurements of an index, on a few texts."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

from benchmarks import knowledge as bench

TEXTS = ["The bridge opened in 1932. It is red.", "Rome is the capital of Italy."]


def test_texts_are_different_and_fit_into_a_passage(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl.xz"
    premises = [*TEXTS, TEXTS[0], "word " * 1000]
    lines = "\n".join(json.dumps({"premise": text}) for text in premises)
    file.write_bytes(lzma.compress(lines.encode()))
    texts = bench.read_texts([file])
    assert texts[:2] == TEXTS
    assert len(texts) == 3
    assert max(map(len, texts)) <= bench.PASSAGE_CHARACTERS


def test_variations_begin_with_the_texts() -> None:
    found = list(bench.variations(TEXTS, 5, random.Random(0)))
    assert found[:2] == TEXTS
    assert len(found) == 5
    assert len(set(found)) == 5
    assert list(bench.variations(TEXTS, 1, random.Random(0))) == TEXTS[:1]


def test_sizes(tmp_path: Path) -> None:
    measured = bench.speed(tmp_path, 20, TEXTS)
    assert (measured["passages"], measured["of_them_variations"]) == (20, 18)
    assert measured["build_peak_memory_mb"] > 10
    assert list(tmp_path.iterdir()) == []
