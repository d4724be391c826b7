"""Packed results keep the figures of the report and lose the words of the datasets."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pack import pack, pack_folder
from halldetect.errors import InputError
from halldetect_bench.cli import read_tables
from halldetect_bench.predictions import Results, open_predictions
from halldetect_bench.report import csv_files, summary
from halldetect_bench.results_folder import read_all
from tests.support.bench_fakes import COST, make_results

GOLD: list[bool | None] = [True, False] * 20
GOOD: list[float | None] = [
    0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)
]
SENTENCES = [["Ann won the race.", True], ["Bob lost.", False], ["Cy slept.", False]]
CLAIMS = [["Ann won.", 0.9], ["The race was won.", 0.4], ["Bob lost.", 0.6], ["Zzz", None]]


def worded(name: str, **settings: object) -> Results:
    scores = [*GOOD[:38], 0.57, None] if name == "b" else GOOD
    made = make_results("d", name, scores, GOLD, **settings)
    return replace(
        made,
        predictions=tuple(
            replace(
                item,
                claims=CLAIMS,
                gold_claims=SENTENCES,
                kind="number" if n % 4 == 0 else None,
                reason=None if item.score is not None else "too long",
                details={"source_words": 10 * n},
                resources={"joules": 1.5, "energy": "RAPL"},
            )
            for n, item in enumerate(made.predictions)
        ),
    )


def stored(folder: Path) -> Path:
    verifier = {"name": "base", "digest": "0"}
    some = make_results("d", "c", GOOD[:30], GOLD[:30], {**COST, "generative_passes": 0})
    for one in (
        worded("halldetect", verifier=verifier),
        worded("b"),
        some,
    ):
        for place in (folder, folder / "latency-cpu"):
            with open_predictions(place, one.header) as book:
                for item in one.predictions:
                    book.append(item)
    return folder


def test_the_report_is_equal_and_has_no_words(tmp_path: Path) -> None:
    before = stored(tmp_path / "in")
    written = list(pack_folder(before, tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out" / "d").iterdir()) == sorted(
        path.name for path in written if path.parent == tmp_path / "out" / "d"
    )
    for path in written:
        text = lzma.decompress(path.read_bytes()).decode()
        assert not any(word in text for word in ("Ann", "race", "Bob", "slept", "Zzz"))
    one, two = (read_tables(folder, samples=20) for folder in (before, tmp_path / "out"))
    assert summary(one) == summary(two)
    assert csv_files(one) == csv_files(two)


def test_packing_gives_the_same_bytes_again(tmp_path: Path) -> None:
    results = read_all(stored(tmp_path / "in"))
    first = [path.read_bytes() for path in pack(results, tmp_path / "one")]
    again = [path.read_bytes() for path in pack(read_all(tmp_path / "one"), tmp_path / "two")]
    assert first == again


def test_scores_stay_on_their_side_of_the_threshold(tmp_path: Path) -> None:
    made = make_results("d", "a", [0.49999999, 0.5, 0.57], [True, False, True])
    list(pack([made], tmp_path))
    (found,) = read_all(tmp_path)
    assert [item.score for item in found.predictions] == [0.499999, 0.5, 0.57]


def test_rows_that_differ_and_damaged_files_are_refused(tmp_path: Path) -> None:
    made = make_results("d", "a", GOOD, GOLD)
    changed = (replace(made.predictions[0], row="other"), *made.predictions[1:])
    other = replace(make_results("d", "b", GOOD, GOLD), predictions=changed)
    with pytest.raises(InputError, match="row r0 differs"):
        list(pack([made, other], tmp_path / "out"))
    _, columns = pack([made], tmp_path / "good")
    columns.write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        read_all(tmp_path / "good")
    columns.write_bytes(lzma.compress(b'{"header": {"dataset": "d", "method": {}}}'))
    with pytest.raises(InputError, match="not a packed file"):
        read_all(tmp_path / "good")
    with pytest.raises(InputError, match="no folder"):
        list(pack_folder(tmp_path / "none", tmp_path / "out"))


def test_methods_on_our_verifier_have_their_new_names(tmp_path: Path) -> None:
    """Also in results that were stored before, packed or not."""
    names = ("alignscore", "minicheck-ft5", "summac-zs", "summac-zs-vitc")
    made = [worded(name) for name in names]
    for one in made:
        with open_predictions(tmp_path / "lines", one.header) as book:
            for item in one.predictions:
                book.append(item)
    assert len(list(pack(made, tmp_path / "packed"))) == len(names) + 1
    for folder in ("lines", "packed"):
        assert sorted(one.header.method["name"] for one in read_all(tmp_path / folder)) == [
            "alignscore-style", "minicheck-ft5", "summac-zs-style", "summac-zs-vitc",
        ]  # fmt: skip
