"""Compare two runs over the same rows: which rows got worse, and because of which claim.

Rows are matched by id; rows with the same id, by order.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.batch.counts import RowCounts
from halldetect.batch.results import plain_text, read_results
from halldetect.errors import InputError
from halldetect.render.phrases import one_line
from halldetect.render.short import claim_line
from halldetect.report import Report, Status, Verdict

SHOWN_ROWS = 20
CHANGES = ("worse", "better", "unchanged", "new", "gone")
# Faithful is best, hallucinated is worst; a row without a verdict is in between.
_BADNESS = {Verdict.FAITHFUL: 0, Verdict.HALLUCINATED: 2}


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """The changes between an earlier run and this one, and a line for each of the first worse rows.

    A row is worse if it was faithful and is not, if it became hallucinated, or if more of its
    claims fail than before.
    """

    changes: Counter[str]
    worse_rows: list[str]
    before: RowCounts
    after: RowCounts

    def lines(self, name: str) -> Iterator[str]:
        """Yield the counts, then the rows that got worse; `name` is the earlier run."""
        counts = ", ".join(f"{self.changes[kind]:,} {kind}" for kind in CHANGES)
        rates = " → ".join(
            "none" if run.rate is None else f"{run.rate:.4f}" for run in (self.before, self.after)
        )
        yield f"against {name!r}: {counts}; rate {rates}"
        yield from (f"worse: {row}" for row in self.worse_rows)
        if more := self.changes["worse"] - len(self.worse_rows):
            yield f"worse: {more:,} more rows"


def require_results(path: Path) -> None:
    """Raise InputError, before the long work, if the file has no results to compare with."""
    next(_results(path), None)


def _results(path: Path) -> Iterator[dict[str, Any]]:
    for row in read_results(path):
        if "report" not in row:
            raise InputError(f"{str(path)!r} holds a result per claim, not one per response")
        yield row


def compare_with_baseline(before: Path, after: Path) -> BaselineComparison:
    """Compare the results of two finished runs, one per response, in constant memory."""
    comparison = BaselineComparison(Counter(), [], RowCounts(), RowCounts())
    # An empty name is a private temporary file that SQLite removes.
    with closing(sqlite3.connect("")) as earlier:
        earlier.execute("CREATE TABLE rows (id TEXT, verdict TEXT, failing TEXT)")
        for row in _results(before):
            comparison.before.add(row)
            values = (plain_text(row["id"]), row["verdict"], json.dumps([*_failing(row).values()]))
            earlier.execute("INSERT INTO rows VALUES (?, ?, ?)", values)
        earlier.execute("CREATE INDEX by_id ON rows (id)")
        for row in _results(after):
            comparison.after.add(row)
            comparison.changes[_change(comparison, row, earlier)] += 1
        (comparison.changes["gone"],) = earlier.execute("SELECT COUNT(*) FROM rows").fetchone()
    return comparison


def _change(
    comparison: BaselineComparison, row: dict[str, Any], earlier: sqlite3.Connection
) -> str:
    id = plain_text(row["id"])
    query = "SELECT rowid, verdict, failing FROM rows WHERE id = ? ORDER BY rowid LIMIT 1"
    if (found := earlier.execute(query, (id,)).fetchone()) is None:
        return "new"
    earlier.execute("DELETE FROM rows WHERE rowid = ?", found[:1])
    verdict, failed_before = found[1], json.loads(found[2])
    failing = _failing(row)
    before = (_BADNESS.get(verdict, 1), len(failed_before))
    after = (_BADNESS.get(row["verdict"], 1), len(failing))
    if after <= before:
        return "better" if after < before else "unchanged"
    if len(comparison.worse_rows) < SHOWN_ROWS:
        new = [at for at, text in failing.items() if text not in failed_before]
        why = _why(row, next(iter([*new, *failing]), None))
        line = f"{one_line(id)}: {verdict} → {row['verdict']}. {one_line(why)}"
        comparison.worse_rows.append(line)
    return "worse"


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
