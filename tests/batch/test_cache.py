"""The cache of reports: the same results, whatever happens to it."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from halldetect import Detector, Pair
from halldetect.batch.cache import ReportCache
from halldetect.batch.job import Job
from halldetect.batch.local import run_local, run_settings
from halldetect.cli import main
from halldetect.errors import InputError, ModelError
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.readers import find_files
from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from tests.support.batch_files import (
    GOOD,
    SOURCE,
    WRONG,
    detector,
    results,
    rows,
    untimed,
    write_jsonl,
)
from tests.support.fakes import OverlapVerifier


def counted(folder: Path | None, **options: Any) -> tuple[Detector, ReportCache]:
    made = detector()
    return made, ReportCache(folder, run_settings(made), **options)


def test_repeated_pairs_are_checked_once(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows(40)))
    run_local(detector(), Job(source, str(tmp_path / "out.jsonl"), batch_size=8))
    timed = [bool(row["report"]["cost"]["seconds"]) for row in results(tmp_path / "out.jsonl")]
    assert timed == [True, True, *[False] * 38]


def test_keys_depend_on_texts_and_settings(tmp_path: Path) -> None:
    pair = Pair(SOURCE, GOOD)
    _, cache = counted(tmp_path)
    other = ReportCache(tmp_path, run_settings(detector(threshold=0.25)))
    assert cache.key(pair) == cache.key(Pair([SOURCE], GOOD))
    pairs = (pair, Pair(SOURCE, GOOD, "Why?"), Pair([SOURCE, ""], GOOD), Pair(GOOD, SOURCE))
    calibrated = detector(calibration=Calibration(contradiction_weight=0.3))
    third = ReportCache(tmp_path, run_settings(calibrated))
    assert len({other.key(pair), third.key(pair), *map(cache.key, pairs)}) == 6
    for opened in (cache, other, third):
        opened.close()


def test_full_cache_begins_again(tmp_path: Path) -> None:
    made, cache = counted(tmp_path, limit=60_000)
    pairs = [Pair(SOURCE, f"{GOOD} It has {n} rooms.") for n in range(60)]
    for pair, report in zip(pairs, made.check_many(pairs), strict=True):
        cache.put({cache.key(pair): report})
        assert cache.get({cache.key(pair): pair})
    held = sum(bool(cache.get({cache.key(pair): pair})) for pair in pairs)
    assert 0 < held < 60
    assert (tmp_path / "reports.sqlite").stat().st_size < 120_000
    cache.close()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    class Broken(OverlapVerifier):
        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            raise ModelError("no answer")

    made = Detector(Broken())
    cache = ReportCache(tmp_path, run_settings(made))
    pairs = [Pair(SOURCE, GOOD), Pair(SOURCE, "")]
    keys = {cache.key(pair): pair for pair in pairs}
    cache.put(dict(zip(keys, made.check_many(pairs), strict=True)))
    assert cache.get(keys) == {}
    cache.close()


def entries(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "reports.sqlite", isolation_level=None)


@pytest.mark.parametrize("damage", ["bytes", "content", "cut"])
def test_damaged_entries_are_made_again(tmp_path: Path, damage: str) -> None:
    made, cache = counted(tmp_path)
    keys = {cache.key(pair): pair for pair in (Pair(SOURCE, GOOD), Pair(SOURCE, WRONG))}
    cache.put(dict(zip(keys, made.check_many(keys.values()), strict=True)))
    before = cache.get(keys)
    assert len(before) == 2
    key, other = keys
    with closing(entries(tmp_path)) as store:
        held = dict(store.execute("SELECT key, report FROM entries"))
        data = {
            "bytes": b"\0",
            "content": held[key][:-9] + bytes(9),
            "cut": held[key][:-1],
        }[damage]
        store.execute("UPDATE entries SET report = ? WHERE key = ?", (data, key))
    assert cache.get(keys) == {other: before[other]}
    cache.put({key: before[key]})
    assert cache.get(keys) == before
    cache.close()


@pytest.mark.parametrize("content", ["no database", "damaged"])
def test_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "reports.sqlite"
    if content == "no database":
        file.write_bytes(b"no database at all" * 99)
    else:
        counted(tmp_path)[1].close()
        data = bytearray(file.read_bytes())
        data[100:1500] = b"x" * 1400
        file.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot use the cache .*; delete it or name another"):
        counted(tmp_path)


def test_failing_cache_costs_no_result(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows(20)))
    told: list[str] = []
    made = detector()
    job = Job(source, str(tmp_path / "out.jsonl"), cache=str(tmp_path), batch_size=5)

    def drop(*_: object) -> None:
        with closing(entries(tmp_path)) as store:
            store.execute("DROP TABLE IF EXISTS entries")

    run_local(made, job, notice=told.append, progress=drop)
    assert len(results(tmp_path / "out.jsonl")) == 20
    assert len(told) == 1
    assert "continuing without the cache" in told[0]


def _fill(folder: str, start: int) -> None:
    made, cache = counted(Path(folder), limit=60_000)
    for n in range(start, start + 20):
        pair = Pair(SOURCE, f"{GOOD} It has {n % 50} rooms.")
        key = cache.key(pair)
        report = made.check(SOURCE, pair.response)
        cache.put({key: report})
        for found in cache.get({key: pair}).values():
            assert found.claims == report.claims
    cache.close()


def test_processes_share_a_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(str(tmp_path), 8 * at)) for at in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    store = sqlite3.connect(tmp_path / "reports.sqlite")
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_several_may_begin_a_cache_at_once(tmp_path: Path) -> None:
    together = Barrier(4, timeout=120)

    def begin(number: int) -> None:
        together.wait()
        ReportCache(tmp_path / str(number), {}).close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin, [number for number in range(60) for _ in range(4)]))


def test_the_command_keeps_a_cache(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows(5)))
    kept = str(tmp_path / "kept")
    for name, more in (("a", ["--cache", kept]), ("b", ["--cache", kept]), ("c", [])):
        assert main(["batch", source, str(tmp_path / f"{name}.jsonl"), *more]) == 0
    assert len({untimed(tmp_path / f"{name}.jsonl") for name in "abc"}) == 1
    assert not any(row["report"]["cost"]["seconds"] for row in results(tmp_path / "b.jsonl"))


def test_reports_from_an_index_are_not_kept(tmp_path: Path) -> None:
    made, cache = counted(tmp_path / "kept")
    (tmp_path / "mill.txt").write_text(SOURCE, encoding="utf-8")
    build_index(tmp_path / "mill.index", find_files([tmp_path / "mill.txt"]))
    searching = Detector(OverlapVerifier(), knowledge=tmp_path / "mill.index")
    with_index = ReportCache(tmp_path / "kept", run_settings(searching))
    pair = Pair([], GOOD)
    key = with_index.key(pair)
    report = searching.check([], GOOD)
    assert report.score is not None
    with_index.put({key: report})
    assert with_index.get({key: pair}) == {}
    cache.put({cache.key(Pair(SOURCE, GOOD)): made.check(SOURCE, GOOD)})
    assert len(cache.get({cache.key(Pair(SOURCE, GOOD)): Pair(SOURCE, GOOD)})) == 1
    with_index.close()
    cache.close()
