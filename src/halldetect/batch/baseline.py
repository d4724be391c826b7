"""Two runs over the same rows: which rows got worse, and by which claim.

Rows belong together by their id; rows with the same id, in their order.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halldetect.batch.counts import RowCounts
from halldetect.batch.results import read_results
from halldetect.errors import InputError
from halldetect.render.phrases import one_line
from halldetect.render.short import claim_line
from halldetect.report import Report, Status, Verdict

SHOWN_ROWS = 20
_FAILING = (Status.CONTRADICTED, Status.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class WorseRow:
    """A row that got worse.

    Attributes:
        id: of the row.
        before: its verdict in the earlier run.
        after: its verdict now.
        why: the claim that fails now and did not before, or the reason of the verdict.
    """

    id: str
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        return f"{one_line(self.id)}: {self.before} → {self.after}. {one_line(self.why)}"


@dataclass(slots=True)
class BaselineComparison:
    """What changed between an earlier run and this one.

    Attributes:
        worse: rows that were faithful and are not, that became hallucinated, or that have more
            failing claims than before.
        better: the reverse.
        unchanged: the other rows that are in both runs.
        new: rows that are only in this run.
        gone: rows that are only in the earlier run.
        rows: the first rows that got worse.
        rate_before: the share of hallucinated rows in the earlier run; None if none was checked.
        rate_after: that share now.
    """

    worse: int = 0
    better: int = 0
    unchanged: int = 0
    new: int = 0
    gone: int = 0
    rows: list[WorseRow] = field(default_factory=list)
    rate_before: float | None = None
    rate_after: float | None = None

    def lines(self, name: str) -> Iterator[str]:
        """The comparison in words: the counts, then the rows that got worse.

        Args:
            name: of the earlier run.
        """
        counts = ", ".join(
            f"{getattr(self, kind):,} {kind}"
            for kind in ("worse", "better", "unchanged", "new", "gone")
        )
        rates = f"{_rate(self.rate_before)} → {_rate(self.rate_after)}"
        yield f"against {name!r}: {counts}; rate {rates}"
        yield from (f"worse: {row}" for row in self.rows)
        if self.worse > len(self.rows):
            yield f"worse: {self.worse - len(self.rows):,} more rows"


def compare_with_baseline(before: Path, after: Path) -> BaselineComparison:
    """Compare two finished runs, in flat memory.

    Args:
        before: the results of the earlier run, one per response: a file, or a folder of parts.
        after: the results of this run.
    """
    comparison = BaselineComparison()
    # An empty name is a temporary file that nobody else sees and that SQLite removes.
    earlier = sqlite3.connect("", isolation_level=None)
    try:
        earlier.execute("CREATE TABLE rows (id TEXT, verdict TEXT, failing TEXT, taken INTEGER)")
        earlier.execute("BEGIN")
        counts = RowCounts()
        for row in _results(before):
            _count(counts, row)
            values = (_id(row), row["verdict"], json.dumps([text for text, _ in _failing(row)]))
            earlier.execute("INSERT INTO rows VALUES (?, ?, ?, 0)", values)
        earlier.execute("CREATE INDEX by_id ON rows (id, taken)")
        comparison.rate_before = counts.rate
        counts = RowCounts()
        for row in _results(after):
            _count(counts, row)
            _compare_row(comparison, row, _earlier_row(earlier, _id(row)))
        comparison.rate_after = counts.rate
        (comparison.gone,) = earlier.execute("SELECT COUNT(*) FROM rows WHERE NOT taken").fetchone()
    finally:
        earlier.close()
    return comparison


def require_results(path: Path) -> None:
    """Raise InputError before the long work if these are no results to compare with."""
    next(iter(_results(path)), None)


def _results(path: Path) -> Iterator[dict[str, Any]]:
    rows: Iterable[dict[str, Any]] = read_results(path)
    try:
        for row in rows:
            if not isinstance(row, dict) or not {"id", "verdict", "report", "reason"} <= row.keys():
                raise InputError(f"{str(path)!r} does not hold results of batch, one per response")
            yield row
    except FileNotFoundError as error:
        raise InputError(f"there is no {str(path)!r} to compare with") from error
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"cannot read results from {str(path)!r}: {error}") from error


def _id(row: dict[str, Any]) -> str:
    return str(row["id"]).encode("utf-8", "replace").decode()


def _count(counts: RowCounts, row: dict[str, Any]) -> None:
    counts.by_kind[row["verdict"]] += 1


def _failing(row: dict[str, Any]) -> list[tuple[str, int]]:
    """The texts of the claims that fail, with their numbers from 0."""
    claims = row["report"]["claims"] if row["report"] else []
    return [(claim["text"], at) for at, claim in enumerate(claims) if claim["status"] in _FAILING]


def _earlier_row(earlier: sqlite3.Connection, id: str) -> tuple[str, list[str]] | None:
    found = earlier.execute(
        "SELECT rowid, verdict, failing FROM rows WHERE id = ? AND taken = 0 ORDER BY rowid", (id,)
    ).fetchone()
    if found is None:
        return None
    earlier.execute("UPDATE rows SET taken = 1 WHERE rowid = ?", found[:1])
    return found[1], json.loads(found[2])


def _compare_row(
    comparison: BaselineComparison, row: dict[str, Any], earlier: tuple[str, list[str]] | None
) -> None:
    if earlier is None:
        comparison.new += 1
        return
    verdict, failed_before = earlier
    failing = _failing(row)
    before = (_badness(verdict), len(failed_before))
    after = (_badness(row["verdict"]), len(failing))
    if after > before:
        comparison.worse += 1
        if len(comparison.rows) < SHOWN_ROWS:
            why = _why(row, failing, failed_before)
            comparison.rows.append(WorseRow(_id(row), verdict, row["verdict"], why))
    elif after < before:
        comparison.better += 1
    else:
        comparison.unchanged += 1


def _badness(verdict: str) -> int:
    """Faithful is best and hallucinated is worst; that there is no verdict lies between."""
    return {Verdict.FAITHFUL: 0, Verdict.HALLUCINATED: 2}.get(Verdict(verdict), 1)


def _why(row: dict[str, Any], failing: list[tuple[str, int]], failed_before: list[str]) -> str:
    new = [at for text, at in failing if text not in failed_before]
    at = next(iter(new or [at for _, at in failing]), None)
    if at is None:
        return row["reason"] or f"the score is {row['score']}"
    report = Report.from_dict(row["report"])
    return claim_line(report, report.claims[at])


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
