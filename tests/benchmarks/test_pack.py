"""Results packed for the repository keep their figures and lose the datasets' words."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pack import pack
from halldetect.errors import InputError
from halldetect_bench.predictions import open_predictions, read_all
from halldetect_bench.stats.tables import make_tables
from tests.support.bench_fakes import make_results

GOLD: list[bool | None] = [True, False] * 20
GOOD = [0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)]


def test_packed_results_have_the_same_figures_and_no_words(tmp_path: Path) -> None:
    made = make_results("d", "a", GOOD, GOLD)
    gold = [["Ann won the race.", True], ["Bob lost.", False], ["Cy slept.", False]]
    claims = [["Ann won.", 0.9], ["The race was won.", 0.4], ["Bob lost.", 0.6], ["Zzz", None]]
    worded = replace(
        made,
        predictions=tuple(
            replace(item, claims=claims, gold_claims=gold) for item in made.predictions
        ),
    )
    for folder in (tmp_path / "in", tmp_path / "in" / "latency"):
        with open_predictions(folder, worded.header) as book:
            for item in worded.predictions:
                book.append(item)
    out = tmp_path / "out"
    written = list(pack(tmp_path / "in", out))
    (first,) = out.glob("d/*")
    assert written == [first, *out.glob("latency/d/*")]
    assert [path.name for path in out.glob("latency/d/*")] == [first.name]
    text = gzip.decompress(first.read_bytes()).decode()
    assert not any(word in text for word in ("Ann", "race", "Bob", "slept", "Zzz"))
    before, after = (make_tables(read_all(folder), samples=20) for folder in (tmp_path / "in", out))
    assert before.sentences == after.sentences
    assert before.sentences[0].scored == 80
    assert before.quality == after.quality
    with pytest.raises(InputError, match="no folder"):
        list(pack(tmp_path / "none", out))
