"""Run a batch job on this machine: read a block of rows, check it, write it, repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice, zip_longest
from time import monotonic
from typing import Any, Protocol

from halldetect import __version__
from halldetect.batch.cache import ReportCache, without_cost
from halldetect.batch.counts import RowCounts
from halldetect.batch.job import Job, Level
from halldetect.batch.locations import STANDARD_STREAM
from halldetect.batch.results import Outcome, count_result, read_results, result_lines
from halldetect.batch.resume import ResultsFile, require_same_settings, write_to_standard_output
from halldetect.batch.rows import Row, input_rows, require_columns
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import HallDetectError, InputError
from halldetect.inputs import Pair
from halldetect.report import Report


class BatchProgress(Protocol):
    """Shows the progress of a run; `fraction` is the part of the input read, None if unknown."""

    def begin(self, rows: int, fraction: float | None) -> None:
        """Show the start of the work, after the rows of an earlier run."""
        ...

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """Show the totals of all rows so far."""
        ...


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The end of a run.

    Attributes:
        counts: All rows by outcome, including those of resumed runs.
        rows_before: Rows done by earlier runs.
        seconds: The duration of this run.
        interrupted: True if it was stopped early.
    """

    counts: RowCounts
    rows_before: int
    seconds: float
    interrupted: bool


def run_local(
    detector: Detector,
    job: Job,
    *,
    cache: ReportCache | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: BatchProgress | None = None,
) -> BatchOutcome:
    """Check every row of a job on this machine.

    Args:
        detector: Checks the rows.
        job: The rows, and the target of the results.
        cache: Reports of earlier checks; none by default.
        stop: Called after each block; returns True to end early.
        progress: Shows the progress after each block.
    """
    require_columns(job, detector.configuration)
    cache = cache or ReportCache.disabled()
    counts, interrupted, fraction = RowCounts(), False, None
    with ExitStack() as stack:
        rows = stack.enter_context(closing(input_rows(job, detector.configuration)))
        append: Callable[[bytes, int], None] = write_to_standard_output
        if job.target != STANDARD_STREAM:
            settings = {**run_settings(detector), "level": job.level.value}
            file = stack.enter_context(closing(ResultsFile(job, settings)))
            append = file.append
            end = 0
            for result, until in file.existing():
                row, fraction = next(rows, (None, None))
                _require_same(row, result, counts.rows + 1, job)
                count_result(counts, result)
                end = until
            file.cut(end)
        rows_before, began = counts.rows, monotonic()
        if progress:
            progress.begin(rows_before, fraction)
        while not interrupted and (taken := list(islice(rows, job.batch_size))):
            block = [row for row, _ in taken]
            done = counts.rows
            outcomes = check_rows(detector, block, cache)
            append(block_lines(block, outcomes, job, counts), done)
            if progress:
                progress.advance(counts, taken[-1][1])
            interrupted = stop()
        if not interrupted and job.target != STANDARD_STREAM:
            file.finish(counts.rows)
    return BatchOutcome(counts, rows_before, monotonic() - began, interrupted)


def counts_of_finished(job: Job, configuration: Configuration) -> RowCounts:
    """Return the counts of a finished file; raise InputError if its results are of other rows.

    Args:
        job: The input and the finished file.
        configuration: The configuration of this run.
    """
    counts = RowCounts()
    current = {"configuration": configuration.to_dict()}
    results = (item for item in read_results(job.out) if item.get("claim") in (None, 1))
    with closing(input_rows(job, configuration)) as rows:
        for number, (taken, result) in enumerate(zip_longest(rows, results), start=1):
            _require_same(taken and taken[0], result, number, job)
            count_result(counts, result)
            if report := result.get("report"):
                require_same_settings(report["provenance"], current)
    return counts


def _require_same(row: Row | None, result: dict[str, Any] | None, number: int, job: Job) -> None:
    is_same = row is not None and result is not None and result.get("input") == row.digest()
    if not is_same or (result and ("claim" in result) != (job.level is Level.CLAIM)):
        raise InputError(
            f"cannot resume: row {number} of the input is not the one that {job.target!r} has a "
            "result of; give the same input again, or begin again with --overwrite"
        )


def run_settings(detector: Detector) -> dict[str, Any]:
    """Load the models, and return everything but the texts that reports depend on."""
    return {"version": __version__, **detector.description()}


def check_rows(detector: Detector, rows: Sequence[Row], cache: ReportCache) -> list[Outcome]:
    """Return the outcome of each row, independent of the cache and the other rows."""
    keys = [None if row.pair is None else cache.key(row.pair) for row in rows]
    wanted = {key: row.pair for row, key in zip(rows, keys, strict=True) if key and row.pair}
    found: dict[bytes, Outcome] = {**cache.get(wanted)}
    missing = [key for key in wanted if key not in found]
    made = _reports(detector, [wanted[key] for key in missing])
    fresh = dict(zip(missing, made, strict=True))
    cache.put({key: item for key, item in fresh.items() if isinstance(item, Report)})
    outcomes: list[Outcome] = []
    for row, key in zip(rows, keys, strict=True):
        if key is None:
            outcomes.append(str(row.problem))
            continue
        outcome = fresh.pop(key) if key in fresh else found[key]
        outcomes.append(outcome)
        found[key] = outcome if isinstance(outcome, str) else without_cost(outcome)
    return outcomes


def _reports(detector: Detector, pairs: Sequence[Pair]) -> list[Outcome]:
    """Return the outcome of each pair; a defect in one pair does not affect the others."""
    try:
        return list(detector.check_many(pairs)) if pairs else []
    except HallDetectError:  # the detector is unusable: all rows would fail
        raise
    except Exception as error:
        if len(pairs) == 1:
            return [f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}"]
        return [outcome for pair in pairs for outcome in _reports(detector, [pair])]


def block_lines(
    rows: Sequence[Row], outcomes: Sequence[Outcome], job: Job, counts: RowCounts
) -> bytes:
    """Return the result lines of a block, and add its rows to `counts`."""
    lines = []
    for row, outcome in zip(rows, outcomes, strict=True):
        if job.strict and row.problem is not None:
            raise InputError(f"{row.label}: {row.problem} (--strict stops here)")
        if isinstance(outcome, Report):
            counts.add(row.label, outcome.verdict, None)
        else:
            counts.add(row.label, "", outcome)
        lines.append(result_lines(row, outcome, job.level))
    return b"".join(lines)
