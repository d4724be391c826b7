"""Results packed for a repository: small, and without any text of the datasets.

A packed folder has for each dataset one file `rows.json.xz`, shared by all methods, and per method
one file `METHOD-DIGEST.columns.json.xz` with its header and a column for each figure of a report.
Many publishers do not allow copies of their texts, and claims contain such text. So the scores of
claims are assigned to the labelled sentences, which are named s1, s2, ... `benchmarks.pack` writes
packed folders; `read_all` reads them, and every figure of `bench report` stays the same.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.predictions import Header, Prediction, Results
from halldetect_bench.stats.growth import SIZES

ROWS = "rows.json.xz"
COLUMNS = ".columns.json.xz"
# Scores are stored in millionths, those of claims in ten-thousandths. They are rounded
# down, to stay on the same side of the threshold.
FINE, COARSE = 1_000_000, 10_000
COSTS = (
    "generative_passes",
    "extractor_tokens_in",
    "extractor_tokens_out",
    "pairs_judged",
    "verifier_tokens",
)
Row = dict[str, Any]


def read_packed(folder: Path, method: str = "") -> list[Results]:
    """Return the packed results in the folder of a dataset, by default of all methods."""
    files = sorted(folder.glob(f"{method}*{COLUMNS}"))
    if not files:
        return []
    stored = _read(folder / ROWS)
    ids = stored["id"] if isinstance(stored["id"], list) else [stored["id"]["all"]]
    rows = [{name: _cell(column, at) for name, column in stored.items()} for at in range(len(ids))]
    return [_results(path, rows) for path in files]


def _results(path: Path, rows: Sequence[Row]) -> Results:
    content = _read(path)
    try:
        header = Header.from_stored(content["header"])
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
    cost = {name: columns[name] for name in COSTS if columns[name]}
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
        score=None if score is None else score / FINE,
        reason=content["reasons"].get(str(at)),
        claims=[
            [f"s{n}", None if one is None else one / COARSE] for n, one in enumerate(scores, 1)
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
