"""The tables as CSV files, with six digits and empty cells for missing numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from halldetect_bench.stats.cost import COUNTED
from halldetect_bench.stats.resampling import METRICS, Figure
from halldetect_bench.stats.tables import Tables


def csv_files(tables: Tables) -> dict[str, str]:
    """Return the content of each file by name."""
    return {
        "quality.csv": _csv(
            ["rows of", "dataset", "method", "rows", *_parts(METRICS)], _quality(tables)
        ),
        "differences.csv": _csv(
            ["method", "less", "dataset", *_parts(("AUROC", "balanced accuracy"))],
            (
                [
                    method,
                    tables.evidence.reference,
                    dataset,
                    *_spread(one["AUROC"], one["balanced accuracy"]),
                ]
                for method, compared in tables.comparisons.items()
                for dataset, one in {"mean": compared.means, **compared.by_dataset}.items()
            ),
        ),
        "ablations.csv": _csv(
            [
                "claims",
                "verifier",
                "granularities",
                "scoring",
                "datasets",
                "rows",
                *_parts(("AUROC", "balanced accuracy")),
            ],
            (
                [
                    one.extractor,
                    one.verifier,
                    one.scales,
                    one.scoring,
                    one.datasets,
                    one.rows,
                    *_spread(one.auroc, one.balanced_accuracy),
                ]
                for one in tables.ablations
            ),
        ),
        "sizes.csv": _csv(
            ["by", "size", "rows", "datasets", *_parts(("AUROC",)), "pairs", "verifier tokens"],
            (
                [
                    one.by,
                    one.range,
                    one.rows,
                    one.datasets,
                    *_spread(one.auroc),
                    _rounded(one.pairs),
                    _rounded(one.tokens),
                ]
                for one in tables.growth
            ),
        ),
        "kinds.csv": _csv(
            ["dataset", "kind", "rows", "recall"],
            ([one.dataset, one.kind, one.rows, _rounded(one.recall)] for one in tables.kinds),
        ),
        "cost.csv": _csv(
            ["machine", "dataset", "method", "rows", *COUNTED, "seconds", "joules", "energy from"],
            (
                [
                    machine,
                    dataset,
                    method,
                    cost.rows,
                    *map(_rounded, cost.counted.values()),
                    _rounded(cost.seconds),
                    _rounded(cost.joules),
                    cost.energy,
                ]
                for machine, dataset, method, cost in [
                    *(("", "all", name, one.without_time()) for name, one in tables.costs.items()),
                    *((one.machine, one.dataset, one.method, one.cost) for one in tables.timed),
                ]
            ),
        ),
    }


def _quality(tables: Tables) -> Iterable[list[object]]:
    evidence = tables.evidence
    for title, scope in (("shared", evidence.on_shared_rows), ("all", evidence.on_all_rows)):
        for method in scope.methods:
            if scope.shared:
                means = [scope.mean(method, name) for name in METRICS]
                yield [title, "mean", method, scope.count, *_spread(*means)]
            for dataset, rows in scope.rows.items():
                if (dataset, method) in scope.measured:
                    cells = [scope.cell(dataset, method, name) for name in METRICS]
                    yield [title, dataset, method, len(rows.ids), *_spread(*cells)]


def _parts(names: Iterable[str]) -> list[str]:
    return [f"{name}{part}" for name in names for part in ("", " low", " high")]


def _spread(*found: Figure) -> list[object]:
    return [_rounded(value) for one in found for value in (one.value, one.low, one.high)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _csv(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()
