"""The tables as CSV files: numbers in full, an empty cell where there is no number."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields

from halldetect_bench.stats.ablation_table import AblationCell
from halldetect_bench.stats.bootstrap import Difference
from halldetect_bench.stats.per_dataset import COSTS, METRICS
from halldetect_bench.stats.sentence_level import SentenceQuality
from halldetect_bench.stats.tables import COMPARED, Tables


def csv_files(tables: Tables) -> dict[str, str]:
    """The names of the files with their content.

    tables: all tables.
    """
    return {
        "quality.csv": _csv(
            ["dataset", "method", "rows", "answered", "hallucinated"]
            + [f"{name}{part}" for name in METRICS for part in ("", " low", " high")],
            [
                [one.dataset, one.method, one.rows, one.answered, one.hallucinated]
                + [
                    value
                    for name in METRICS
                    for value in (
                        one.figures[name].value,
                        one.figures[name].low,
                        one.figures[name].high,
                    )
                ]
                for one in tables.quality
            ],
        ),
        "means.csv": _csv(
            ["method", "datasets"] + [f"{name}{part}" for name in METRICS for part in ("", " of")],
            [
                [one.method, one.datasets]
                + [value for name in METRICS for value in one.figures[name] or (None, 0)]
                for one in tables.means
            ],
        ),
        "differences.csv": _csv(
            ["dataset", "method", "less", "rows"]
            + [f"{name}{part}" for name in COMPARED for part in ("", " low", " high", " p")]
            + ["right only here", "right only there", "McNemar p"],
            [
                [one.dataset, one.method, tables.reference, one.rows]
                + [value for name in COMPARED for value in _parts(one.differences[name])]
                + (
                    [None] * 3
                    if one.mcnemar is None
                    else [one.mcnemar.only_second, one.mcnemar.only_first, one.mcnemar.p_value]
                )
                for one in tables.comparisons
            ],
        ),
        "kinds.csv": _csv(
            ["dataset", "method", "kind", "rows", "recall"],
            [
                [one.dataset, one.method, kind, rows, recall]
                for one in tables.recalls
                for kind, (recall, rows) in one.kinds.items()
            ],
        ),
        "agreement.csv": _csv(
            ["dataset", "method", "rows", "Spearman", "Pearson"],
            [
                [one.dataset, one.method, one.rows, one.spearman, one.pearson]
                for one in tables.agreements
            ],
        ),
        "sentences.csv": _csv(
            [field.name.replace("_", " ") for field in fields(SentenceQuality)],
            [astuple(one) for one in tables.sentences],
        ),
        "ablations.csv": _csv(
            [field.name.replace("_", " ") for field in fields(AblationCell)],
            [astuple(one) for one in tables.ablations],
        ),
        "cost.csv": _csv(
            ["dataset", "method", "rows", *COSTS, "energy from"],
            [
                [one.dataset, one.method, one.rows, *map(one.means.get, COSTS), one.energy]
                for one in tables.costs
            ],
        ),
    }


def _parts(found: Difference | None) -> tuple[float | None, ...]:
    if found is None:
        return (None,) * 4
    return found.value, found.low, found.high, found.p_value


def _csv(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()
