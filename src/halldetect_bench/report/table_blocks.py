"""Every table of the report, with rounded numbers."""

from __future__ import annotations

from halldetect_bench.report.blocks import Table
from halldetect_bench.stats.ablation_table import MEAN
from halldetect_bench.stats.bootstrap import Difference, McNemar
from halldetect_bench.stats.per_dataset import COSTS, METRICS, Figure
from halldetect_bench.stats.tables import COMPARED, Tables

NONE = "–"
_ABLATED = "datasets,extractor,verifier,scales,scoring,rows,pairs,AUROC,F1,balanced accuracy"
_MCNEMAR = ("right only here", "right only there", "McNemar p")


def means(tables: Tables) -> Table:
    """The means over the datasets that the methods share.

    tables: all tables.
    """
    rows = []
    for one in tables.means:
        cells = []
        for name in METRICS:
            found = one.figures[name]
            if found is None:
                cells.append(NONE)
            else:
                value, count = found
                # A mean over fewer datasets is another mean: say so.
                cells.append(number(value) + ("" if count == one.datasets else f" (of {count})"))
        rows.append([one.method, str(one.datasets), *cells])
    return Table(["method", "datasets", *METRICS], rows)


def quality(tables: Tables, dataset: str) -> Table:
    """The quality of every method on one dataset.

    tables: all tables. dataset: its name.
    """
    found = [one for one in tables.quality if one.dataset == dataset]
    return Table(
        ["method", "rows", "answered", "hallucinated", *METRICS],
        [
            [one.method, str(one.rows), str(one.answered), str(one.hallucinated)]
            + [_figure(one.figures[name]) for name in METRICS]
            for one in found
        ],
    )


def differences(tables: Tables) -> Table:
    """The differences from the reference method.

    tables: all tables.
    """
    titles = [title for name in COMPARED for title in (name, "p")]
    return Table(
        ["dataset", "method", "rows", *titles, *_MCNEMAR],
        [
            [one.dataset, one.method, str(one.rows)]
            + [cell for name in COMPARED for cell in difference(one.differences[name])]
            + _mcnemar(one.mcnemar)
            for one in tables.comparisons
        ],
        2,
    )


def _mcnemar(found: McNemar | None) -> list[str]:
    if found is None:
        return [NONE] * 3
    return [str(found.only_second), str(found.only_first), f"{found.p_value:.3f}"]


def ablations(tables: Tables) -> Table:
    """The ablations: means where there are any, else all cells.

    tables: all tables.
    """
    averaged = [one for one in tables.ablations if one.dataset.startswith(MEAN)]
    return Table(
        _ABLATED.split(","),
        [
            [
                *(one.dataset, one.extractor, one.verifier, one.scales, one.scoring),
                *(str(one.rows), f"{one.pairs:.1f}"),
                *map(or_none, (one.auroc, one.f1, one.balanced_accuracy)),
            ]
            # Without a dataset that all cells share there is no mean: then show all cells.
            for one in averaged or tables.ablations
        ],
        5,
    )


def sentences(tables: Tables) -> Table:
    """The quality on labelled sentences.

    tables: all tables.
    """
    return Table(
        "dataset,method,labelled,scored,hallucinated,AUROC,balanced accuracy,F1".split(","),
        [
            [one.dataset, one.method, str(one.labelled), str(one.scored), str(one.hallucinated)]
            + [or_none(value) for value in (one.auroc, one.balanced_accuracy, one.f1)]
            for one in tables.sentences
        ],
        2,
    )


def kinds(tables: Tables) -> Table:
    """Recall by kind of error.

    tables: all tables.
    """
    return Table(
        ["dataset", "method", "kind", "rows", "recall"],
        [
            [one.dataset, one.method, kind, str(rows), number(recall)]
            for one in tables.recalls
            for kind, (recall, rows) in one.kinds.items()
        ],
        3,
    )


def agreements(tables: Tables) -> Table:
    """The correlation with people's scores.

    tables: all tables.
    """
    return Table(
        ["dataset", "method", "rows", "Spearman", "Pearson"],
        [
            [one.dataset, one.method, str(one.rows), or_none(one.spearman), or_none(one.pearson)]
            for one in tables.agreements
        ],
        2,
    )


def costs(tables: Tables) -> Table:
    """The mean cost per response.

    tables: all tables.
    """

    def cell(name: str, value: float | None) -> str:
        if value is None:
            return NONE
        return f"{value:.3f}" if name == "seconds" else f"{value:.1f}"

    return Table(
        ["dataset", "method", "rows", *COSTS],
        [
            [one.dataset, one.method, str(one.rows)]
            + [cell(name, one.means[name]) for name in COSTS]
            for one in tables.costs
        ],
        2,
    )


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return NONE
    if figure.low is None or figure.high is None:
        return number(figure.value)
    return f"{number(figure.value)} [{number(figure.low)}, {number(figure.high)}]"


def difference(found: Difference | None) -> tuple[str, str]:
    """A difference with its interval, and its p value.

    found: the difference, if it exists.
    """
    if found is None:
        return NONE, NONE
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]", f"{found.p_value:.3f}"


def or_none(value: float | None) -> str:
    """A number, or a dash where there is none.

    value: the number.
    """
    return NONE if value is None else number(value)


def number(value: float) -> str:
    """A number with three decimals.

    value: the number.
    """
    return f"{value:.3f}"
