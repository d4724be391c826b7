"""The report of a dataset as GitHub Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halldetect.batch.counts import ROW_KINDS, RowCounts
from halldetect.batch.dataset_report.summary import BINS, Summary, worst_row
from halldetect.render.markdown import escape
from halldetect.render.phrases import STATES

_BAR = 30


def dataset_markdown(summary: Summary, title: str) -> str:
    """The report as Markdown.

    Args:
        summary: what the results come to.
        title: the name of the dataset.
    """
    counts = summary.counts
    parts = [f"# {escape(title)}: HallDetect dataset report", f"**{_headline(counts)}**"]
    parts += [
        "## Responses",
        _table(["", "rows", "share"], _shares((kind, counts.by_kind[kind]) for kind in ROW_KINDS)),
    ]
    if any(bin.total() for bin in summary.histogram):
        parts += ["## Scores", _histogram(summary)]
    states = ((state.value, summary.claims[state.value]) for state in reversed(STATES))
    parts += ["## Claims", _table(["", "claims", "share"], _shares(states))]
    if summary.errors:
        kinds = summary.errors.most_common()
        parts += ["## Kinds of error", _table(["", "failing claims", "share"], _shares(kinds))]
    for name, values in summary.groups.items():
        parts += [f"## By {escape(name)}", _group(values.items())]
    if summary.worst:
        rows = [worst_row(number, result) for number, result in summary.worst]
        parts += [
            "## The highest scores",
            _table(
                ["row", "score", "its weakest claim", "source"],
                (
                    (
                        f"[{escape(row.id)}](rows/{row.page})",
                        f"{row.score:.3f}",
                        f"{row.status or ''}: {escape(row.claim)}" if row.claim else "–",
                        escape(row.quote) if row.quote else "–",
                    )
                    for row in rows
                ),
            ),
        ]
    if summary.reasons:
        top = summary.reasons.most_common(10)
        parts += [
            "## Why rows were not checked",
            _table(["reason", "rows"], ((escape(why[:300]), f"{n:,}") for why, n in top)),
        ]
    total = counts.rows or 1
    cost = [
        (name.replace("_", " "), f"{value:,}", f"{value / total:,.1f}")
        for name, value in summary.cost.items()
    ]
    cost += [
        (f"seconds: {escape(phase)}", f"{spent:,.1f}", f"{spent / total:,.3f}")
        for phase, spent in summary.seconds.items()
    ]
    parts += ["## Cost", _table(["", "total", "per row"], cost)]
    return "\n\n".join(parts) + "\n"


def _headline(counts: RowCounts) -> str:
    if counts.rate is None or counts.interval is None:
        return f"Nothing could be checked in {counts.rows:,} rows."
    low, high = counts.interval
    return (
        f"{counts.rate:.1%} of the checked responses are hallucinated "
        f"(95 % interval {low:.1%} to {high:.1%}; {counts.checked:,} of {counts.rows:,} rows)."
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _shares(counts: Iterable[tuple[str, int]]) -> Iterable[tuple[str, str, str]]:
    found = list(counts)
    total = sum(count for _, count in found) or 1
    return [(name, f"{count:,}", f"{count / total:.1%}") for name, count in found]


def _histogram(summary: Summary) -> str:
    most = max(bin.total() for bin in summary.histogram)
    return _table(
        ["score", "responses", ""],
        (
            (
                f"{at / BINS:.2f} to {(at + 1) / BINS:.2f}",
                f"{bin.total():,}",
                "█" * round(_BAR * bin.total() / most),
            )
            for at, bin in enumerate(summary.histogram)
        ),
    )


def _group(values: Iterable[tuple[str, RowCounts]]) -> str:
    rows = []
    for value, counts in values:
        rate = "–" if counts.rate is None else f"{counts.rate:.1%}"
        span = counts.interval
        reach = "–" if span is None else f"{span[0]:.1%} to {span[1]:.1%}"
        rows.append((escape(value), rate, reach, f"{counts.checked:,}", f"{counts.rows:,}"))
    return _table(["value", "rate", "interval", "checked", "rows"], rows)
