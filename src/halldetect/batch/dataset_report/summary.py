"""Summarise a file of results: read once, in flat memory."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.batch.counts import BAD, ROW_KINDS, RowCounts
from halldetect.render.passages import Passages
from halldetect.render.phrases import numbered, one_line
from halldetect.report import Report, Status

BINS = 20
WORST_ROWS = 50
# A column with more values is not broken down, unless the caller asks for it.
MAX_GROUP_VALUES = 20
MAX_GROUP_COLUMNS = 8
# How many different values and reasons are held in memory.
_HELD_VALUES = 500
_HELD_REASONS = 500
_QUOTE_CHARACTERS = 220
OTHER_VALUES = "(all other values)"
NO_VALUE = "(none)"
UNKNOWN_ERROR = "not known"


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One of the rows with the highest scores, as the report shows it.

    Attributes:
        id: its id in one line.
        score: its hallucination score.
        page: the name of its audit page.
        claim: the text of its weakest claim.
        status: the status of that claim.
        quote: what the source says.
    """

    id: str
    score: float
    page: str
    claim: str | None = None
    status: str | None = None
    quote: str | None = None


@dataclass(slots=True)
class Summary:
    """What a set of results comes to.

    Attributes:
        counts: rows by outcome.
        histogram: per bin of the score, rows by outcome.
        claims: claims by status.
        errors: failing claims by kind of error.
        reasons: why rows were not checked, and how often.
        groups: per carried column and value, rows by outcome.
        cost: summed costs of all checks.
        seconds: summed time of all checks, by phase.
        threshold: the threshold of the reports.
        scoring: the scoring of the reports.
        made_with: version, extractor and verifier of the reports.
        worst: number of the row (from 1) and result, the highest scores first.
    """

    counts: RowCounts = field(default_factory=RowCounts)
    histogram: list[Counter[str]] = field(
        default_factory=lambda: [Counter[str]() for _ in range(BINS)]
    )
    claims: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, RowCounts]] = field(default_factory=dict)
    cost: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    threshold: float | None = None
    scoring: str | None = None
    made_with: dict[str, Any] = field(default_factory=dict)
    worst: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.counts.rows,
            "verdicts": {kind: self.counts.by_kind[kind] for kind in ROW_KINDS},
            "rate": self.counts.rate,
            "interval": self.counts.interval,
            "threshold": self.threshold,
            "scoring": self.scoring,
            "histogram": [dict(bin) for bin in self.histogram],
            "claims": {status.value: self.claims[status.value] for status in Status},
            "errors": dict(self.errors.most_common()),
            "reasons": dict(self.reasons.most_common(20)),
            "groups": {
                name: {value: dict(counts.by_kind) for value, counts in values.items()}
                for name, values in self.groups.items()
            },
            "cost": dict(self.cost),
            "seconds": {phase: round(spent, 3) for phase, spent in self.seconds.items()},
            "made_with": self.made_with,
        }


def summarise(results: Iterable[dict[str, Any]], by: Sequence[str] = ()) -> Summary:
    """Summarise results.

    Args:
        results: one result per response, in order.
        by: the carried columns to break down by; without it, those with few values.
    """
    summary = Summary()
    heap: list[tuple[float, int, int, dict[str, Any]]] = []
    ungrouped: set[str] = set()
    for number, result in enumerate(results, start=1):
        kind = BAD if result["bad_row"] else result["verdict"]
        summary.counts.by_kind[kind] += 1
        _count_groups(summary.groups, result["columns"], kind, by, ungrouped)
        if result["reason"]:
            reason = result["reason"]
            if reason not in summary.reasons and len(summary.reasons) >= _HELD_REASONS:
                reason = OTHER_VALUES
            summary.reasons[reason] += 1
        report = result["report"]
        if report is None:
            continue
        _count_report(summary, report)
        score = result["score"]
        if score is None:
            continue
        summary.histogram[min(int(score * BINS), BINS - 1)][kind] += 1
        entry = (score, result["claims"][Status.CONTRADICTED], -number, result)
        if len(heap) < WORST_ROWS:
            heapq.heappush(heap, entry)
        elif entry[:3] > heap[0][:3]:
            heapq.heapreplace(heap, entry)
    summary.worst = [(-number, result) for _, _, number, result in sorted(heap, reverse=True)]
    summary.groups = _kept_groups(summary.groups, summary.counts, by, ungrouped)
    return summary


def _count_groups(
    groups: dict[str, dict[str, RowCounts]],
    columns: dict[str, Any],
    kind: str,
    by: Sequence[str],
    ungrouped: set[str],
) -> None:
    names = by or [name for name in columns if name not in ungrouped]
    for name in names:
        value = columns.get(name)
        if not by and (isinstance(value, (list, dict)) or len(str(value)) > 80):
            ungrouped.add(name)
            groups.pop(name, None)
            continue
        values = groups.setdefault(name, {})
        key = NO_VALUE if value is None else str(value)[:200]
        if key not in values:
            if not by and len(values) >= MAX_GROUP_VALUES:
                ungrouped.add(name)
                del groups[name]
                continue
            if len(values) >= _HELD_VALUES:
                key = OTHER_VALUES
        values.setdefault(key, RowCounts()).by_kind[kind] += 1


def _kept_groups(
    groups: dict[str, dict[str, RowCounts]],
    counts: RowCounts,
    by: Sequence[str],
    ungrouped: set[str],
) -> dict[str, dict[str, RowCounts]]:
    """The columns worth showing, their most frequent values first."""
    kept: dict[str, dict[str, RowCounts]] = {}
    for name, values in groups.items():
        _count_absent(values, counts)
        if not by and (len(values) < 2 or name in ungrouped or len(kept) >= MAX_GROUP_COLUMNS):
            continue
        ranked = sorted(values.items(), key=lambda item: (-item[1].rows, item[0]))
        kept_values = dict(ranked[:MAX_GROUP_VALUES])
        if len(ranked) > MAX_GROUP_VALUES:
            rest = kept_values.pop(OTHER_VALUES, RowCounts())
            for _, further in ranked[MAX_GROUP_VALUES:]:
                rest.by_kind.update(further.by_kind)
            kept_values[OTHER_VALUES] = rest
        kept[name] = kept_values
    return kept


def _count_absent(values: dict[str, RowCounts], counts: RowCounts) -> None:
    """Count the rows that do not have the column at all."""
    absent = Counter(counts.by_kind)
    for found in values.values():
        absent.subtract(found.by_kind)
    if any(absent.values()):
        values.setdefault(NO_VALUE, RowCounts()).by_kind.update(absent)


def _count_report(summary: Summary, report: dict[str, Any]) -> None:
    for claim in report["claims"]:
        summary.claims[claim["status"]] += 1
        if claim["status"] in (Status.CONTRADICTED, Status.UNSUPPORTED):
            error = claim.get("error")
            summary.errors[error["kind"] if error else UNKNOWN_ERROR] += 1
    for name, value in report["cost"].items():
        if name == "seconds":
            for phase, spent in value.items():
                summary.seconds[phase] = summary.seconds.get(phase, 0.0) + spent
        else:
            summary.cost[name] += value
    if summary.threshold is None:
        summary.threshold, summary.scoring = report["threshold"], report["scoring"]
    made = report["provenance"]
    if not summary.made_with and made["verifier"]:
        summary.made_with = {
            "version": made["version"],
            "extractor": made["extractor"].get("name"),
            "verifier": made["verifier"].get("name"),
        }


def page_name(row_number: int) -> str:
    """The name of a row's audit page: by its number, so that no id gets into a file name."""
    return f"{row_number:09}.html"


def worst_row(row_number: int, result: dict[str, Any]) -> WorstRow:
    """A result as the list of the highest scores shows it.

    Args:
        row_number: the number of the row, from 1.
        result: its result, with its report.
    """
    report = Report.from_dict(result["report"])
    id = one_line(str(result["id"]))[:200] or f"row {row_number}"
    page = page_name(row_number)
    claims = [claim for _, claim in numbered(report)]
    if not claims:
        return WorstRow(id, result["score"], page)
    claim = min(
        (item for item in claims if item.status is claims[0].status),
        key=lambda item: 1.0 if item.support is None else item.support,
    )
    quote = Passages(report).quote(claim, _QUOTE_CHARACTERS) or None
    return WorstRow(
        id,
        result["score"],
        page,
        one_line(claim.text)[:400],
        claim.status.value,
        None if quote is None else one_line(quote),
    )
