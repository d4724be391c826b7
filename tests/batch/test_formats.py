"""Formats of input and output, and rows that cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Report
from halldetect.batch import formats
from halldetect.batch.job import ColumnNames, Job
from halldetect.batch.local import run_local
from halldetect.batch.results import read_results
from halldetect.cli import main
from halldetect.errors import InputError, MissingExtra
from tests.support.batch_files import (
    GOOD,
    ROWS,
    SOURCE,
    VERDICTS,
    WRONG,
    detector,
    results,
    without_seconds,
    write_jsonl,
)


def limited() -> Detector:
    """A detector that refuses long texts."""
    return detector(max_source=5_000, max_response=1_000)


def check(tmp_path: Path, data: bytes | Path, **options: Any) -> list[dict[str, Any]]:
    source = data if isinstance(data, Path) else tmp_path / "in.jsonl"
    if isinstance(data, bytes):
        source.write_bytes(data)
    out = tmp_path / "out.jsonl"
    run_local(limited(), Job(str(source), str(out), overwrite=True, **options))
    return results(out)


def test_results_are_reports_in_input_order(tmp_path: Path) -> None:
    found = check(tmp_path, write_jsonl(tmp_path / "in.jsonl", ROWS))
    assert [row["id"] for row in found] == ["a", "b", "c", "d"]
    assert [row["verdict"] for row in found] == VERDICTS
    assert [row["columns"] for row in found] == [{"lang": row["lang"]} for row in ROWS]
    assert found[1]["claims"] == {
        "supported": 1,
        "unclear": 0,
        "contradicted": 1,
        "unsupported": 0,
        "uncheckable": 0,
    }
    assert found[3]["reason"] == "the response is empty"
    assert not any(row["bad_row"] for row in found)
    for given_row, row in zip(ROWS, found, strict=True):
        report = limited().check(given_row["source"], given_row["response"])
        mine = Report.from_json(json.dumps(row["report"]))
        assert (mine.claims, mine.score, mine.documents) == (
            report.claims,
            report.score,
            report.documents,
        )
        assert row["score"] == report.score


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


@pytest.mark.parametrize(
    "name",
    ["in.csv", "in.csv.gz", "in.jsonl.gz", "in.ndjson", "IN.JSONL"],
)
def test_text_formats_give_same_results(tmp_path: Path, name: str) -> None:
    plain = check(tmp_path, write_jsonl(tmp_path / "plain.jsonl", ROWS))
    lines = (dumps(row).encode() + b"\n" for row in ROWS)
    data = as_csv(ROWS) if ".csv" in name else b"".join(lines)
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
    run_local(limited(), Job(str(source), str(out)))
    found = parquet.read_table(out).to_pylist()
    assert [row["verdict"] for row in found] == VERDICTS
    assert found[1]["claims"]["contradicted"] == 1
    assert Report.from_json(found[1]["report"]).response == ROWS[1]["response"]
    assert json.loads(found[1]["columns"]) == {"lang": "de", "n": 1, "when": None, "x": None}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]


def test_csv_output_equals_json_lines(tmp_path: Path) -> None:
    odd = {"id": 'x,"1"\r', "source": SOURCE, "response": GOOD, "note": 'a "b",\nc \ud800'}
    source = write_jsonl(tmp_path / "in.jsonl", [*ROWS, odd, 5])
    plain = check(tmp_path, source)
    out = tmp_path / "out.csv"
    run_local(limited(), Job(str(source), str(out)))
    found = list(read_results(out))
    assert [list(row) for row in found] == [list(row) for row in plain]
    for row, expected in zip(found, plain, strict=True):
        for name in ("verdict", "reason", "bad_row", "score", "claims", "columns"):
            assert row[name] == expected[name]
        assert row["id"] == str(expected["id"])
        if row["report"] is not None:
            assert row["report"]["claims"] == expected["report"]["claims"]
    with out.open(encoding="utf-8", newline="") as file:
        header, first, *rest = csv.reader(file, strict=True)
    assert header[:4] == ["id", "verdict", "reason", "bad_row"]
    assert first[:4] == ["a", "faithful", "", "false"]
    assert (rest[-1][3], rest[-1][-1]) == ("true", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.csv", "out.jsonl"]


def test_bad_parquet_value_is_bad_row(tmp_path: Path) -> None:
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


def test_missing_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ROWS)
    (tmp_path / "in.parquet").write_bytes(b"")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for given_file, out in (("in.parquet", "out.jsonl"), (source.name, "out.parquet")):
        with pytest.raises(MissingExtra, match=r"halldetect\[parquet\]"):
            run_local(limited(), Job(str(tmp_path / given_file), str(tmp_path / out)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "in.parquet"]


def test_zstandard(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    packed = pa.compress(as_csv(ROWS), "zstd", asbytes=True)
    path = tmp_path / "in.csv.zst"
    path.write_bytes(packed)
    assert [row["verdict"] for row in check(tmp_path, path)] == VERDICTS
    for damaged in (packed[:-9], b"not packed"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read to its end|does not begin"):
            check(tmp_path, path)


def test_standard_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"".join(dumps(row).encode() + b"\n" for row in ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
    assert main(["batch", "-", "-"]) == 0
    captured = capsys.readouterr()
    assert [json.loads(line)["verdict"] for line in captured.out.splitlines()] == VERDICTS
    assert "4 rows (4 in" in captured.err
    assert "2 faithful, 1 hallucinated, 0 abstained, 1 uncheckable, 0 bad" in captured.err


def test_columns_with_other_names(tmp_path: Path) -> None:
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
    assert not list(tmp_path.glob("*.parts*"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "line 1: not JSON: "),
        (b"[1]", "a row must be a JSON object, not list"),
        (b'{"source": "\xff"}', "line 1: not UTF-8 (byte 12)"),
        (b'{"source": NaN, "response": "x"}', "source must be text or a list of texts"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 9_000 + b"}", "not JSON"),
        (b'{"source": "a b"}', "'response' is missing"),
        (b'{"response": "a b", "source": null}', "'source' is missing"),
        (b'{"response": 5, "source": "a"}', "response must be text, not int"),
        (
            b'{"response": "a", "source": {"id": "a"}}',
            'Document 1 must have the key "text", or values of a record',
        ),
        (b'{"response": "a", "source": ["a", 5]}', "source document 1 must be text, not int"),
        (b'{"response": "a", "source": "a", "question": []}', "question must be text, not list"),
        (b'{"id": true, "response": "a", "source": "a"}', "the id must be text or a whole number"),
        (b'{"response": "a", "source": "a", "x": ' + b"[" * 400 + b"]" * 400 + b"}", "as JSON"),
        (dumps({"source": "a" * 5_001, "response": "b"}).encode(), "--max-source raises it"),
        (dumps({"source": "a", "response": "b" * 1_001}).encode(), "--max-response raises it"),
    ],
)
def test_bad_row_is_a_result_with_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    good = dumps(ROWS[0]).encode()
    bad, after = check(tmp_path, line + b"\n" + good)
    assert (bad["verdict"], bad["bad_row"], bad["report"]) == ("uncheckable", True, None)
    assert reason in bad["reason"]
    assert after["verdict"] == "faithful"


def test_too_long_row_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_ROW_BYTES", 300)
    good = dumps(ROWS[0]).encode()
    found = check(tmp_path, b"x" * 2_000 + b"\n" + good + b"\n" + b"y" * 301)
    assert [row["bad_row"] for row in found] == [True, False, True]
    assert "longer than 300 bytes" in found[2]["reason"]
    table = tmp_path / "in.csv"
    long = b'1,"' + b"a b\n" * 100 + b'",c\n'
    table.write_bytes(b"id,source,response\n" + long + f"2,{SOURCE},{GOOD}\n".encode())
    with pytest.raises(InputError, match="a row of more than 300 bytes"):
        check(tmp_path, table)


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
        ("in.jsonl.gz", gzip.compress(b"{}\n" * 999, mtime=0)[:-12], "cannot be read to its end"),
        ("in.csv.gz", b"not gzip", "cannot be read to its end"),
        ("in.txt", b"", "by its ending"),
        ("in.parquet.gz", b"", "by its ending"),
        ("in", b"", "by its ending"),
    ],
)
def test_unreadable_file_is_an_error(tmp_path: Path, name: str, data: bytes, message: str) -> None:
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


@settings(max_examples=10)
@given(st.lists(lines, max_size=6))
def test_each_line_is_one_result(
    tmp_path_factory: pytest.TempPathFactory, found: list[bytes]
) -> None:
    data = b"\n".join(found)
    rows = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    folder = tmp_path_factory.mktemp("fuzz")
    out = check(folder, data)
    assert len(out) == len(rows)
    assert all(row["verdict"] in {*VERDICTS} for row in out)
    assert all(row["reason"] for row in out if row["verdict"] == "uncheckable")


@settings(max_examples=20)
@given(
    st.lists(st.binary(max_size=30) | st.sampled_from([b'"', b",", b"\n", b'a,"b\n']), max_size=9)
)
def test_any_csv_bytes_are_rows_or_bad_rows(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "in.csv").write_bytes(b"source,response\n" + b"".join(parts))
    for row in check(folder, folder / "in.csv"):
        assert row["reason"] or not row["bad_row"]


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=20)
@given(st.lists(st.tuples(cells, cells), max_size=5))
def test_written_csv_is_read_back(
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
