"""The report: at most `MAX_LINES` lines of Markdown, the numbers of the README, and CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from halldetect.errors import InputError
from halldetect_bench.stats.answers import gain
from halldetect_bench.stats.cost import COUNTED, MeanCost
from halldetect_bench.stats.evidence import Evidence, Scope
from halldetect_bench.stats.resampling import COMPARED, METRICS, THRESHOLD, Figure
from halldetect_bench.stats.selection import Settings, weights_of
from halldetect_bench.stats.tables import KINDS, SIZES, Cell, Tables

MAX_LINES = 150
# These keep the report below that limit.
MAX_MEANS, MAX_MATRIX, MAX_LOSSES, MAX_TIMED, MAX_REASONS = 11, 7, 5, 12, 6
TRAINED = "†"
NONE = "–"
# The block of the README, and that of the comparison, is between these marks.
BEGIN = "<!-- results: `halldetect bench report` writes this block -->"
END = "<!-- end of results -->"


def summary(tables: Tables) -> str:
    """Return the short report."""
    evidence = tables.evidence
    parts = [
        f"# {evidence.settings.title}",
        *evidence.settings.notes,
        _how(evidence),
        *filter(None, [newer_weights(evidence.settings)]),
    ]
    if evidence.methods:
        parts += _means(tables)
        parts += _matrix(evidence)
    if tables.answers:
        parts.append("## Questions")
        parts.append("\n".join(f"- **{one.question}** {one.text}" for one in tables.answers))
    if tables.comparisons:
        parts += _losses(tables)
    if tables.timed:
        parts += _cost(tables)
    if evidence.left_out:
        parts += _left_out(evidence)
    return "\n\n".join(parts) + "\n"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _how(evidence: Evidence) -> str:
    return (
        "Written by `halldetect bench report`. Hallucinated is the positive class. Balanced "
        f"accuracy is at the threshold {THRESHOLD}, which was fitted on none of the test datasets. "
        f"In brackets: 95 % intervals ({evidence.samples:,} bootstrap samples of documents). A "
        f"mean gives each dataset the same weight. {_weights(evidence)}The files come from "
        f"{len({one.code for one in evidence.headers.values()})} versions of the code."
    )


def newer_weights(settings: Settings) -> str:
    """Return a sentence on shipped weights that these results do not cover, or an empty text."""
    newer = [
        f"`{name}` {digest[:8]}, not {', '.join(one[:8] for one in settings.weights[name])}"
        for name, digest in settings.newer.items()
    ]
    if not newer:
        return ""
    return (
        "**These are results of earlier weights**: newer ones ship now "
        f"({'; '.join(newer)}). Their figures are in the model cards."
    )


def _weights(evidence: Evidence) -> str:
    """Return the digests of the weights, eight digits of each."""
    found: dict[str, str] = {}
    for header in evidence.headers.values():
        for name, digests in weights_of(header).items():
            named = digests & set(evidence.settings.weights.get(name, digests))
            if named:
                found[name] = ", ".join(sorted(digest[:8] for digest in named))
    if not found:
        return ""
    return f"Weights: {'; '.join(f'`{name}` {digests}' for name, digests in found.items())}. "


def _means(tables: Tables) -> list[str]:
    evidence = tables.evidence
    shared, every = evidence.on_shared_rows, evidence.on_all_rows
    both = every.methods and every.count != shared.count
    titles = ["method", *COMPARED]
    if both:
        titles += ["AUROC, all rows", "balanced accuracy, all rows"]
    if shared.development:
        titles.append("AUROC, development sets")
    rows = []
    for method in _best(shared, evidence.reference, MAX_MEANS):
        if shared.mean(method, "AUROC").value is None:  # a dataset is missing
            continue
        cells = [method]
        cells += _quality_cells(shared, method)
        if both:
            cells += _quality_cells(every, method)
        if shared.development:
            cells.append(number(shared.mean(method, "AUROC", shared.development).value))
        cost = tables.costs[method]
        cells += [number(cost.counted["generative passes"], 1), number(cost.tokens, 0)]
        rows.append(cells)
    text = (
        f"Means over {len(shared.shared)} datasets, on the {shared.count:,} rows that all methods "
        "scored."
    )
    if both:
        text += (
            f' "All rows" are the {every.count:,} rows that the methods without a language model '
            "scored."
        )
    text += " Passes of a language model and tokens are per response."
    if shared.development:
        text += (
            " Development sets, on which weights, rules or settings were chosen, have a mean of "
            f"their own: {', '.join(shared.development)}."
        )
    text += _of_all(len(rows), len(shared.methods))
    return ["## Means", text, table([*titles, "passes", "tokens"], rows)]


def _quality_cells(scope: Scope, method: str) -> list[str]:
    """Return the mean AUROC with its interval, and the mean balanced accuracy."""
    if method not in scope.methods:
        return [NONE, NONE]
    auroc, accuracy = (scope.mean(method, name) for name in COMPARED)
    return [interval(auroc), number(accuracy.value)]


def _of_all(shown: int, count: int) -> str:
    """Return a sentence on methods that a table leaves out; empty if it has all of them."""
    return (
        "" if shown >= count else f" The best {shown} of {count} methods; the CSV files have all."
    )


def _best(scope: Scope, reference: str, limit: int) -> list[str]:
    """Return the reference and the methods with the highest mean AUROC, in table order."""
    ranked = sorted(scope.methods, key=lambda one: -(scope.mean(one, "AUROC").value or 0.0))
    chosen = {reference, *ranked[: limit - 1]}
    return [method for method in scope.methods if method in chosen]


def _matrix(evidence: Evidence) -> list[str]:
    scope = evidence.on_shared_rows
    trained = evidence.trained_on
    titles = [f"{name}{TRAINED if name in trained else ''}" for name in scope.rows]
    rows = [["rows", *(f"{len(one.ids):,}" for one in scope.rows.values())]]
    for method in _best(scope, evidence.reference, MAX_MATRIX):
        rows.append([method, *(number(scope.cell(name, method, "AUROC").value)
                               for name in scope.rows)])  # fmt: skip
    text = "AUROC on the rows that all methods scored."
    text += _of_all(len(rows) - 1, len(scope.methods))
    told = [f"{name}: {trained[name]}" for name in scope.rows if name in trained]
    if told:
        text += f" {TRAINED} Related data was trained on ({'; '.join(told)})."
    return ["## By dataset", text, table(["", *titles], rows)]


def _losses(tables: Tables) -> list[str]:
    reference = tables.evidence.reference
    count = sum(len(one.by_dataset) for one in tables.comparisons.values())
    heading = f"## Where {reference} loses"
    if not tables.losses:
        text = f"In none of {count} comparisons is another method better by more than chance."
        return [heading, text]
    rest = " (all are in `differences.csv`)" if len(tables.losses) > MAX_LOSSES else ""
    scope = tables.evidence.on_shared_rows
    found = ((scope.cell(name, reference, "AUROC").value, name) for name in scope.rows)
    worst = sorted((value, name) for value, name in found if value is not None)[:3]
    return [
        heading,
        f"In {len(tables.losses)} of {count} comparisons (a method on a dataset) another method "
        "has a higher AUROC beyond chance; chance alone gives about one in forty. The greatest "
        f"differences{rest}. Lowest AUROCs: "
        f"{', '.join(f'{name} {value:.3f}' for value, name in worst)}.",
        table(
            ["dataset", "method", "AUROC gained"],
            [[*names, gain(auroc)] for *names, auroc in tables.losses[:MAX_LOSSES]],
        ),
    ]


def _cost(tables: Tables) -> list[str]:
    machines = list(dict.fromkeys(one.machine for one in tables.timed))
    counts = dict.fromkeys((one.machine, one.cost.rows, one.dataset) for one in tables.timed)
    measured = "; ".join(f"{machine}, {rows} rows of {name}" for machine, rows, name in counts)
    rows: dict[tuple[str, str], dict[str, MeanCost]] = {}
    for one in tables.timed:
        rows.setdefault((one.dataset, one.method), {})[one.machine] = one.cost
    return [
        "## Cost",
        "Seconds per response, one at a time, alone on the machine, without loading models. "
        "Tokens are all that any model read or wrote. `cost.csv` also has the energy. Measured: "
        f"{measured}.",
        table(
            ["dataset", "method", "tokens", *machines],
            [
                [
                    dataset,
                    method,
                    number(next(iter(costs.values())).tokens, 0),
                    *(number(costs[name].seconds) if name in costs else NONE for name in machines),
                ]
                for (dataset, method), costs in list(rows.items())[:MAX_TIMED]
            ],
        ),
    ]


def _left_out(evidence: Evidence) -> list[str]:
    reasons: dict[str, int] = {}
    for _, reason in evidence.left_out:
        kind = reason.partition(" (")[0]
        reasons[kind] = reasons.get(kind, 0) + 1
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    items = [f"{count} x {reason}" for reason, count in ranked[:MAX_REASONS]]
    if len(ranked) > MAX_REASONS:
        items.append(f"{sum(count for _, count in ranked[MAX_REASONS:])} for other reasons")
    return [
        "## Left out",
        f"{len(evidence.left_out)} result files are in no table: {'; '.join(items)}.",
    ]


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with some digits after the point, or a dash for None."""
    return NONE if value is None else f"{value:,.{digits}f}"


def interval(found: Figure) -> str:
    """Return a value with its interval."""
    if found.value is None or found.low is None or found.high is None:
        return number(found.value)
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def with_block(text: str, block: str) -> str:
    """Return a text, which must have both marks, with its block rewritten."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"no place for the numbers: the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{block} {END}{after}"


def readme_text(tables: Tables) -> str:
    """Return the means of our verifiers and of another method."""
    evidence, scope = tables.evidence, tables.evidence.on_all_rows
    methods = {
        "`base`": evidence.reference,
        "`large`": evidence.find("halldetect", "large"),
        "MiniCheck's method on the weights of `base`": evidence.find("minicheck-style", "base"),
    }
    means = [
        f"{number(scope.mean(label, COMPARED[0]).value)} and "
        f"{number(scope.mean(label, COMPARED[1]).value)} with {name}"
        for name, label in methods.items()
        if label in scope.methods
    ]
    said = (
        f"Mean of {len(scope.shared)} datasets, {scope.count:,} rows, {' and '.join(COMPARED)}: "
        f"{'; '.join(means)}."
    )
    if scope.development:
        said += f" The {len(scope.development)} development sets are left out."
    return " ".join(filter(None, [said, newer_weights(evidence.settings)]))


def csv_files(tables: Tables) -> dict[str, str]:
    """Return every table as a CSV file, by name: six digits, empty cells for missing numbers."""
    reference = tables.evidence.reference
    differences = ([method, reference, *rest] for method, *rest in tables.differences)
    return {
        "quality.csv": _csv(
            ["rows of", "dataset", "method", "rows", *METRICS], _quality(tables), METRICS
        ),
        "differences.csv": _csv(["method", "less", "dataset", *COMPARED], differences),
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
                for mean, names in _meant(scope).items():
                    rows_of = sum(len(scope.rows[name].ids) for name in names)
                    means = (scope.mean(method, name, names) for name in METRICS)
                    yield [title, mean, method, rows_of, *means]
            for dataset, rows in scope.rows.items():
                if (dataset, method) in scope.measured:
                    cells = (scope.cell(dataset, method, name) for name in METRICS)
                    yield [title, dataset, method, len(rows.ids), *cells]


def _meant(scope: Scope) -> dict[str, tuple[str, ...]]:
    """Return the datasets of every mean by its name."""
    if not scope.development:
        return {"mean": scope.shared}
    every = tuple(name for name in scope.rows if name in {*scope.shared, *scope.development})
    named = {"mean of test sets": scope.shared, "mean of development sets": scope.development}
    return {"mean": every, **named}


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
