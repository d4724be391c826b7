"""Run a batch job on this machine: read a part of the rows, check it, write it, repeat."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import zip_longest
from time import monotonic
from typing import Any, Protocol

from halldetect import __version__
from halldetect.batch.cache import ReportCache, without_cost
from halldetect.batch.counts import RowCounts, count_results
from halldetect.batch.job import Job, Level
from halldetect.batch.locations import STANDARD_STREAM
from halldetect.batch.results import Outcome, json_lines, read_results, row_results
from halldetect.batch.resume import PartsFolder, remove_parts, require_same_settings, write_failed
from halldetect.batch.rows import Part, Row, input_files, read_parts, require_columns
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import CheckError, HallDetectError, InputError, described
from halldetect.inputs import Pair
from halldetect.report import Report


class BatchProgress(Protocol):
    """Shows the progress of a run; `fraction` is the part of the input read, None if unknown."""

    def begin(self, rows: int, fraction: float | None) -> None:
        """Show the rows of an earlier run."""
        ...

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """Show the totals of all rows so far."""
        ...


@dataclass(slots=True)
class BatchOutcome:
    """The state of a run: all its rows, the number done by earlier runs, and its parts.

    `interrupted` is True if it was stopped early.
    """

    counts: RowCounts = field(default_factory=RowCounts)
    rows_before: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    names: list[str] = field(default_factory=list)

    def add(self, part: WrittenPart, progress: BatchProgress | None, share: float | None) -> None:
        """Add the rows of a part, and show the progress."""
        self.names.append(part.name)
        self.counts.update(part.counts)
        self.rows_before += 0 if part.is_new else part.counts.rows
        if progress and part.is_new:
            progress.advance(self.counts, share)
        elif progress:
            progress.begin(self.counts.rows, share)


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The name of a part, its rows by outcome, and True if this run has written it."""

    name: str
    counts: RowCounts
    is_new: bool = True


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
        stop: Called after each part; returns True to end early.
        progress: Called after each part.
    """
    began, outcome = monotonic(), BatchOutcome()
    checker = RowChecker(detector, cache or ReportCache.disabled(), job)
    with ExitStack() as stack:
        folder, part_rows = None, job.batch_size
        if job.target != STANDARD_STREAM:
            folder = PartsFolder(job)
            stack.enter_context(folder.opened(run_settings(detector), part_rows))
            part_rows = folder.part_rows
        parts = _input_parts(job, detector.configuration, part_rows)
        for part, fraction in stack.enter_context(closing(parts)):
            if folder is not None:
                written = write_part(part, folder, checker.results)
            else:
                results = checker.results(part.rows)
                _write_to_standard_output(json_lines(results), outcome.counts.rows)
                written = WrittenPart("", count_results(results))
            outcome.add(written, progress, fraction)
            if stop():
                outcome.interrupted = True
                break
        if folder is not None and not outcome.interrupted:
            folder.finish(outcome.names, outcome.counts)
    outcome.seconds = monotonic() - began
    return outcome


def _input_parts(
    job: Job, limits: Configuration, part_rows: int
) -> Generator[tuple[Part, float | None], None, None]:
    """Yield the parts of all files, and the fraction of the input read so far."""
    files = input_files(job)
    require_columns(job, limits)
    for file in files:
        for part in read_parts(file, job.columns, limits, part_rows):
            inside = part.fraction
            yield part, None if inside is None else (file.index + inside) / len(files)


def counts_of_finished(job: Job, configuration: Configuration) -> RowCounts:
    """Return the counts of a finished file; raise InputError if its results are of other rows."""
    counts = RowCounts()
    current = {"configuration": configuration.to_dict()}
    results = (item for item in read_results(job.out) if item.get("claim") in (None, 1))
    rows = (row for part, _ in _input_parts(job, configuration, 32) for row in part.rows)
    for number, (row, result) in enumerate(zip_longest(rows, results), start=1):
        is_same = row is not None and result is not None and result["input"] == row.digest()
        if not is_same or ("claim" in result) != (job.level is Level.CLAIM):
            raise InputError(
                f"cannot resume: row {number} of the input is not the one that {job.target!r} has "
                "a result of; give the same input again, or begin again with --overwrite"
            )
        counts.add(result)
        if report := result.get("report"):
            require_same_settings(report["provenance"], current)
    remove_parts(job)
    return counts


def run_settings(detector: Detector) -> dict[str, Any]:
    """Load the models, and return everything but the texts that reports depend on."""
    return {"version": __version__, **detector.description()}


def write_part(
    part: Part,
    folder: PartsFolder,
    check: Callable[[Sequence[Row]], list[dict[str, Any]]],
) -> WrittenPart:
    """Write the results of a part, unless those of an earlier run are intact."""
    name = folder.done.get(part.key)
    try:
        results = folder.results(name) if name else None
        if name is not None and results is not None:
            return WrittenPart(name, count_results(results), is_new=False)
        results = check(part.rows)
        return WrittenPart(folder.write_part(part.key, results), count_results(results))
    except OSError as error:
        raise write_failed(folder.job, error) from error


@dataclass(frozen=True, slots=True)
class RowChecker:
    """Checks rows with a detector and a cache; the results depend on neither cache nor blocks."""

    detector: Detector
    cache: ReportCache
    job: Job

    def results(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the results of rows."""
        results = []
        for at in range(0, len(rows), self.job.batch_size):
            block = rows[at : at + self.job.batch_size]
            for row, outcome in zip(block, self._outcomes(block), strict=True):
                if self.job.strict and row.problem is not None:
                    raise InputError(f"row {row.id}: {row.problem} (--strict stops here)")
                results += row_results(row, outcome, self.job.level)
        return results

    def _outcomes(self, rows: Sequence[Row]) -> list[Outcome]:
        keys = [None if row.pair is None else self.cache.key(row.pair) for row in rows]
        wanted = {key: row.pair for row, key in zip(rows, keys, strict=True) if key and row.pair}
        found: dict[bytes, Outcome] = {**self.cache.get(wanted)}
        missing = [key for key in wanted if key not in found]
        made = _reports(self.detector, [wanted[key] for key in missing])
        fresh = dict(zip(missing, made, strict=True))
        reports = {key: item for key, item in fresh.items() if isinstance(item, Report)}
        self.cache.put(reports)
        found |= fresh | {key: without_cost(report) for key, report in reports.items()}
        return [
            str(row.problem) if key is None else fresh.pop(key, found[key])
            for row, key in zip(rows, keys, strict=True)
        ]


def _reports(detector: Detector, pairs: Sequence[Pair]) -> list[Outcome]:
    """Return the outcome of each pair; a defect in one pair does not affect the others."""
    try:
        return list(detector.check_many(pairs)) if pairs else []
    except HallDetectError:  # the detector is unusable: all rows would fail
        raise
    except Exception as error:
        if len(pairs) == 1:
            return [f"the check failed: {described(error)}"]
        return [outcome for pair in pairs for outcome in _reports(detector, [pair])]


def _write_to_standard_output(lines: bytes, rows: int) -> None:
    """Write the lines of a part after `rows` earlier rows; this cannot be resumed."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(lines)
        sys.stdout.flush()
    except OSError as error:
        # Otherwise Python would raise again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CheckError(
            f"cannot write to standard output: {error.strerror}, "
            f"after {rows} rows; write to a file to be able to resume"
        ) from error
