"""Results packed for a repository: small, and without any text of the datasets.

A packed folder has for each dataset one file `rows.json.xz`, shared by all methods, and per method
one file `METHOD-DIGEST.columns.json.xz` with its header and a column for each figure of a report.
Many publishers do not allow copies of their texts, and claims contain such text. So the scores of
claims are assigned to the labelled sentences, which are named s1, s2, ... `read_all` also reads
packed folders; every figure of `bench report` stays the same.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import floor
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.predictions import Header, Prediction, Results
from halldetect_bench.stats.growth import SIZES
from halldetect_bench.stats.sentence_level import sentence_scores

ROWS = "rows.json.xz"
COLUMNS = ".columns.json.xz"
# Scores are stored in millionths, those of claims in ten-thousandths. They are rounded
# down, to stay on the same side of the threshold.
_FINE, _COARSE = 1_000_000, 10_000
_COSTS = (
    "generative_passes",
    "extractor_tokens_in",
    "extractor_tokens_out",
    "pairs_judged",
    "pairs_skipped",
    "verifier_tokens",
)
Row = dict[str, Any]


def pack(results: Sequence[Results], out: Path, *, timed: bool = False) -> Iterator[Path]:
    """Write the results of a folder to packed files in `out`, and yield their paths.

    Results without rows are left out. `timed` keeps seconds and joules: for rows that were scored
    one at a time.
    """
    for dataset in sorted({one.header.dataset for one in results if one.predictions}):
        group = [one for one in results if one.header.dataset == dataset and one.predictions]
        rows: dict[str, Row] = {}
        for one in group:
            for item in one.predictions:
                row = rows.setdefault(item.id, _row(item))
                if row["row"] != item.row:
                    raise InputError(f"{one.header.path}: row {item.id} differs from other files")
                for name in SIZES:
                    row[name] = row[name] or item.details.get(name)
        place = {name: at for at, name in enumerate(sorted(rows))}
        folder = (out / group[0].header.path).parent
        folder.mkdir(parents=True, exist_ok=True)
        yield _write(folder / ROWS, _as_columns([rows[name] for name in place]))
        for one in group:
            content = {"header": asdict(one.header), **_columns(one, place, timed)}
            yield _write(folder / f"{one.header.path.stem}{COLUMNS}", content)


def _row(item: Prediction) -> Row:
    return {
        "id": item.id,
        "row": item.row,
        "document": item.document,
        "kind": item.kind,
        "gold": item.gold,
        "sentences": [wrong for _, wrong in item.gold_claims],
        **{name: item.details.get(name) for name in SIZES},
    }


def _columns(one: Results, place: dict[str, int], timed: bool) -> dict[str, Any]:
    items = sorted(one.predictions, key=lambda item: place[item.id])
    columns: dict[str, list[Any]] = {
        "score": [_whole(item.score, _FINE) for item in items],
        "sentences": [_sentences(item) for item in items],
        **{name: [item.cost.get(name, 0) for item in items] for name in _COSTS},
    }
    if timed:
        columns["seconds"] = [
            round(sum(item.cost.get("seconds", {}).values()), 6) for item in items
        ]
        columns["joules"] = [item.resources.get("joules") for item in items]
        columns["energy"] = [item.resources.get("energy") for item in items]
    at = [place[item.id] for item in items]
    return {
        "rows": None if at == list(range(len(place))) else at,
        "reasons": {str(n): item.reason for n, item in enumerate(items) if item.reason},
        # A constant column is stored as its value.
        "columns": {name: _shortened(values) for name, values in columns.items()},
    }


def _shortened(values: list[Any]) -> Any:
    return {"all": values[0]} if values and all(one == values[0] for one in values) else values


def _whole(value: float | None, unit: int) -> int | None:
    # The small addend undoes the error of the product: 0.57 x 100 is 56.999...
    return None if value is None else floor(value * unit + 1e-6)


def _sentences(item: Prediction) -> list[int | None] | None:
    """Return the score of each labelled sentence; None if no claim was scored."""
    scored = [(text, score) for text, score in item.claims if score is not None]
    if not item.gold_claims or not scored:
        return None
    found = sentence_scores([text for text, _ in item.gold_claims], scored)
    return [_whole(score, _COARSE) for score in found]


def _as_columns(rows: Sequence[Row]) -> dict[str, Any]:
    return {name: _shortened([row[name] for row in rows]) for name in rows[0]}


def _write(path: Path, content: dict[str, Any]) -> Path:
    text = json.dumps(content, separators=(",", ":"))
    try:
        path.write_bytes(lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    return path


def read_packed(folder: Path) -> list[Results]:
    """Return the packed results in the folder of a dataset; empty without packed files."""
    files = sorted(folder.glob(f"*{COLUMNS}"))
    if not files:
        return []
    stored = _read(folder / ROWS)
    ids = stored["id"] if isinstance(stored["id"], list) else [stored["id"]["all"]]
    rows = [{name: _cell(column, at) for name, column in stored.items()} for at in range(len(ids))]
    return [_results(path, rows) for path in files]


def _results(path: Path, rows: Sequence[Row]) -> Results:
    content = _read(path)
    try:
        header = Header(**content["header"])
        places = range(len(rows)) if content["rows"] is None else content["rows"]
        predictions = tuple(
            _prediction(rows[place], content, at) for at, place in enumerate(places)
        )
    except (KeyError, IndexError, TypeError) as error:
        raise InputError(f"{path} is not a packed file of results: {error!r}") from error
    return Results(header, predictions)


def _prediction(row: Row, content: dict[str, Any], at: int) -> Prediction:
    columns = {name: _cell(column, at) for name, column in content["columns"].items()}
    details: dict[str, Any] = {name: row[name] for name in SIZES if row[name] is not None}
    cost = {name: columns[name] for name in _COSTS if columns[name]}
    resources = {}
    if columns.get("seconds") is not None:
        cost["seconds"] = {"all": columns["seconds"]}
    if columns.get("joules") is not None:
        resources = {"joules": columns["joules"], "energy": columns["energy"]}
    score = columns["score"]
    scores = columns["sentences"] or []
    return Prediction(
        id=row["id"],
        row=row["row"],
        document=row["document"],
        kind=row["kind"],
        gold=row["gold"],
        gold_score=None,
        score=None if score is None else score / _FINE,
        reason=content["reasons"].get(str(at)),
        claims=[
            [f"s{n}", None if one is None else one / _COARSE] for n, one in enumerate(scores, 1)
        ],
        cost=cost,
        details=details,
        resources=resources,
        gold_claims=[[f"s{n}", wrong] for n, wrong in enumerate(row["sentences"], 1)],
    )


def _cell(column: Any, at: int) -> Any:
    return column["all"] if isinstance(column, dict) else column[at]


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
        return found
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
