"""What a file of results comes to: read once, in flat memory."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from halldetect.report import Status, Verdict

BINS = 20
WORST = 50
# A column with more values than this is no grouping, unless it was asked for.
MOST_VALUES = 20
_HELD_VALUES = 500
_HELD_REASONS = 500
_MOST_COLUMNS = 8
BAD = "bad"
OTHER = "(all other values)"
NONE = "(none)"
# In every figure and table.
KINDS = (Verdict.FAITHFUL.value, Verdict.HALLUCINATED.value, Verdict.UNCHECKABLE.value, BAD)


def interval(hits: int, of: int, z: float = 1.959964) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a share; None of nothing."""
    if not of:
        return None
    share = hits / of
    scale = 1 + z * z / of
    middle = (share + z * z / (2 * of)) / scale
    reach = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / scale
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(slots=True)
class Counts:
    """Rows by how they came out."""

    by: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        return self.by.total()

    @property
    def checked(self) -> int:
        return self.by[Verdict.FAITHFUL] + self.by[Verdict.HALLUCINATED]

    @property
    def rate(self) -> float | None:
        """The share of hallucinated responses among those with a verdict."""
        return self.by[Verdict.HALLUCINATED] / self.checked if self.checked else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return interval(self.by[Verdict.HALLUCINATED], self.checked)


@dataclass(slots=True)
class Summary:
    """`worst` holds places (from 1) and results, the highest scores first."""

    counts: Counts = field(default_factory=Counts)
    histogram: list[Counter[str]] = field(
        default_factory=lambda: [Counter[str]() for _ in range(BINS)]
    )
    claims: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, Counts]] = field(default_factory=dict)
    cost: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    threshold: float | None = None
    scoring: str | None = None
    made_with: dict[str, Any] = field(default_factory=dict)
    worst: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.counts.rows,
            "verdicts": {kind: self.counts.by[kind] for kind in KINDS},
            "rate": self.counts.rate,
            "interval": self.counts.interval,
            "threshold": self.threshold,
            "scoring": self.scoring,
            "histogram": [dict(bin) for bin in self.histogram],
            "claims": {status.value: self.claims[status.value] for status in Status},
            "reasons": dict(self.reasons.most_common(20)),
            "groups": {
                name: {value: dict(counts.by) for value, counts in values.items()}
                for name, values in self.groups.items()
            },
            "cost": dict(self.cost),
            "seconds": {phase: round(spent, 3) for phase, spent in self.seconds.items()},
            "made_with": self.made_with,
        }


def summarise(results: Iterable[dict[str, Any]], by: Sequence[str] = ()) -> Summary:
    """`by` names the carried columns to break down by; without it, those with few values."""
    summary = Summary()
    heap: list[tuple[float, int, int, dict[str, Any]]] = []
    many: set[str] = set()
    for place, result in enumerate(results, start=1):
        kind = BAD if result["bad_row"] else result["verdict"]
        summary.counts.by[kind] += 1
        _count_groups(summary.groups, result["columns"], kind, by, many)
        if result["reason"]:
            reason = result["reason"]
            if reason not in summary.reasons and len(summary.reasons) >= _HELD_REASONS:
                reason = OTHER
            summary.reasons[reason] += 1
        report = result["report"]
        if report is None:
            continue
        _count_report(summary, report)
        score = result["score"]
        if score is None:
            continue
        summary.histogram[min(int(score * BINS), BINS - 1)][kind] += 1
        entry = (score, result["claims"][Status.CONTRADICTED], -place, result)
        if len(heap) < WORST:
            heapq.heappush(heap, entry)
        elif entry[:3] > heap[0][:3]:
            heapq.heapreplace(heap, entry)
    summary.worst = [(-place, result) for _, _, place, result in sorted(heap, reverse=True)]
    summary.groups = _kept_groups(summary.groups, summary.counts, by, many)
    return summary


def _count_groups(
    groups: dict[str, dict[str, Counts]],
    columns: dict[str, Any],
    kind: str,
    by: Sequence[str],
    many: set[str],
) -> None:
    names = by or [name for name in columns if name not in many]
    for name in names:
        value = columns.get(name)
        if not by and (isinstance(value, (list, dict)) or len(str(value)) > 80):
            many.add(name)
            groups.pop(name, None)
            continue
        values = groups.setdefault(name, {})
        key = NONE if value is None else str(value)[:200]
        if key not in values:
            if not by and len(values) >= MOST_VALUES:
                many.add(name)
                del groups[name]
                continue
            if len(values) >= _HELD_VALUES:
                key = OTHER
        values.setdefault(key, Counts()).by[kind] += 1


def _kept_groups(
    groups: dict[str, dict[str, Counts]], counts: Counts, by: Sequence[str], many: set[str]
) -> dict[str, dict[str, Counts]]:
    """The columns worth showing, their most frequent values first."""
    kept: dict[str, dict[str, Counts]] = {}
    for name, values in groups.items():
        _count_absent(values, counts)
        if not by and (len(values) < 2 or name in many or len(kept) >= _MOST_COLUMNS):
            continue
        ranked = sorted(values.items(), key=lambda item: (-item[1].rows, item[0]))
        shown = dict(ranked[:MOST_VALUES])
        if len(ranked) > MOST_VALUES:
            rest = shown.pop(OTHER, Counts())
            for _, further in ranked[MOST_VALUES:]:
                rest.by.update(further.by)
            shown[OTHER] = rest
        kept[name] = shown
    return kept


def _count_absent(values: dict[str, Counts], counts: Counts) -> None:
    """Rows that do not have the column at all."""
    absent = Counter(counts.by)
    for found in values.values():
        absent.subtract(found.by)
    if any(absent.values()):
        values.setdefault(NONE, Counts()).by.update(absent)


def _count_report(summary: Summary, report: dict[str, Any]) -> None:
    for claim in report["claims"]:
        summary.claims[claim["status"]] += 1
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


def read_results(target: Path) -> Iterator[dict[str, Any]]:
    """The results of a finished run at the level of responses: a file, or a folder of parts."""
    if target.is_dir():
        for part in sorted(target.glob("part-*")):
            yield from read_results(part)
    elif target.suffix.lower() == ".parquet":
        yield from _parquet(target)
    else:
        with target.open("rb") as lines:
            for line in lines:
                yield json.loads(line)


def _parquet(target: Path) -> Iterator[dict[str, Any]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(target) as file:
        for batch in file.iter_batches(batch_size=32):
            for row in batch.to_pylist():
                unpacked = {
                    name: row[name] if row[name] is None else json.loads(row[name])
                    for name in ("columns", "report")
                }
                yield {**row, **unpacked}
