"""Summarise the results of a run in one set of tables, as HTML and as Markdown."""

from __future__ import annotations

import heapq
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from halldetect.batch.counts import ROW_KINDS, RowCounts
from halldetect.batch.results import read_results
from halldetect.errors import CheckError, InputError
from halldetect.render.html import html
from halldetect.render.html_page import html_page, shared_style
from halldetect.render.markdown import escape
from halldetect.render.phrases import STATES, numbered, one_line
from halldetect.render.short import claim_line
from halldetect.report import Report, Status

PAGE, MARKDOWN, ROWS = "index.html", "report.md", "rows"
BINS = 10
WORST_ROWS = 50
# The values of a column that are shown, and the reasons that are counted.
MAX_VALUES = 20
OTHER_VALUES, NO_VALUE = "(other values)", "(none)"
_HELD_REASONS = 500
# A text, a share drawn as a bar, or the text and target of a link.
Cell = str | float | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; `kind` is the colour of its bars, by default that of the first cell."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    kind: str = ""


@dataclass(slots=True)
class Summary:
    """Totals over a set of results.

    Rows are counted by outcome, bin of the score, reason why they were not checked, and per
    carried column and value; claims by status and kind of error. `worst` has row numbers (from 1)
    and results, highest scores first.
    """

    counts: RowCounts = field(default_factory=RowCounts)
    scores: Counter[int] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, RowCounts]] = field(default_factory=dict)
    worst: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


def summarise(results: Iterable[dict[str, Any]], by: Sequence[str] = ()) -> Summary:
    """Sum up results, one per response, in constant memory; break down by carried columns."""
    summary = Summary(groups={name: {} for name in by})
    heap: list[tuple[float, int, dict[str, Any]]] = []
    for number, result in enumerate(results, start=1):
        summary.counts.add(result)
        for name, values in summary.groups.items():
            value = result["columns"].get(name)
            key = _limited(NO_VALUE if value is None else str(value)[:80], values, MAX_VALUES)
            values.setdefault(key, RowCounts()).add(result)
        if reason := result["reason"]:
            summary.reasons[_limited(reason, summary.reasons, _HELD_REASONS)] += 1
        for claim in result["report"]["claims"] if result["report"] else ():
            summary.claims[claim["status"]] += 1
            if claim["status"] in (Status.CONTRADICTED, Status.UNSUPPORTED):
                error = claim.get("error")
                summary.errors[error["kind"] if error else "not known"] += 1
        if (score := result["score"]) is not None:
            summary.scores[min(int(score * BINS), BINS - 1)] += 1
            heapq.heappush(heap, (score, -number, result))
            if len(heap) > WORST_ROWS:
                heapq.heappop(heap)
    summary.worst = [(-number, result) for _, number, result in sorted(heap, reverse=True)]
    return summary


def _limited(value: str, known: Collection[str], most: int) -> str:
    """Return the value, or `OTHER_VALUES` if too many others are known."""
    return value if value in known or len(known) < most else OTHER_VALUES


def headline(counts: RowCounts) -> str:
    """Return a sentence with the share of hallucinated responses and its interval."""
    if counts.rate is None or counts.interval is None:
        return f"Nothing could be checked in {counts.rows:,} rows."
    low, high = counts.interval
    return (
        f"{counts.rate:.1%} of the checked responses are hallucinated "
        f"(95 % interval {low:.1%} to {high:.1%}; {counts.checked:,} of {counts.rows:,} rows)."
    )


def tables(summary: Summary) -> Iterator[Table]:
    """Yield the tables of the report."""
    yield _shares("Responses", [(kind, summary.counts.by_kind[kind]) for kind in ROW_KINDS])
    yield _shares("Claims", [(state.value, summary.claims[state.value]) for state in STATES])
    if summary.errors:
        yield _shares("Kinds of error", summary.errors.most_common(), "contradicted")
    bins = [(f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}", summary.scores[at]) for at in range(BINS)]
    yield _shares("Scores (0 is faithful, 1 hallucinated)", bins, "scores")
    for name, values in summary.groups.items():
        yield _group_table(name, values)
    if summary.worst:
        rows = [_worst_row(number, result) for number, result in summary.worst]
        yield Table("The highest scores", ["row", "score", "weakest claim, and the source"], rows)
    if summary.reasons:
        reasons = [(why[:300], f"{n:,}") for why, n in summary.reasons.most_common(10)]
        yield Table("Why rows were not checked", ["reason", "rows"], reasons)


def _shares(title: str, counts: Sequence[tuple[str, int]], kind: str = "") -> Table:
    total = sum(count for _, count in counts) or 1
    rows = [(name, f"{n:,}", f"{n / total:.1%}", n / total) for name, n in counts]
    return Table(title, ["", "number", "share", ""], rows, kind)


def _group_table(name: str, values: dict[str, RowCounts]) -> Table:
    rows: list[Sequence[Cell]] = []
    for value, counts in sorted(values.items(), key=lambda item: -item[1].rows):
        rate = interval = "–"
        if counts.rate is not None and counts.interval is not None:
            rate, interval = f"{counts.rate:.1%}", "{:.1%} to {:.1%}".format(*counts.interval)
        checked = f"{counts.checked:,} / {counts.rows:,}"
        rows.append((value, rate, interval, checked, counts.rate or 0.0))
    head = ["value", "rate", "95 % interval", "checked / rows", ""]
    return Table(f"By {name}", head, rows, "hallucinated")


def _worst_row(number: int, result: dict[str, Any]) -> Sequence[Cell]:
    report = Report.from_dict(result["report"])
    id = one_line(str(result["id"]))[:200] or f"row {number}"
    claims = [claim for _, claim in numbered(report)]
    worst = [claim for claim in claims if claim.status is claims[0].status]
    worst.sort(key=lambda claim: 1.0 if claim.support is None else claim.support)
    why = claim_line(report, worst[0]) if worst else "–"
    return (id, _page_name(number)), f"{result['score']:.3f}", why


def _page_name(number: int) -> str:
    """Return the page name of a row: its number, so that no id gets into a file name."""
    return f"{ROWS}/{number:09}.html"


def dataset_markdown(summary: Summary, title: str) -> str:
    """Return the report as GitHub Markdown."""
    parts = [f"# {escape(title)}: HallDetect dataset report", f"**{headline(summary.counts)}**"]
    for table in tables(summary):
        rows = [table.head, ["---"] * len(table.head)]
        rows += [[_markdown_cell(cell) for cell in row] for row in table.rows]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        parts += [f"## {escape(table.title)}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return f"[{escape(cell[0])}]({cell[1]})"
    return escape(cell) if isinstance(cell, str) else "█" * round(20 * cell)


def dataset_page(summary: Summary, title: str) -> str:
    """Return the report as one HTML page without external resources or scripts."""
    style = (resources.files("halldetect.batch") / "dataset.css").read_text(encoding="utf-8")
    return html_page(
        "halldetect.batch",
        "dataset.html.jinja",
        title=f"{title}: HallDetect dataset report",
        style=shared_style() + style,
        name=title,
        headline=headline(summary.counts),
        tables=list(tables(summary)),
        one_line=one_line,
    )


def require_folder(folder: Path) -> None:
    """Raise InputError, before the long work, if the report cannot be written to the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / MARKDOWN).is_file():
            raise InputError(f"{str(folder)!r} holds other files; name a new folder for the report")
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror}") from error


def write_report(results: Path, folder: Path, by: Sequence[str] = ()) -> Summary:
    """Write the report of a finished run, a file or a folder of parts; see `summarise`."""
    require_folder(folder)
    summary = summarise(read_results(results), by)
    for name in by if summary.counts.rows else ():
        if set(summary.groups[name]) <= {NO_VALUE}:
            raise InputError(f"no row has a column {name!r} to break down by")
    pages = {
        MARKDOWN: dataset_markdown(summary, results.name),
        PAGE: dataset_page(summary, results.name),
    }
    for number, result in summary.worst:
        pages[_page_name(number)] = html(Report.from_dict(result["report"]))
    try:
        shutil.rmtree(folder / ROWS, ignore_errors=True)
        (folder / ROWS).mkdir()
        for name, text in pages.items():
            (folder / name).write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise CheckError(f"cannot write {str(folder)!r}: {error.strerror}") from error
    return summary
