"""Examine the results of a run: a report of all rows, and the changes since an earlier run.

Rows of two runs are matched by id; rows with the same id, by order.
"""

from __future__ import annotations

import heapq
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halldetect.batch.results import ROW_KINDS, RowCounts, plain_text, read_results
from halldetect.errors import CheckError, InputError
from halldetect.render.html import html
from halldetect.render.html_page import plain_page
from halldetect.report import Report, Status, Verdict
from halldetect.report.phrases import STATES, one_line
from halldetect.report.short_text import claim_line

SHOWN_ROWS = 20
CHANGES = ("worse", "better", "unchanged", "new", "gone")
# Faithful is best, hallucinated is worst; a row without a verdict is in between.
_BADNESS: dict[str, int] = {Verdict.FAITHFUL: 0, Verdict.HALLUCINATED: 2}
PAGE, ROWS, TITLE = "index.html", "rows", "HallDetect dataset report"
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
    """Sum up results in constant memory; break down by carried columns."""
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
                error = claim.get("error") or {"kind": "not known"}
                summary.errors[error.get("label") or error["kind"]] += 1
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
    ranked = sorted(
        report.claims, key=lambda claim: (STATES.index(claim.status), claim.support or 0.0)
    )
    why = claim_line(report, ranked[0]) if ranked else "–"
    return (id, _page_name(number)), f"{result['score']:.3f}", why


def _page_name(number: int) -> str:
    """Return the page name of a row: its number, so that no id gets into a file name."""
    return f"{ROWS}/{number:09}.html"


def require_folder(folder: Path) -> None:
    """Raise InputError, before the long work, if the report cannot be written to the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / PAGE
        if any(folder.iterdir()) and not (page.is_file() and TITLE.encode() in page.read_bytes()):
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
    page = plain_page(
        "dataset",
        f"{results.name}: {TITLE}",
        name=results.name,
        headline=headline(summary.counts),
        tables=list(tables(summary)),
    )
    pages = {PAGE: page}
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


def compare_with_baseline(before: Path, after: Path) -> tuple[Counter[str], list[str]]:
    """Return the changes of rows since an earlier run, and the lines that report them.

    A row is worse if it was faithful and is not, if it became hallucinated, or if more of its
    claims fail than before. Holds the failing claims of the earlier run.
    """
    changes: Counter[str] = Counter()
    runs = RowCounts(), RowCounts()
    earlier: dict[str, list[tuple[str, list[str]]]] = {}
    for row in read_results(before):
        runs[0].add(row)
        known = earlier.setdefault(plain_text(row["id"]), [])
        known.append((row["verdict"], [*_failing(row).values()]))
    worse: list[str] = []
    for row in read_results(after):
        runs[1].add(row)
        known = earlier.get(plain_text(row["id"]), [])
        if not known:
            changes["new"] += 1
            continue
        verdict, failed = known.pop(0)
        failing = _failing(row)
        was = (_BADNESS.get(verdict, 1), len(failed))
        now = (_BADNESS.get(row["verdict"], 1), len(failing))
        changes["worse" if now > was else "better" if now < was else "unchanged"] += 1
        if now > was and len(worse) < SHOWN_ROWS:
            new = [at for at, text in failing.items() if text not in failed]
            why = _why(row, next(iter([*new, *failing]), None))
            id = one_line(plain_text(row["id"]))
            worse.append(f"worse: {id}: {verdict} → {row['verdict']}. {one_line(why)}")
    changes["gone"] = sum(map(len, earlier.values()))
    counts = ", ".join(f"{changes[kind]:,} {kind}" for kind in CHANGES)
    rates = " → ".join("none" if run.rate is None else f"{run.rate:.4f}" for run in runs)
    lines = [f"against {str(before)!r}: {counts}; rate {rates}", *worse]
    if more := changes["worse"] - len(worse):
        lines.append(f"worse: {more:,} more rows")
    return changes, lines


def _failing(row: dict[str, Any]) -> dict[int, str]:
    """Return the texts of failing claims by index."""
    claims = row["report"]["claims"] if row["report"] else []
    states = (Status.CONTRADICTED, Status.UNSUPPORTED)
    return {at: claim["text"] for at, claim in enumerate(claims) if claim["status"] in states}


def _why(row: dict[str, Any], claim: int | None) -> str:
    if claim is None:
        return row["reason"] or f"the score is {row['score']}"
    report = Report.from_dict(row["report"])
    return claim_line(report, report.claims[claim])
