"""The tables as Markdown for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from halldetect.bench.resample import Difference
from halldetect.bench.tables import COMPARED, COSTS, METRICS, THRESHOLD, Figure, Tables

NONE = "–"


def markdown(tables: Tables) -> str:
    """One Markdown document with every table."""
    parts = [
        "# Results",
        "Written by `halldetect bench report`. The hallucinated class is the positive one; "
        f"precision, recall, F1 and balanced accuracy are at the threshold {THRESHOLD}. Best F1 "
        "is taken at the threshold that suits the same data best, so it is an upper bound. ECE "
        "is the expected calibration error, lower is better. In brackets: 95 % bootstrap "
        f"intervals ({tables.samples} samples of documents). {NONE} marks what does not exist "
        "on the data.",
    ]
    if any(one.datasets > 1 for one in tables.means):
        parts += ["## Mean over the datasets that every method has", _means(tables)]
    for dataset in dict.fromkeys(one.dataset for one in tables.quality):
        parts += [f"## {dataset}", _quality(tables, dataset)]
    if tables.compared:
        parts += [
            f"## Differences from {tables.first}",
            "A positive difference is in favour of the method in the row. Paired bootstrap on "
            "the rows that both scored, p two-sided and not corrected for many comparisons.",
            _differences(tables),
        ]
    if tables.recalls:
        parts += ["## Recall by kind of error", f"At the threshold {THRESHOLD}.", _kinds(tables)]
    if tables.agreements:
        parts += [
            "## Agreement with people's scores",
            "Correlation over all rows that have such a score; higher is better.",
            _agreements(tables),
        ]
    parts += [
        "## Cost per response",
        "Means over all rows, loading of models not counted. Tokens in and out are those of "
        "the generative model; the tokens of an embedder are counted as the verifier's.",
        _costs(tables),
    ]
    return "\n\n".join(parts) + "\n"


def csv_sheets(tables: Tables) -> dict[str, str]:
    """File names and their content; numbers in full, an empty cell where there is none."""
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
            + [f"{name}{part}" for name in COMPARED for part in ("", " low", " high", " p")],
            [
                [one.dataset, one.method, tables.first, one.rows]
                + [value for name in COMPARED for value in _parts(one.differences[name])]
                for one in tables.compared
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
        "cost.csv": _csv(
            ["dataset", "method", "rows", *COSTS],
            [
                [one.dataset, one.method, one.rows, *(one.means[name] for name in COSTS)]
                for one in tables.spent
            ],
        ),
    }


def _means(tables: Tables) -> str:
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
                cells.append(_number(value) + ("" if count == one.datasets else f" (of {count})"))
        rows.append([one.method, str(one.datasets), *cells])
    return _table(["method", "datasets", *METRICS], rows)


def _quality(tables: Tables, dataset: str) -> str:
    found = [one for one in tables.quality if one.dataset == dataset]
    return _table(
        ["method", "rows", "answered", "hallucinated", *METRICS],
        [
            [one.method, str(one.rows), str(one.answered), str(one.hallucinated)]
            + [_figure(one.figures[name]) for name in METRICS]
            for one in found
        ],
    )


def _differences(tables: Tables) -> str:
    return _table(
        ["dataset", "method", "rows", *(title for name in COMPARED for title in (name, "p"))],
        [
            [one.dataset, one.method, str(one.rows)]
            + [cell for name in COMPARED for cell in _difference(one.differences[name])]
            for one in tables.compared
        ],
    )


def _kinds(tables: Tables) -> str:
    return _table(
        ["dataset", "method", "kind", "rows", "recall"],
        [
            [one.dataset, one.method, kind, str(rows), _number(recall)]
            for one in tables.recalls
            for kind, (recall, rows) in one.kinds.items()
        ],
    )


def _agreements(tables: Tables) -> str:
    return _table(
        ["dataset", "method", "rows", "Spearman", "Pearson"],
        [
            [one.dataset, one.method, str(one.rows)]
            + [NONE if value is None else _number(value) for value in (one.spearman, one.pearson)]
            for one in tables.agreements
        ],
    )


def _costs(tables: Tables) -> str:
    return _table(
        ["dataset", "method", "rows", *COSTS],
        [
            [one.dataset, one.method, str(one.rows)]
            + [
                f"{one.means[name]:.3f}" if name == "seconds" else f"{one.means[name]:.1f}"
                for name in COSTS
            ]
            for one in tables.spent
        ],
    )


def _figure(figure: Figure) -> str:
    if figure.value is None:
        return NONE
    if figure.low is None or figure.high is None:
        return _number(figure.value)
    return f"{_number(figure.value)} [{_number(figure.low)}, {_number(figure.high)}]"


def _difference(found: Difference | None) -> tuple[str, str]:
    if found is None:
        return NONE, NONE
    return f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]", f"{found.p_value:.3f}"


def _parts(found: Difference | None) -> tuple[float | None, ...]:
    if found is None:
        return (None,) * 4
    return found.value, found.low, found.high, found.p_value


def _number(value: float) -> str:
    return f"{value:.3f}"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _csv(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return out.getvalue()
