"""The full page: the short report, the charts, and every table."""

from __future__ import annotations

from collections.abc import Sequence

from halldetect_bench.report.blocks import Block, Chart, Heading, Paragraph, Table
from halldetect_bench.report.charts import MAX_SERIES, accuracy_over_time, curves
from halldetect_bench.report.summary import interval, number, summary_blocks
from halldetect_bench.stats.answers import gain
from halldetect_bench.stats.evidence import Evidence, Scope
from halldetect_bench.stats.resampling import METRICS, Figure
from halldetect_bench.stats.tables import ABLATIONS, DIFFERENCES, KINDS, SIZES, Cell, Tables

_DIGITS = {"pairs": 1, "verifier tokens": 0}


def page_blocks(tables: Tables) -> list[Block]:
    """Return the whole page."""
    evidence = tables.evidence
    blocks = summary_blocks(tables)
    if evidence.methods:
        blocks += _time(tables)
        blocks += _curves(evidence)
        blocks += _quality(evidence.on_shared_rows, "Every figure, on the rows that all scored")
        if evidence.on_all_rows.count != evidence.on_shared_rows.count:
            blocks += _quality(evidence.on_all_rows, "Every figure, on all rows")
        gains = [
            [gain(cell) if isinstance(cell, Figure) else cell for cell in row]
            for row in tables.differences
        ]
        blocks += _table(
            f"Differences from {evidence.reference}",
            "On the rows that both scored; a positive number is in favour of the method.",
            DIFFERENCES,
            gains,
        )
    blocks += _table(
        "Ablations",
        "Every pair judged: how claims are made, into how many groups the source is cut, how "
        "judgements are added up. Means over the datasets of the ablation; compare lines with the "
        "same rows.",
        ABLATIONS,
        tables.ablations,
        4,
    )
    blocks += _table(
        "By size",
        f"`{evidence.reference}`. AUROC is the mean over the datasets that have at least ten "
        "responses of each class of that size.",
        SIZES,
        tables.sizes,
    )
    blocks += _table(
        "Recall by kind of error",
        f"`{evidence.reference}`, as the publishers name the kinds.",
        KINDS,
        tables.kinds,
    )
    if evidence.left_out:
        blocks.append(Heading("What was left out, and why"))
        blocks.append(Table(["file or method", "reason"], evidence.left_out, 2))
    return blocks


def _time(tables: Tables) -> list[Block]:
    """Return mean AUROC against seconds, from rows timed alone, for each machine."""
    evidence = tables.evidence
    scope = evidence.on_shared_rows
    blocks: list[Block] = []
    for machine, dataset in dict.fromkeys((one.machine, one.dataset) for one in tables.timed):
        points = []
        for one in tables.timed:
            method = evidence.label_like(one.header)
            accuracy = None if method is None else scope.mean(method, "AUROC").value
            here = (one.machine, one.dataset) == (machine, dataset)
            if here and one.cost.seconds and accuracy is not None:
                points.append((one.method, one.cost.seconds, accuracy))
        if points:
            caption = (
                f"Mean AUROC against seconds per response of {dataset}, one at a time ({machine})."
            )
            blocks.append(Chart(accuracy_over_time(points), caption))
    return [Heading("Accuracy against seconds"), *blocks] if blocks else []


def _curves(evidence: Evidence) -> list[Block]:
    scope = evidence.on_shared_rows
    chosen = _series(scope, evidence)
    blocks: list[Block] = [
        Heading("Curves"),
        Paragraph("On the rows that all methods scored; the best methods of different names."),
    ]
    for dataset, rows in scope.rows.items():
        series = []
        for method in chosen:
            if (dataset, method) in scope.measured:
                scores = evidence.scores[method][dataset]
                series.append((method, rows.gold.tolist(), [scores[name] for name in rows.ids]))
        if series and 0 < rows.hallucinated < len(rows.ids):
            caption = f"{dataset}, {len(rows.ids):,} rows, {rows.hallucinated:,} hallucinated."
            blocks.append(Chart(curves(series, dataset), caption))
    return blocks


def _series(scope: Scope, evidence: Evidence) -> list[str]:
    """Return the reference, then the best configuration of each method, up to the chart's limit."""
    ranked = sorted(scope.methods, key=lambda one: -(scope.mean(one, "AUROC").value or 0.0))
    names: dict[str, str] = {str(evidence.headers[evidence.reference].method["name"]): ""}
    for method in ranked:
        names.setdefault(str(evidence.headers[method].method["name"]), method)
    return [evidence.reference, *filter(None, names.values())][:MAX_SERIES]


def _quality(scope: Scope, title: str) -> list[Block]:
    rows = [
        [dataset, method, f"{len(found.ids):,}"]
        + [interval(scope.cell(dataset, method, name)) for name in METRICS]
        for dataset, found in scope.rows.items()
        for method in scope.methods
        if (dataset, method) in scope.measured
    ]
    return [Heading(title), Table(["dataset", "method", "rows", *METRICS], rows, 2)]


def _table(
    title: str, text: str, titles: Sequence[str], rows: Sequence[Sequence[Cell]], words: int = 2
) -> list[Block]:
    """Return a section with a table, or nothing if the table has no row."""
    if not rows:
        return []
    cells = [[_shown(*pair) for pair in zip(titles, row, strict=True)] for row in rows]
    return [Heading(title), Paragraph(text), Table(titles, cells, words)]


def _shown(title: str, cell: Cell) -> str:
    if isinstance(cell, Figure):
        return interval(cell)
    if isinstance(cell, float):
        return number(cell, _DIGITS.get(title, 3))
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
