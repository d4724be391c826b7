"""Batches: several files, the cache, claims ahead of verdicts, and the report of a dataset."""

from __future__ import annotations

import json
import multiprocessing
import re
import sqlite3
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Pair, Report
from halldetect.batch.cache import ReportCache
from halldetect.batch.counts import wilson_interval
from halldetect.batch.dataset_report import summarise, write_report
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from halldetect.batch.local import run_settings as made_with
from halldetect.batch.locations import expand_inputs
from halldetect.batch.results import Level, read_results
from halldetect.claims.extraction import Draft
from halldetect.cli import main
from halldetect.errors import ExtractionError, InputError
from halldetect.report import Probabilities
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "Today it is a museum."
WRONG = "The mill was built in 1850."
BASE = ["--extractor", "sentences"]


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "halldetect.verification.verifiers.load_verifier",
        lambda spec, threads=None: OverlapVerifier(),
    )


def detector(**options: Any) -> Detector:
    return Detector(SentenceExtractor(), OverlapVerifier(), **options)


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def plain(path: Path) -> bytes:
    return re.sub(rb'"seconds":\{[^}]*\}', b'"seconds":{}', path.read_bytes())


def rows(count: int, responses: Sequence[str] = (GOOD, WRONG)) -> list[dict[str, Any]]:
    return [
        {"id": n, "source": SOURCE, "response": responses[n % len(responses)], "kind": n % 3}
        for n in range(count)
    ]


# Where rows come from


def test_several_files_and_patterns_are_read_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a", "c"):
        write(tmp_path / f"{name}.jsonl", [{"source": SOURCE, "response": GOOD}] * 2 + [5])
    run_local(detector(), Job(("c.jsonl", "[ab].jsonl"), "out.jsonl"))
    found = results(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == [
        f"{file}.jsonl:{row}" for file in "cab" for row in (1, 2, 3)
    ]
    assert found[2]["reason"].startswith("line 3: ")
    # A pattern names its files however few they are today.
    run_local(detector(), Job("c*.jsonl", "one.jsonl"))
    assert results(tmp_path / "one.jsonl")[0]["id"] == "c.jsonl:1"
    with pytest.raises(InputError, match=r"row 3 of 'a.jsonl': .*strict"):
        run_local(detector(), Job("[ab].jsonl", "strict.jsonl", strict=True))


def test_a_run_over_several_files_is_resumable(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.jsonl", rows(40))
    source = str(tmp_path / "?.jsonl")
    asked = iter(range(9))
    job = Job(source, str(tmp_path / "out.jsonl"))
    outcome = run_local(detector(), job, stop=lambda: next(asked) >= 1)
    assert (outcome.interrupted, outcome.counts.rows) == (True, 64)
    assert run_local(detector(), replace(job, resume=True)).counts.rows == 120
    run_local(detector(), Job(source, str(tmp_path / "whole")[:-5] + "whole.jsonl"))
    assert plain(tmp_path / "out.jsonl") == plain(tmp_path / "whole.jsonl")


def test_inputs_that_make_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", [])
    (tmp_path / "b.csv").write_text("source,text\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no file matches 'x\*.jsonl'"):
        expand_inputs(["x*.jsonl"])
    with pytest.raises(InputError, match="named twice"):
        expand_inputs(["a.jsonl", "*.jsonl"])
    with pytest.raises(InputError, match="one of several"):
        expand_inputs(["-", "a.jsonl"])
    with pytest.raises(InputError, match="no column 'response'"):
        run_local(detector(), Job(("a.jsonl", "b.csv"), "out.jsonl"))
    with pytest.raises(InputError, match="is the input"):
        Job("*.jsonl", "a.jsonl", overwrite=True)
    with pytest.raises(InputError, match="only --engine ray"):
        Job("a.jsonl", "s3://bucket/out.jsonl")
    assert not list(tmp_path.glob("*.partial*"))


def test_a_file_with_the_name_of_a_pattern_is_meant_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "[a].jsonl", rows(1))
    run_local(detector(), Job("[a].jsonl", "out.jsonl"))
    assert len(results(tmp_path / "out.jsonl")) == 1


def test_addresses_are_read_through_pyarrow(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    write(tmp_path / "deep" / "a.jsonl", rows(2))
    write(tmp_path / "deep" / "er" / "b.jsonl", rows(3))
    run_local(detector(), Job(f"file://{tmp_path}/deep/a.jsonl", str(tmp_path / "one.jsonl")))
    assert [row["id"] for row in results(tmp_path / "one.jsonl")] == [0, 1]
    assert expand_inputs([f"file://{tmp_path}/**/*.jsonl"]) == tuple(
        f"file://{tmp_path}/{name}" for name in ("deep/a.jsonl", "deep/er/b.jsonl", "one.jsonl")
    )
    assert expand_inputs([f"file://{tmp_path}/*/[ab].jsonl"]) == (
        f"file://{tmp_path}/deep/a.jsonl",
    )
    with pytest.raises(InputError, match=r"cannot read 'file://.*none.jsonl'"):
        run_local(
            detector(), Job(f"file://{tmp_path}/none.jsonl", str(tmp_path / "none-out.jsonl"))
        )
    with pytest.raises(InputError, match=r"cannot reach 'nonsense://x\.jsonl'"):
        run_local(detector(), Job("nonsense://x.jsonl", str(tmp_path / "none-out.jsonl")))


@pytest.mark.parametrize("name", ["in.jsonl.zst", "in.csv.zst"])
def test_zstandard(tmp_path: Path, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows(50))
    if "csv" in name:
        data = b"source,response\n" + f"{SOURCE},{GOOD}\n".encode() * 50
    packed = pa.compress(data, "zstd", asbytes=True)
    (tmp_path / name).write_bytes(packed)
    run_local(detector(), Job(str(tmp_path / name), str(tmp_path / "out.jsonl")))
    assert len(results(tmp_path / "out.jsonl")) == 50
    for damaged in (packed[:-9], b"not packed"):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read to its end|does not begin"):
            run_local(detector(), Job(str(tmp_path / name), str(tmp_path / "bad.jsonl")))


# Claims ahead of verdicts


class Meeting(SentenceExtractor):
    """Waits until the verifier is at work on other rows."""

    def __init__(self) -> None:
        super().__init__()
        self.judging = threading.Event()
        self.extracting = threading.Event()

    def draft(self, block: str, limit: int) -> Draft:
        if len(self.blocks) == 4:
            assert self.judging.wait(30)
            self.extracting.set()
        return super().draft(block, limit)


def test_extractor_and_verifier_work_at_the_same_time(tmp_path: Path) -> None:
    extractor = Meeting()
    together: list[bool] = []

    class Judge(OverlapVerifier):
        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            extractor.judging.set()
            together.append(extractor.extracting.wait(30))
            return super().judge(pairs)

    source = write(tmp_path / "in.jsonl", rows(12, [f"{GOOD} {n}" for n in range(12)]))
    job = Job(str(source), str(tmp_path / "out.jsonl"), batch_size=4)
    run_local(Detector(extractor, Judge()), job)
    assert together
    assert all(together)
    expected = detector().check_many(
        [
            Pair(row["source"], row["response"])
            for row in rows(12, [f"{GOOD} {n}" for n in range(12)])
        ]
    )
    assert [row["score"] for row in results(tmp_path / "out.jsonl")] == [
        report.score for report in expected
    ]


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from([GOOD, WRONG, f"{GOOD} {WRONG}", "", "Is it?"]), max_size=12),
    st.integers(1, 5),
)
def test_no_division_of_the_rows_changes_a_byte(
    tmp_path_factory: pytest.TempPathFactory, responses: list[str], size: int
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    source = write(
        folder / "in.jsonl", [{"source": SOURCE, "response": text} for text in responses]
    )
    run_local(detector(), Job(str(source), str(folder / "one.jsonl"), batch_size=100))
    with_cache = ReportCache(folder / "kept", made_with(detector()))
    run_local(
        detector(), Job(str(source), str(folder / "two.jsonl"), batch_size=size), cache=with_cache
    )
    with_cache.close()
    assert plain(folder / "one.jsonl") == plain(folder / "two.jsonl")


# The cache


def counted(folder: Path | None, **options: Any) -> tuple[Detector, ReportCache]:
    made = detector()
    return made, ReportCache(folder, made_with(made), **options)


def judged(made: Detector) -> int:
    assert isinstance(made.verifier, OverlapVerifier)
    return sum(map(len, made.verifier.calls))


@pytest.mark.parametrize("level", list(Level))
def test_a_second_run_costs_nothing_and_says_the_same(tmp_path: Path, level: Level) -> None:
    given_rows = [*rows(10), {"source": [SOURCE, "More."], "response": WRONG, "question": "When?"}]
    source = str(write(tmp_path / "in.jsonl", given_rows))
    run_local(detector(), Job(source, str(tmp_path / "none.jsonl"), level=level))
    for name, works in (("first", True), ("second", False)):
        made, cache = counted(tmp_path / "kept")
        job = Job(source, str(tmp_path / f"{name}.jsonl"), level=level, batch_size=4)
        run_local(made, job, cache=cache)
        cache.close()
        assert bool(judged(made)) is works
        assert plain(tmp_path / f"{name}.jsonl") == plain(tmp_path / "none.jsonl")


def test_what_comes_again_in_a_run_is_checked_once(tmp_path: Path) -> None:
    source = str(write(tmp_path / "in.jsonl", rows(40)))
    made, cache = counted(None)
    run_local(made, Job(source, str(tmp_path / "out.jsonl"), batch_size=8), cache=cache)
    assert isinstance(made.extractor, SentenceExtractor)
    assert len(made.extractor.blocks) <= 2 * 2  # once for each of the slices begun before the end
    found = results(tmp_path / "out.jsonl")
    assert [bool(row["report"]["cost"]["seconds"]) for row in found][:4] == [
        True,
        True,
        False,
        False,
    ]


def test_other_settings_or_other_content_are_other_keys(tmp_path: Path) -> None:
    pair = Pair(SOURCE, GOOD)
    _, cache = counted(tmp_path)
    other = ReportCache(tmp_path, made_with(detector(threshold=0.25)))
    assert cache.key(pair) == cache.key(Pair([SOURCE], GOOD))
    assert len(
        {
            cache.key(pair),
            other.key(pair),
            cache.key(Pair(SOURCE, GOOD, "Why?")),
            cache.key(Pair([SOURCE, ""], GOOD)),
            cache.key(Pair(GOOD, SOURCE)),
        }
    ) == 5  # fmt: skip


def test_the_cache_stays_within_its_limit_and_keeps_what_is_used(tmp_path: Path) -> None:
    made, cache = counted(tmp_path, limit=40_000)
    pairs = [Pair(SOURCE, f"{GOOD} It has {n} rooms.") for n in range(60)]
    reports = made.check_many(pairs)
    first = {cache.key(pairs[0]): pairs[0]}
    for pair, report in zip(pairs, reports, strict=True):
        cache.put({cache.key(pair): report})
        assert cache.get(first)  # used again and again, so never the oldest
    held = sum(bool(cache.get({cache.key(pair): pair})) for pair in pairs)
    assert 5 < held < 60
    store = sqlite3.connect(tmp_path / "reports.sqlite")
    (size,) = store.execute("SELECT sum(size) FROM reports").fetchone()
    assert size == store.execute("SELECT bytes FROM held").fetchone()[0] <= 40_000
    store.close()
    cache.close()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    class Broken(SentenceExtractor):
        def draft(self, block: str, limit: int) -> Draft:
            raise ExtractionError("no answer")

    made = Detector(Broken(), OverlapVerifier())
    cache = ReportCache(tmp_path, made_with(made))
    pairs = [Pair(SOURCE, GOOD), Pair(SOURCE, "")]
    keys = {cache.key(pair): pair for pair in pairs}
    cache.put(dict(zip(keys, made.check_many(pairs), strict=True)))
    assert cache.get(keys) == {}
    cache.close()


def test_a_damaged_entry_is_no_entry_and_a_damaged_file_is_said(tmp_path: Path) -> None:
    made, cache = counted(tmp_path)
    pair = Pair(SOURCE, GOOD)
    key = cache.key(pair)
    cache.put({key: made.check(SOURCE, GOOD)})
    assert cache.get({key: pair})
    store = sqlite3.connect(tmp_path / "reports.sqlite")
    store.execute("UPDATE reports SET report = x'00'")
    store.commit()
    store.close()
    assert cache.get({key: pair}) == {}
    cache.close()
    for file in tmp_path.iterdir():
        file.unlink()
    (tmp_path / "reports.sqlite").write_bytes(b"no database at all" * 99)
    with pytest.raises(InputError, match="cannot use the cache"):
        counted(tmp_path)


def test_a_cache_that_fails_half_way_costs_no_result(tmp_path: Path) -> None:
    source = str(write(tmp_path / "in.jsonl", rows(20)))
    told: list[str] = []
    made, cache = counted(tmp_path / "kept", notice=told.append)
    assert cache._store is not None
    cache._store.execute("DROP TABLE reports")
    run_local(made, Job(source, str(tmp_path / "out.jsonl")), cache=cache)
    assert len(results(tmp_path / "out.jsonl")) == 20
    assert len(told) == 1
    assert "going on without the cache" in told[0]


def _fill(folder: str, start: int) -> None:
    made, cache = counted(Path(folder), limit=60_000)
    for n in range(start, start + 40):
        pair = Pair(SOURCE, f"{GOOD} It has {n % 50} rooms.")
        key = cache.key(pair)
        report = made.check(SOURCE, pair.response)
        cache.put({key: report})
        for found in cache.get({key: pair}).values():
            assert found.claims == report.claims
    cache.close()


def test_several_processes_share_a_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(str(tmp_path), 15 * at)) for at in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    store = sqlite3.connect(tmp_path / "reports.sqlite")
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    total, held = store.execute(
        "SELECT sum(size), (SELECT bytes FROM held) FROM reports"
    ).fetchone()
    assert total == held <= 60_000
    store.close()


def test_the_command_keeps_a_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(write(tmp_path / "in.jsonl", rows(5)))
    kept = str(tmp_path / "kept")
    for name, more in (("a", ["--cache", kept]), ("b", ["--cache", kept]), ("c", ["--no-cache"])):
        assert main(["batch", source, str(tmp_path / f"{name}.jsonl"), *BASE, *more]) == 0
    assert plain(tmp_path / "a.jsonl") == plain(tmp_path / "b.jsonl") == plain(tmp_path / "c.jsonl")
    assert not any(row["report"]["cost"]["seconds"] for row in results(tmp_path / "b.jsonl"))
    capsys.readouterr()
    for wrong, message in (
        (["--cache-size", "0"], "--cache-size must be 1 or more"),
        (["--batch-size", "0"], "--batch-size must be 1 or more"),
        (["--workers", "2"], "--workers is for --engine ray"),
        (["--by", "kind"], "--by is for --report"),
        (["--cache", source], "cannot use the cache"),
    ):
        assert main(["batch", source, str(tmp_path / "x.jsonl"), *BASE, *wrong]) == 2
        assert message in capsys.readouterr().err


# The report of a dataset


HOSTILE = '<script>alert(1)</script> & "quoted" | \u202ereversed'


def test_the_summary_counts_every_row(tmp_path: Path) -> None:
    given_rows = [*rows(30), {"source": SOURCE}, {"source": SOURCE, "response": ""}]
    source = str(write(tmp_path / "in.jsonl", given_rows))
    run_local(detector(), Job(source, str(tmp_path / "out.jsonl")))
    summary = summarise(read_results(tmp_path / "out.jsonl"))
    assert dict(summary.counts.by_kind) == {
        "faithful": 15, "hallucinated": 15, "bad": 1, "uncheckable": 1
    }  # fmt: skip
    assert summary.counts.rate == 0.5
    assert summary.counts.interval == pytest.approx((0.3315, 0.6685), abs=1e-3)
    assert sum(bin.total() for bin in summary.histogram) == 30
    assert summary.claims.total() == 30
    assert {value: counts.rows for value, counts in summary.groups["kind"].items()} == {
        "0": 10, "1": 10, "2": 10, "(none)": 2
    }  # fmt: skip
    scores = [result["score"] for _, result in summary.worst]
    assert scores == sorted(scores, reverse=True)
    assert summary.reasons == {"'response' is missing": 1, "the response is empty": 1}
    assert wilson_interval(0, 0) is None
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)


def test_the_report_shows_hostile_text_and_runs_none_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given_rows = [
        {"id": HOSTILE, "source": SOURCE, "response": f"{WRONG} {HOSTILE}", HOSTILE: HOSTILE},
        {"id": "../../etc/passwd", "source": SOURCE, "response": GOOD, HOSTILE: "plain"},
    ]
    source = str(write(tmp_path / "in.jsonl", given_rows))
    folder = tmp_path / "report"
    arguments = ["batch", source, str(tmp_path / "out.jsonl"), *BASE, "--report", str(folder)]
    assert main(arguments) == 0
    assert "the report is in" in capsys.readouterr().err
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "default-src &#39;none&#39;" in page
    for loaded in ("<script", "src=", "url(", "@import", "http:", "https:", "\u202e", " style="):
        assert loaded not in page
    assert "&lt;script&gt;alert(1)" in page
    assert sorted(file.name for file in (folder / "rows").iterdir()) == [
        "000000001.html", "000000002.html"
    ]  # fmt: skip
    for target in re.findall(r'href="([^"]+)"', page):
        assert (folder / target).is_file()
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text.replace("\\<script", "")
    assert json.loads((folder / "summary.json").read_bytes())["rows"] == 2
    # The results are there: the report can be had again, and by any column.
    again = [*arguments, "--resume", "--by", "none"]
    assert main(again) == 2
    assert "no row has a column 'none'" in capsys.readouterr().err
    assert main([*arguments, "--resume", "--by", HOSTILE]) == 0


def test_a_report_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(write(tmp_path / "in.jsonl", rows(3)))
    folder = str(tmp_path / "report")
    for target, more in (("-", []), (str(tmp_path / "o.jsonl"), ["--level", "claim"])):
        assert main(["batch", source, target, *BASE, "--report", folder, *more]) == 2
        assert "--report needs results per response" in capsys.readouterr().err
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").touch()
    target = str(tmp_path / "o.jsonl")
    assert main(["batch", source, target, *BASE, "--report", str(other)]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert not Path(target).exists()


def test_a_report_of_parquet_and_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = str(write(tmp_path / "in.jsonl", rows(6)))
    run_local(detector(), Job(source, str(tmp_path / "out.parquet")))
    assert write_report(tmp_path / "out.parquet", tmp_path / "a").counts.rows == 6
    run_local(
        detector(), Job(str(write(tmp_path / "no.jsonl", [5])), str(tmp_path / "no-out.jsonl"))
    )
    write_report(tmp_path / "no-out.jsonl", tmp_path / "b")
    assert "Nothing could be checked" in (tmp_path / "b" / "index.html").read_text("utf-8")
    for file in (tmp_path / "a" / "rows").iterdir():
        assert "HallDetect report" in file.read_text(encoding="utf-8")


def test_reports_survive_the_cache_unchanged(tmp_path: Path) -> None:
    made, cache = counted(tmp_path)
    pair = Pair([SOURCE, "Rye \ud800 bread."], f"{GOOD} {WRONG}", "What?")
    (report,) = made.check_many([pair])
    key = cache.key(pair)
    cache.put({key: report})
    (found,) = cache.get({key: pair}).values()
    assert found == replace(report, cost=replace(report.cost, seconds={}))
    assert isinstance(found, Report)
    cache.close()


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, name, None)
    source = str(write(tmp_path / "in.jsonl", rows(1)))
    assert main(["batch", source, str(tmp_path / "o.jsonl"), *BASE, "--engine", "ray"]) == 3
    assert "pip install 'halldetect[ray]'" in capsys.readouterr().err
    assert main(["batch", source, "-", *BASE, "--engine", "ray"]) == 2
    assert "not standard input or output" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]
