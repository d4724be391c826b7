"""The measurements of an index, on a few texts."""

from __future__ import annotations

import json
import lzma
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
