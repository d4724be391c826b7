"""The full page: the short report, the charts, and every table."""

from __future__ import annotations

from halldetect_bench.report.blocks import Block, Chart, Heading, Paragraph, Table
from halldetect_bench.report.charts import MAX_SERIES, accuracy_over_time, curves
from halldetect_bench.report.summary import interval, number, summary_blocks
from halldetect_bench.stats.answers import gain
from halldetect_bench.stats.evidence import Evidence, Scope
from halldetect_bench.stats.resampling import METRICS
from halldetect_bench.stats.tables import Tables

_ABLATED = ("claims", "verifier", "granularities", "scoring")


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
        blocks += _differences(tables)
    blocks += _ablations(tables)
    blocks += _growth(tables)
    blocks += _kinds(tables)
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
                scores = evidence.scores(method)[dataset]
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


def _differences(tables: Tables) -> list[Block]:
    rows = [
        [method, dataset, *(gain(one[name]) for name in ("AUROC", "balanced accuracy"))]
        for method, compared in tables.comparisons.items()
        for dataset, one in {"mean": compared.means, **compared.by_dataset}.items()
    ]
    if not rows:
        return []
    return [
        Heading(f"Differences from {tables.evidence.reference}"),
        Paragraph("On the rows that both scored; a positive number is in favour of the method."),
        Table(["method", "dataset", "AUROC", "balanced accuracy"], rows, 2),
    ]


def _ablations(tables: Tables) -> list[Block]:
    if not tables.ablations:
        return []
    return [
        Heading("Ablations"),
        Paragraph(
            "Every pair judged: how claims are made, into how many groups the source is cut, how "
            "judgements are added up. Means over the datasets of the ablation; compare lines "
            "with the same rows."
        ),
        Table(
            [*_ABLATED, "datasets", "rows", "AUROC", "balanced accuracy"],
            [
                [
                    one.extractor,
                    one.verifier,
                    one.scales,
                    one.scoring,
                    str(one.datasets),
                    f"{one.rows:,}",
                    interval(one.auroc),
                    interval(one.balanced_accuracy),
                ]
                for one in tables.ablations
            ],
            4,
        ),
    ]


def _growth(tables: Tables) -> list[Block]:
    if not tables.growth:
        return []
    return [
        Heading("By size"),
        Paragraph(
            f"`{tables.evidence.reference}`. AUROC is the mean over the datasets that have at "
            "least ten responses of each class of that size."
        ),
        Table(
            ["by", "size", "rows", "datasets", "AUROC", "pairs", "verifier tokens"],
            [
                [
                    one.by,
                    one.range,
                    f"{one.rows:,}",
                    str(one.datasets),
                    interval(one.auroc),
                    number(one.pairs, 1),
                    number(one.tokens, 0),
                ]
                for one in tables.growth
            ],
            2,
        ),
    ]


def _kinds(tables: Tables) -> list[Block]:
    if not tables.kinds:
        return []
    return [
        Heading("Recall by kind of error"),
        Paragraph(f"`{tables.evidence.reference}`, as the publishers name the kinds."),
        Table(
            ["dataset", "kind", "rows", "recall"],
            [[one.dataset, one.kind, f"{one.rows:,}", number(one.recall)] for one in tables.kinds],
            2,
        ),
    ]
