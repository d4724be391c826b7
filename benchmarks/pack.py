"""Pack results for the repository: small, and without any text of the datasets.

    python -m benchmarks.pack DIR OUT [--base HF]

`halldetect_bench.packed` describes the format; `halldetect bench report` reads it. `--base` is the
folder that `training.base.to_hf` made of the packaged weights: its predictions, and
OUT/settings.toml, then name the packaged weights.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from math import floor
from pathlib import Path
from typing import Any

from benchmarks.code_state import record
from benchmarks.store import command
from halldetect.errors import InputError
from halldetect.machine.integrity import WEIGHTS, digest_of, file_digests, joint_digest
from halldetect.verification.verifiers.onnx import OnnxVerifier
from halldetect_bench.packed import COARSE, COLUMNS, COSTS, FINE, ROWS, Row
from halldetect_bench.predictions import Prediction, Results, latency_folders
from halldetect_bench.results_folder import read_all
from halldetect_bench.stats.growth import SIZES
from halldetect_bench.stats.sentence_level import sentence_scores

BASE, LARGE = "base", "large"
SETTINGS = "settings.toml"
# Descriptions of weights, by the digest of the folder in the predictions.
Names = dict[str, dict[str, Any]]


def pack_folder(folder: Path, out: Path, names: Names | None = None) -> Iterator[Path]:
    """Pack every file of a folder of results and of its latency folders; yield the new files."""
    timed = latency_folders(folder)
    if not timed or any(folder.glob("*/*.jsonl*")):  # times may come from another machine
        yield from pack(named(read_all(folder), names or {}), out)
    for inner in timed:
        yield from pack(named(read_all(inner), names or {}), out / inner.name, timed=True)


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
        "score": [_whole(item.score, FINE) for item in items],
        "sentences": [_sentences(item) for item in items],
        **{name: [item.cost.get(name, 0) for item in items] for name in COSTS},
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
    return [_whole(score, COARSE) for score in found]


def _as_columns(rows: Sequence[Row]) -> dict[str, Any]:
    return {name: _shortened([row[name] for row in rows]) for name in rows[0]}


def _write(path: Path, content: dict[str, Any]) -> Path:
    text = json.dumps(content, separators=(",", ":"))
    try:
        path.write_bytes(lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    return path


def named(results: Sequence[Results], names: Names) -> list[Results]:
    """Return the results of a folder with other names for their weights."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            changed = names.get(str(value.get("folder_digest")), {})
            return {key: renamed(item) for key, item in (value | changed).items()}
        return [renamed(item) for item in value] if isinstance(value, list) else value

    return [
        replace(one, header=replace(one.header, method=renamed(one.header.method)))
        for one in results
    ]


def write_weights(settings: Path, weights: Path) -> None:
    """Write the digests of the weights into the settings of a report.

    Its lines `base = [...]`, `large = [...]` and the digests under [shipped] are replaced.
    """
    text = settings.read_text(encoding="utf-8")
    for name, file in ((BASE, "model.onnx"), (LARGE, "adapter.lora8")):
        digest = digest_of(weights / name / file)
        text, count = re.subn(
            rf"^{name} = \[.*\]$", f'{name} = ["{digest}"]', text, flags=re.MULTILINE
        )
        if count != 1:
            raise ValueError(f"{settings} has no line for the weights of {name}")
        text = re.sub(rf'^{name} = ".*"$', f'{name} = "{digest}"', text, flags=re.MULTILINE)
    settings.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    parser.add_argument("--base", type=Path, help="a folder of `training.base.to_hf`")
    options = parser.parse_args()
    names: Names = {}
    if options.base is not None:
        shipped = OnnxVerifier(WEIGHTS / BASE, name=BASE).description
        names[joint_digest(file_digests(options.base))] = {
            key: value for key, value in shipped.items() if key not in ("kind", "runtime")
        }
        write_weights(options.out / SETTINGS, WEIGHTS)
    for path in pack_folder(options.results, options.out, names):
        print(path)
    record(options.out)


if __name__ == "__main__":
    main()
