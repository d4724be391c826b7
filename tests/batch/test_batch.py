"""Batches: formats, bad rows, and files that are the same whatever happened on the way."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Report
from halldetect.batch import formats
from halldetect.batch.job import Job
from halldetect.batch.local import BatchOutcome, run_local
from halldetect.batch.results import Level
from halldetect.batch.rows import ColumnNames
from halldetect.cli import main
from halldetect.errors import CheckError, InputError, MissingExtra
from tests.support.fakes import OverlapVerifier, SentenceExtractor
from tests.support.paths import ROOT

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "Today it is a museum."
WRONG = "The mill was built in 1850."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "source": SOURCE, "response": GOOD, "lang": "en"},
    {"id": "b", "source": SOURCE, "response": f"{GOOD} {WRONG}", "lang": "de"},
    {"id": "c", "source": ["Rye bread rests.", SOURCE], "response": GOOD, "lang": "fr"},
    {"id": "d", "source": SOURCE, "response": "", "lang": ""},
]
VERDICTS = ["faithful", "hallucinated", "faithful", "uncheckable"]
BASE = ["--extractor", "sentences"]


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "halldetect.verification.verifiers.load_verifier",
        lambda spec, threads=None: OverlapVerifier(),
    )


def detector() -> Detector:
    return Detector(SentenceExtractor(), OverlapVerifier(), max_source=5_000, max_response=1_000)


def write_jsonl(path: Path, rows: Iterable[Any]) -> Path:
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def without_seconds(data: bytes) -> bytes:
    """The bytes of a results file apart from timings."""
    return re.sub(rb'"seconds":\{[^}]*\}', b'"seconds":{}', data)


def check(tmp_path: Path, data: bytes | Path, **options: Any) -> list[dict[str, Any]]:
    source = data if isinstance(data, Path) else tmp_path / "in.jsonl"
    if isinstance(data, bytes):
        source.write_bytes(data)
    out = tmp_path / "out.jsonl"
    run_local(detector(), Job(str(source), str(out), overwrite=True, **options))
    return results(out)


# Formats


def test_a_result_a_row_in_order_with_the_report_of_check(tmp_path: Path) -> None:
    found = check(tmp_path, write_jsonl(tmp_path / "in.jsonl", ROWS))
    assert [row["id"] for row in found] == ["a", "b", "c", "d"]
    assert [row["verdict"] for row in found] == VERDICTS
    assert [row["columns"] for row in found] == [{"lang": row["lang"]} for row in ROWS]
    assert found[1]["claims"] == {
        "supported": 1,
        "contradicted": 1,
        "unsupported": 0,
        "uncheckable": 0,
    }
    assert found[3]["reason"] == "the response is empty"
    assert not any(row["bad_row"] for row in found)
    for given_row, row in zip(ROWS, found, strict=True):
        report = detector().check(given_row["source"], given_row["response"])
        mine = Report.from_json(json.dumps(row["report"]))
        assert (mine.claims, mine.score, mine.documents) == (
            report.claims,
            report.score,
            report.documents,
        )
        assert (row["score"], row["fed_score"]) == (report.score, report.fed_score)


def as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "source", "response", "lang"])
    writer.writeheader()
    for row in rows:
        source = row["source"]
        writer.writerow({**row, "source": source if isinstance(source, str) else dumps(source)})
    return text.getvalue().encode()


def dumps(value: Any) -> str:
    return json.dumps(value)


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz", "in.jsonl.gz", "in.ndjson", "IN.JSONL"])
def test_every_text_format_gives_the_same(tmp_path: Path, name: str) -> None:
    plain = check(tmp_path, write_jsonl(tmp_path / "plain.jsonl", ROWS))
    data = as_csv(ROWS) if ".csv" in name else b"".join(dumps(r).encode() + b"\n" for r in ROWS)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else b"\xef\xbb\xbf" + data)
    found = check(tmp_path, path)
    assert without_seconds(dumps(found).replace(" ", "").encode()) == without_seconds(
        dumps(plain).replace(" ", "").encode()
    )


def test_parquet_in_and_out(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {**row, "source": [row["source"]] if isinstance(row["source"], str) else row["source"]}
        for row in ROWS
    ]
    extra = [{**row, "n": n, "when": None, "x": float("nan")} for n, row in enumerate(rows)]
    source = tmp_path / "in.parquet"
    parquet.write_table(pa.Table.from_pylist(extra), source)
    out = tmp_path / "out.parquet"
    run_local(detector(), Job(str(source), str(out)))
    found = parquet.read_table(out).to_pylist()
    assert [row["verdict"] for row in found] == VERDICTS
    assert found[1]["claims"]["contradicted"] == 1
    assert Report.from_json(found[1]["report"]).response == ROWS[1]["response"]
    assert json.loads(found[1]["columns"]) == {"lang": "de", "n": 1, "when": None, "x": None}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]
    claims = tmp_path / "claims.parquet"
    run_local(detector(), Job(str(source), str(claims), level=Level.CLAIM))
    assert parquet.read_table(claims).column("claim").to_pylist() == [1, 1, 2, 1, None]


def test_a_bad_value_in_parquet_is_a_bad_row(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    raw = pa.array([SOURCE.encode(), b"\xff\xfe", SOURCE.encode()], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    table = pa.table({"source": text, "response": pa.array([GOOD, GOOD, None])})
    parquet.write_table(table, tmp_path / "in.parquet")
    found = check(tmp_path, tmp_path / "in.parquet")
    assert [row["bad_row"] for row in found] == [False, True, True]
    assert "row 2: a value cannot be read" in found[1]["reason"]
    (tmp_path / "no.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        check(tmp_path, tmp_path / "no.parquet")


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ROWS)
    (tmp_path / "in.parquet").write_bytes(b"")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for given_file, out in (("in.parquet", "out.jsonl"), (source.name, "out.parquet")):
        with pytest.raises(MissingExtra, match=r"halldetect\[parquet\]"):
            run_local(detector(), Job(str(tmp_path / given_file), str(tmp_path / out)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "in.parquet"]


def test_standard_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"".join(dumps(row).encode() + b"\n" for row in ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
    assert main(["batch", "-", "-", *BASE]) == 0
    captured = capsys.readouterr()
    assert [json.loads(line)["verdict"] for line in captured.out.splitlines()] == VERDICTS
    assert "4 rows (4 in" in captured.err
    assert "2 faithful, 1 hallucinated, 1 uncheckable, 0 bad" in captured.err


def test_columns_by_other_names(tmp_path: Path) -> None:
    row = {"key": 7, "context": SOURCE, "answer": GOOD, "q": "What is it?", "id": "x", "source": 1}
    columns = ColumnNames(source="context", response="answer", id="key", question="q")
    (found,) = check(tmp_path, write_jsonl(tmp_path / "in.jsonl", [row]), columns=columns)
    assert (found["id"], found["verdict"]) == (7, "faithful")
    assert found["report"]["question"] == "What is it?"
    assert found["columns"] == {"id": "x", "source": 1}
    with pytest.raises(InputError, match="two things"):
        ColumnNames(source="a", response="a")
    (tmp_path / "in.csv").write_text("context,answer\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column 'key', only context, answer.*--id-column"):
        check(tmp_path, tmp_path / "in.csv", columns=columns)
    assert not list(tmp_path.glob("*.partial*"))


def test_a_missing_id_is_the_number_of_the_row(tmp_path: Path) -> None:
    rows = [{"source": SOURCE, "response": GOOD}, {"id": None, "source": SOURCE, "response": GOOD}]
    assert [row["id"] for row in check(tmp_path, write_jsonl(tmp_path / "in.jsonl", rows))] == [
        1,
        2,
    ]


def test_one_result_a_claim_and_none_lost(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [*ROWS, "nonsense"])
    found = check(tmp_path, source, level=Level.CLAIM)
    assert [(row["id"], row["claim"], row["status"]) for row in found] == [
        ("a", 1, "supported"),
        ("b", 1, "supported"),
        ("b", 2, "contradicted"),
        ("c", 1, "supported"),
        ("d", None, "uncheckable"),
        (5, None, "uncheckable"),
    ]
    assert found[2]["text"] == WRONG
    assert len({tuple(row) for row in found}) == 1  # the same fields everywhere


# Bad rows


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "line 1: not JSON: "),
        (b"[1]", "a row must be a JSON object, not list"),
        (b'{"source": "\xff"}', "line 1: not UTF-8 (byte 12)"),
        (b'{"source": NaN, "response": "x"}', "NaN is no JSON value"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 9_000 + b"}", "not JSON"),
        (b'{"source": "a b"}', "'response' is missing"),
        (b'{"response": "a b", "source": null}', "'source' is missing"),
        (b'{"response": 5, "source": "a"}', "'response' must be text, not int"),
        (
            b'{"response": "a", "source": {"text": "a"}}',
            "must be text or a list of texts, not dict",
        ),
        (b'{"response": "a", "source": ["a", 5]}', "must hold texts only, not int"),
        (b'{"response": "a", "source": "a", "question": []}', "'question' must be text, not list"),
        (b'{"id": true, "response": "a", "source": "a"}', "the id must be text or a whole number"),
        (b'{"response": "a", "source": "a", "x": ' + b"[" * 50 + b"]" * 50 + b"}", "nested more"),
        (dumps({"source": "a" * 5_001, "response": "b"}).encode(), "--max-source raises it"),
        (dumps({"source": "a", "response": "b" * 1_001}).encode(), "--max-response raises it"),
    ],
)
def test_a_bad_row_is_a_result_that_says_why(tmp_path: Path, line: bytes, reason: str) -> None:
    good = dumps(ROWS[0]).encode()
    bad, after = check(tmp_path, line + b"\n" + good)
    assert (bad["verdict"], bad["bad_row"], bad["report"]) == ("uncheckable", True, None)
    assert reason in bad["reason"]
    assert after["verdict"] == "faithful"
    with pytest.raises(InputError, match=r"row 1: .*--strict stops here"):
        check(tmp_path, line, strict=True)
    assert not list(tmp_path.glob("*.partial*"))


def test_a_row_too_long_to_hold_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_ROW_BYTES", 300)
    good = dumps(ROWS[0]).encode()
    found = check(tmp_path, b"x" * 2_000 + b"\n" + good + b"\n" + b"y" * 301)
    assert [row["bad_row"] for row in found] == [True, False, True]
    assert "longer than 300 bytes" in found[2]["reason"]
    table = tmp_path / "in.csv"
    long = b'1,"' + b"a b\n" * 100 + b'",c\n'
    table.write_bytes(b"id,source,response\n" + long + f"2,{SOURCE},{GOOD}\n".encode())
    bad, after = check(tmp_path, table)
    assert "longer than 300 bytes" in bad["reason"]
    assert (after["id"], after["verdict"]) == ("2", "faithful")


def test_bad_rows_of_csv(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    good = f"{SOURCE},{GOOD}\n".encode()
    table.write_bytes(
        b"source,response\n" + good + b"only one\n\n" + b"\xff\xfe,b\n" + b'"a"b,c\n' + good
        + b'"never closed,c\n'
    )  # fmt: skip
    found = check(tmp_path, table)
    reasons = [row["reason"] for row in found]
    assert [row["bad_row"] for row in found] == [False, True, True, True, False, True]
    assert reasons[1] == "line 3: 1 fields where the header has 2"
    assert reasons[2] == "line 5: not UTF-8"
    assert "line 6: not CSV" in reasons[3]
    assert "unexpected end of data" in reasons[5]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("in.csv", b"", "does not begin with the names"),
        ("in.csv", b"a,a\n", "two columns of the same name"),
        ("in.csv", b"source,text\n", "no column 'response'"),
        ("in.jsonl.gz", b"not gzip", "cannot be read to its end"),
        ("in.jsonl.gz", gzip.compress(b"{}\n" * 999)[:-12], "cannot be read to its end"),
        ("in.csv.gz", b"not gzip", "does not begin with the names"),
        ("in.txt", b"", "by its ending"),
        ("in.parquet.gz", b"", "by its ending"),
        ("in", b"", "by its ending"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        check(tmp_path, tmp_path / name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
texts = st.sampled_from([SOURCE, GOOD, WRONG, "", "\ud800 is odd."]) | st.text(max_size=40)
records = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "source": texts | st.lists(texts, max_size=3) | json_values,
        "response": texts | json_values,
        "question": texts | json_values,
        "extra": json_values,
    },
)
lines = (
    st.binary(max_size=40)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | (records | json_values).map(lambda value: json.dumps(value).encode())
).map(lambda line: line.replace(b"\n", b" "))


@settings(max_examples=60)
@given(st.lists(lines, max_size=6))
def test_every_line_is_exactly_one_result(
    tmp_path_factory: pytest.TempPathFactory, found: list[bytes]
) -> None:
    data = b"\n".join(found)
    rows = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    folder = tmp_path_factory.mktemp("fuzz")
    out = check(folder, data)
    assert len(out) == len(rows)
    assert all(row["verdict"] in {*VERDICTS} for row in out)
    assert all(row["reason"] for row in out if row["verdict"] == "uncheckable")
    assert all(row["claim"] or row["reason"] for row in check(folder, data, level=Level.CLAIM))


@settings(max_examples=60)
@given(
    st.lists(st.binary(max_size=30) | st.sampled_from([b'"', b",", b"\n", b'a,"b\n']), max_size=9)
)
def test_any_bytes_after_the_header_are_csv_rows_or_bad_rows(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "in.csv").write_bytes(b"source,response\n" + b"".join(parts))
    for row in check(folder, folder / "in.csv"):
        assert row["reason"] or not row["bad_row"]


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=40)
@given(st.lists(st.tuples(cells, cells), max_size=5))
def test_what_a_csv_writer_wrote_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([("source", "response"), *pairs])
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "in.csv").write_bytes(text.getvalue().encode())
    found = check(folder, folder / "in.csv")
    assert [row["report"]["response"] for row in found] == [
        response.replace("\0", "\N{REPLACEMENT CHARACTER}") for _, response in pairs
    ]


def test_a_defect_on_one_row_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halldetect import pipeline

    real = pipeline.conclude

    def conclude(case: Any, *rest: Any) -> Report:
        if "1850" in case.pair.response:
            raise KeyError("colour")
        return real(case, *rest)

    monkeypatch.setattr(pipeline, "conclude", conclude)
    found = check(tmp_path, write_jsonl(tmp_path / "in.jsonl", ROWS))
    assert [row["bad_row"] for row in found] == [False, True, False, False]
    assert found[1]["reason"] == "the check failed: KeyError: 'colour'"


# The command


def test_statuses_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = str(write_jsonl(tmp_path / "in.jsonl", [*ROWS, ROWS[0], 5])), tmp_path / "o.jsonl"
    assert main(["batch", source, str(out), *BASE]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3 faithful, 1 hallucinated, 1 uncheckable, 1 bad" in captured.err
    assert "the first bad row: row 6: line 6: a row must be" in captured.err
    assert "rows with an id that was there before: 1" in captured.err
    assert len(results(out)) == 6

    assert main(["batch", source, str(out), *BASE]) == 2
    assert "--overwrite begins again" in capsys.readouterr().err
    assert main(["batch", source, str(out), "--resume", *BASE]) == 0
    assert "is complete" in capsys.readouterr().err
    assert main(["batch", source, str(out), "--overwrite", "--strict", *BASE]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert len(results(out)) == 6  # the old results stay until there are new ones
    assert main(["batch", source, str(out), "--overwrite", "--quiet", *BASE]) == 0
    assert capsys.readouterr().err == ""

    nothing = str(write_jsonl(tmp_path / "nothing.jsonl", [{"source": "a"}]))
    assert main(["batch", nothing, str(tmp_path / "n.jsonl"), *BASE]) == 3
    assert len(results(tmp_path / "n.jsonl")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "out.txt"], "by its ending"),
        (["in.jsonl", "in.jsonl"], "is the input"),
        (["in.jsonl", "no/out.jsonl"], "there is no folder"),
        (["none.jsonl", "out.jsonl"], "cannot read 'none.jsonl': No such file"),
        (["folder.jsonl", "out.jsonl"], "is a directory"),
        (["in.jsonl", "folder.jsonl"], "is not a file"),
        (["in.jsonl", "x" * 300 + ".jsonl"], "File name too long"),
        (["in.jsonl", "-", "--resume"], "standard output can be neither"),
        (["in.jsonl", "out.jsonl", "--source-column", "response"], "two things"),
        (["in.jsonl", "out.jsonl", "--threshold", "7"], "between 0 and 1"),
    ],
)
def test_wrong_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "in.jsonl", ROWS)
    (tmp_path / "folder.jsonl").mkdir()
    assert main(["batch", *arguments, *BASE]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert message in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.jsonl", "in.jsonl"]


# Crashes


def many(count: int) -> list[Any]:
    """Rows of all kinds, each different from the others."""
    kinds: list[Any] = [
        {"response": GOOD},
        {"response": WRONG},
        {"response": ""},
        {"oops": 1},
        {"response": f"{GOOD} {WRONG}", "source": ["Rye bread rests.", SOURCE]},
    ]
    return [{"source": SOURCE, "n": n, **kinds[n % len(kinds)]} for n in range(count)]


DRIVER = """
import json, os, random, signal, sys, time
from pathlib import Path
from halldetect.verification import verifiers
from halldetect.batch import local
from halldetect.cli import main
from tests.support.fakes import OverlapVerifier

try:
    import pyarrow.parquet  # once, before the forks
except ImportError:
    pass
local.BLOCK_ROWS = 4
PAUSE = 0.0

class Slow(OverlapVerifier):
    def judge(self, pairs):
        time.sleep(PAUSE)
        return super().judge(pairs)

verifiers.load_verifier = lambda spec, threads=None: Slow()

def batch(source, out, *more):
    return main(["batch", source, out, "--extractor", "sentences", *more])

def forked(work):
    # A fork has everything imported already; killing it is as real as any kill -9.
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = work()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return child
"""

KILL_BY_TIME = """
source, out, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
batch(source, out + ".whole.jsonl", "--quiet")  # also loads all there is to load
for seed in range(first, last):
    random.seed(seed)
    PAUSE = 0.002
    target = f"{out}.{seed}.{'parquet' if seed % 5 == 4 else 'jsonl'}"
    killed = []
    def rows_done():
        try:
            return json.loads(Path(target + ".partial.state").read_text())["counts"]["rows"]
        except FileNotFoundError:
            return 0
    for _ in range(random.randint(1, 4)):
        wanted = random.randint(0, 88)
        child = forked(lambda: batch(source, target, "--resume", "--quiet"))
        # By rows, so that a busy machine does not make all of them die before they begin;
        # then a moment longer, so that they die anywhere between two slices.
        ended = 0
        while not ended and not Path(target).exists() and rows_done() < wanted:
            time.sleep(0.001)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            time.sleep(random.uniform(0.0, 0.02))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed.append(rows_done())
    PAUSE = 0.0
    child = forked(lambda: batch(source, target, "--resume", "--quiet"))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"target": target, "killed": killed, "status": status}), flush=True)
"""

KILL_AT_EVERY_STEP = """
source, out, kind = sys.argv[1:4]
batch(source, out + ".whole.jsonl", "--quiet")

def die_at(step):
    left = [step]
    def dying(real, torn=False):
        def call(*arguments):
            left[0] -= 1
            if left[0] == 0:
                if torn:
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)
        return call
    os.write = dying(os.write, torn=True)
    for name in ("fsync", "ftruncate", "close"):
        setattr(os, name, dying(getattr(os, name)))
    Path.replace, Path.unlink = dying(Path.replace), lambda path, missing_ok=False: unlink(path)
    def quiet_unlink(path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
    unlink = dying(quiet_unlink)
    return batch(source, target, "--resume", "--quiet")

for step in range(1, 200):
    target = f"{out}.{step}.{kind}"
    child = forked(lambda: die_at(step))
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        print(json.dumps({"target": target, "died": False, "status": os.WEXITSTATUS(status)}))
        break
    child = forked(lambda: batch(source, target, "--resume", "--quiet"))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"target": target, "died": True, "status": status}), flush=True)
"""


def drive(code: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER + code, *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        **{"stdout": subprocess.PIPE, **options},
    )


def outcomes(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, b"")
    return [json.loads(line) for line in out.splitlines()]


def same_results(target: Path, whole: Path) -> bool:
    if target.suffix == ".jsonl":
        return without_seconds(target.read_bytes()) == without_seconds(whole.read_bytes())
    from pyarrow.parquet import read_table

    found = read_table(target).to_pylist()
    reports = [row["report"] and without_seconds(row["report"].encode()) for row in found]
    expected = [dumps(row["report"]) for row in results(whole)]
    return [row["n"] for row in map(json.loads, (row["columns"] for row in found))] == [
        row["columns"].get("n") for row in results(whole)
    ] and [json.loads(report or b"null") for report in reports] == [
        json.loads(without_seconds(text.replace('"seconds": ', '"seconds":').encode()))
        for text in expected
    ]


def kill_at_random_times(tmp_path: Path, seeds: range) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", many(90))
    out = tmp_path / "out"
    found = outcomes(drive(KILL_BY_TIME, source, out, seeds.start, seeds.stop))
    assert len(found) == len(seeds)
    whole = tmp_path / "out.whole.jsonl"
    assert len(results(whole)) == 90
    for run in found:
        assert run["status"] == 0, run
        assert same_results(Path(run["target"]), whole), run
    # Otherwise nothing has been shown: some must have died half-way.
    assert sum(0 < rows < 90 for run in found for rows in run["killed"]) >= len(seeds) // 3
    assert not list(tmp_path.glob("*.partial*"))


posix = pytest.mark.skipif(os.name != "posix", reason="forks and signals")


@posix
def test_killed_at_random_times_the_results_are_the_same(tmp_path: Path) -> None:
    kill_at_random_times(tmp_path, range(10))


@posix
@pytest.mark.slow
def test_killed_at_random_times_many_times(tmp_path: Path) -> None:
    kill_at_random_times(tmp_path, range(100, 160))


@posix
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_killed_at_every_step_the_results_are_the_same(tmp_path: Path, kind: str) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", many(6))
    found = outcomes(drive(KILL_AT_EVERY_STEP, source, tmp_path / "out", kind))
    assert [run["died"] for run in found] == [True] * (len(found) - 1) + [False]
    assert len(found) > 12
    for run in found:
        assert run["status"] == 0, run
        assert same_results(Path(run["target"]), tmp_path / "out.whole.jsonl"), run
    assert not list(tmp_path.glob("*.partial*"))


INTERRUPT = """
PAUSE = float(sys.argv[3])
real = Slow.judge
def judge(self, pairs):
    print("busy", flush=True)
    return real(self, pairs)
Slow.judge = judge
sys.exit(batch(sys.argv[1], sys.argv[2], "--resume"))
"""


def interrupt(tmp_path: Path, pause: float, times: int) -> tuple[int, str]:
    process = drive(INTERRUPT, tmp_path / "in.jsonl", tmp_path / "out.jsonl", pause)
    assert process.stdout is not None
    assert process.stdout.readline() == b"busy\n"
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


@posix
def test_ctrl_c_finishes_the_rows_in_hand(tmp_path: Path) -> None:
    rows = many(40)
    source = write_jsonl(tmp_path / "in.jsonl", rows)
    status, err = interrupt(tmp_path, pause=0.7, times=1)
    assert status == 130
    done = len(results(tmp_path / "out.jsonl.partial"))
    assert 0 < done < 40
    assert err.splitlines()[0].endswith("finishing the rows in hand; Ctrl-C again to leave them")
    assert f"interrupted after {done} rows; the same command with --resume" in err
    status, err = interrupt(tmp_path, pause=30, times=2)
    assert status == 130
    assert "the same command with --resume" in err.splitlines()[-1]
    arguments = ["batch", str(source), str(tmp_path / "out.jsonl"), "--quiet", *BASE]
    assert main([*arguments, "--resume"]) == 0
    assert main(["batch", str(source), str(tmp_path / "whole.jsonl"), "--quiet", *BASE]) == 0
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


def stopped_after(tmp_path: Path, slices: int, rows: int = 100, **options: Any) -> BatchOutcome:
    """An unfinished run in out.jsonl."""
    asked = iter(range(1, 1_000))
    source = write_jsonl(tmp_path / "in.jsonl", many(rows))
    job = Job(str(source), str(tmp_path / "out.jsonl"), **options)
    return run_local(detector(), job, stop=lambda: next(asked) >= slices)


def test_resume_wants_the_same_input_and_configuration(tmp_path: Path) -> None:
    outcome = stopped_after(tmp_path, 2)
    assert (outcome.interrupted, outcome.counts.rows) == (True, 64)
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
    other = Detector(SentenceExtractor(), OverlapVerifier(), threshold=0.25)
    with pytest.raises(InputError, match=r"cannot resume: .* had another configuration; give"):
        run_local(other, job)
    with pytest.raises(InputError, match="another level"):
        run_local(detector(), Job(job.source, job.target, resume=True, level=Level.CLAIM))
    for rows in (many(63), [*many(10), *many(90)]):
        changed = write_jsonl(tmp_path / "other.jsonl", rows)
        with pytest.raises(InputError, match=r"first 64 rows .* are not those"):
            run_local(detector(), Job(str(changed), job.target, resume=True))
    columns = ColumnNames(id="n")
    with pytest.raises(InputError, match="first 64 rows"):
        run_local(detector(), Job(job.source, job.target, columns, resume=True))
    with pytest.raises(InputError, match="is there already"):
        Job(job.source, job.target)

    outcome = run_local(detector(), job)
    assert (outcome.counts.rows, outcome.rows_before, outcome.interrupted) == (100, 64, False)
    whole = Job(job.source, str(tmp_path / "whole.jsonl"))
    assert run_local(detector(), whole).counts == outcome.counts
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


def test_resume_refuses_a_damaged_state(tmp_path: Path) -> None:
    stopped_after(tmp_path, 1)
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
    partial = tmp_path / "out.jsonl.partial"
    data = partial.read_bytes()
    partial.write_bytes(data[:-1])
    with pytest.raises(InputError, match="results are missing"):
        run_local(detector(), job)
    partial.write_bytes(data)
    state = tmp_path / "out.jsonl.partial.state"
    for broken in (b"", b"{}", b"[]", b'{"format": 99}'):
        state.write_bytes(broken)
        with pytest.raises(InputError, match="does not fit"):
            run_local(detector(), job)
    run_local(detector(), Job(job.source, job.target, overwrite=True))
    assert len(results(tmp_path / "out.jsonl")) == 100


@posix
def test_two_runs_do_not_write_to_one_file(tmp_path: Path) -> None:
    refused: list[str] = []

    def second() -> bool:
        job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
        with pytest.raises(InputError) as error:
            run_local(detector(), job)
        refused.append(str(error.value))
        return False

    source = write_jsonl(tmp_path / "in.jsonl", many(40))
    run_local(detector(), Job(str(source), str(tmp_path / "out.jsonl")), stop=second)
    assert len(results(tmp_path / "out.jsonl")) == 40
    assert "another run is writing" in refused[0]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_is_one_line_and_resumable(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    call: str,
) -> None:
    source, out = write_jsonl(tmp_path / "in.jsonl", many(100)), tmp_path / "out.jsonl"
    real, left = getattr(os, call), [4]

    def full(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] > 0:
            return real(*arguments)
        if call == "write":
            real(arguments[0], bytes(arguments[1])[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        assert main(["batch", str(source), str(out), "--quiet", *BASE]) == 3
    err = capsys.readouterr().err
    assert "No space left on device, after " in err
    assert "--resume" in err
    assert err.count("\n") == 1
    assert main(["batch", str(source), str(out), "--quiet", "--resume", *BASE]) == 0
    assert main(["batch", str(source), str(tmp_path / "whole.jsonl"), "--quiet", *BASE]) == 0
    assert same_results(out, tmp_path / "whole.jsonl")


TO_STANDARD_OUTPUT = "sys.exit(batch(sys.argv[1], '-', '--quiet'))"


@posix
def test_standard_output_that_is_full_or_left(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", many(400))
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            process = drive(TO_STANDARD_OUTPUT, source, stdout=full)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 3
        assert err.startswith(b"halldetect: cannot write to standard output: No space left")
        assert err.count(b"\n") == 1
    with drive(TO_STANDARD_OUTPUT, source) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["verdict"] == "faithful"
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 3
    assert err.startswith(b"halldetect: cannot write to standard output: Broken pipe, after ")
    assert err.count(b"\n") == 1


def test_a_parquet_file_that_cannot_be_written_is_resumable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    source = write_jsonl(tmp_path / "in.jsonl", many(10))
    job = Job(str(source), str(tmp_path / "out.parquet"))

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("halldetect.batch.local.write_parquet", full)
        with pytest.raises(CheckError, match="No space left on device, after 10 rows"):
            run_local(detector(), job)
    run_local(detector(), Job(job.source, job.target, resume=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.parquet"]


FLAT = """
import resource
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
local.BLOCK_ROWS = 32
batch(sys.argv[1], sys.argv[3] + ".few.jsonl", "--quiet", "--level", "claim")
before = peak()
batch(sys.argv[2], sys.argv[3] + ".many.jsonl", "--quiet", "--level", "claim")
print(json.dumps({"before": before, "after": peak()}))
"""


@posix
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    few = write_jsonl(tmp_path / "few.jsonl", many(1_000))
    lots = write_jsonl(tmp_path / "lots.jsonl", many(40_000))
    (found,) = outcomes(drive(FLAT, few, lots, tmp_path / "out"))
    assert found["after"] < found["before"] + 20, found
