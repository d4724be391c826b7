"""The tables as CSV files, with six digits and empty cells for missing numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from halldetect_bench.stats.cost import COUNTED
from halldetect_bench.stats.resampling import COMPARED, METRICS, Figure
from halldetect_bench.stats.tables import ABLATIONS, KINDS, SIZES, Cell, Tables


def csv_files(tables: Tables) -> dict[str, str]:
    """Return the content of each file by name."""
    reference = tables.evidence.reference
    differences = ([method, reference, *rest] for method, *rest in tables.differences)
    return {
        "quality.csv": _csv(
            ["rows of", "dataset", "method", "rows", *METRICS], _quality(tables), METRICS
        ),
        "differences.csv": _csv(["method", "less", "dataset", *COMPARED], differences),
        "ablations.csv": _csv(ABLATIONS, tables.ablations),
        "sizes.csv": _csv(SIZES, tables.sizes),
        "kinds.csv": _csv(KINDS, tables.kinds),
        "cost.csv": _csv(
            ["machine", "dataset", "method", "rows", *COUNTED, "seconds", "joules", "energy from"],
            (
                [*names, cost.rows, *cost.counted.values(), cost.seconds, cost.joules, cost.energy]
                for *names, cost in [
                    *(("", "all", name, one.without_time()) for name, one in tables.costs.items()),
                    *((one.machine, one.dataset, one.method, one.cost) for one in tables.timed),
                ]
            ),
        ),
    }


def _quality(tables: Tables) -> Iterable[list[Cell]]:
    evidence = tables.evidence
    for title, scope in (("shared", evidence.on_shared_rows), ("all", evidence.on_all_rows)):
        for method in scope.methods:
            if scope.shared:
                means = (scope.mean(method, name) for name in METRICS)
                yield [title, "mean", method, scope.count, *means]
            for dataset, rows in scope.rows.items():
                if (dataset, method) in scope.measured:
                    cells = (scope.cell(dataset, method, name) for name in METRICS)
                    yield [title, dataset, method, len(rows.ids), *cells]


def _csv(
    titles: Sequence[str], rows: Iterable[Sequence[Cell]], figures: Sequence[str] = COMPARED
) -> str:
    """Return a table as text; each column of `figures` becomes value, low and high."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parts = [("", " low", " high") if title in figures else ("",) for title in titles]
    writer.writerow(
        f"{title}{end}" for title, ends in zip(titles, parts, strict=True) for end in ends
    )
    for row in rows:
        writer.writerow(value for cell in row for value in _values(cell))
    return out.getvalue()


def _values(cell: Cell) -> list[object]:
    if isinstance(cell, Figure):
        return [value for part in (cell.value, cell.low, cell.high) for value in _values(part)]
    return [round(cell, 6) if isinstance(cell, float) else cell]
