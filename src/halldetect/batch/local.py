"""Run a batch job on this machine: read a part of the rows, check it, write it, repeat."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import zip_longest
from time import monotonic
from typing import Any

from halldetect import __version__
from halldetect.batch.cache import ReportCache, without_cost
from halldetect.batch.formats import STANDARD_STREAM
from halldetect.batch.job import Job, Part, Row, input_parts
from halldetect.batch.results import Outcome, RowCounts, read_results, row_result
from halldetect.batch.resume import (
    PartsFolder,
    StandardOutput,
    remove_parts,
    require_same_settings,
    write_failed,
)
from halldetect.batch.workers import check_in_workers, worker_count
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import CheckError, HallDetectError, InputError, described
from halldetect.inputs import Pair
from halldetect.models.loading import Notice
from halldetect.report import Report


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The name of a part, its rows by outcome, its share, and True if this run has written it."""

    name: str
    counts: RowCounts
    share: float
    is_new: bool = True


# Shows all rows so far, the fraction of the input read, and whether this run has checked the last.
BatchProgress = Callable[[RowCounts, float, bool], None]
# An engine: writes the parts in any order.
PartsMaker = Callable[[PartsFolder], Generator[WrittenPart, None, None]]


@dataclass(slots=True)
class BatchOutcome:
    """The rows of a run, the number done by earlier runs, and the time of this one."""

    counts: RowCounts = field(default_factory=RowCounts)
    rows_before: int = 0
    seconds: float = 0.0


def run_parts(
    job: Job,
    settings: dict[str, Any],
    part_rows: int,
    make: PartsMaker,
    progress: BatchProgress | None,
) -> BatchOutcome:
    """Run a job part by part with an engine; see `run_local`."""
    began, outcome, names, read = monotonic(), BatchOutcome(), [], 0.0
    folder = StandardOutput(job) if job.target == STANDARD_STREAM else PartsFolder(job)
    with folder.opened(settings, part_rows), closing(make(folder)) as parts:
        for part in parts:
            names.append(part.name)
            read += part.share
            outcome.counts.update(part.counts)
            outcome.rows_before += 0 if part.is_new else part.counts.rows
            if progress:
                progress(outcome.counts, min(read, 1.0), part.is_new)
        folder.finish(names, outcome.counts)
    outcome.seconds = monotonic() - began
    return outcome


def run_local(
    detector: Detector,
    job: Job,
    *,
    progress: BatchProgress | None = None,
    notice: Notice = lambda line: None,
) -> BatchOutcome:
    """Check every row of a job on this machine.

    `progress` is called after each part; `notice` gets a line if the cache fails.
    """
    settings = run_settings(detector)
    count = 0 if job.target == STANDARD_STREAM else worker_count(detector)

    def parts(folder: PartsFolder) -> Generator[WrittenPart, None, None]:
        given = input_parts(job, detector.configuration, folder.part_rows)
        with closing(PartChecker(lambda: detector, settings, job, folder, notice)) as check:
            if count > 1:
                yield from check_in_workers(detector.verifier, given, check, count)
            else:
                yield from map(check, given)

    return run_parts(job, settings, job.batch_size, parts, progress)


def counts_of_finished(job: Job, configuration: Configuration) -> RowCounts:
    """Return the counts of a finished file; raise InputError if its results are of other rows."""
    counts = RowCounts()
    current = {"configuration": configuration.to_dict()}
    rows = (row for part in input_parts(job, configuration, 32) for row in part.rows)
    for number, (row, result) in enumerate(zip_longest(rows, read_results(job.out)), start=1):
        is_same = row is not None and result is not None and result["input"] == row.digest()
        if not is_same:
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


@dataclass(slots=True)
class PartChecker:
    """Checks parts and writes them, with a detector and a cache that the first part loads.

    The detector must have the given settings. The results depend on neither cache nor blocks.
    """

    make_detector: Callable[[], Detector]
    settings: dict[str, Any]
    job: Job
    folder: PartsFolder
    notice: Notice = lambda line: None
    _loaded: tuple[Detector, ReportCache] | None = None

    def __call__(self, part: Part) -> WrittenPart:
        """Write the results of a part, unless those of an earlier run are intact."""
        name = self.folder.done.get(part.key)
        try:
            known = self.folder.results(name) if name else None
            results = self._results(part.rows) if known is None else known
            if name is None or known is None:
                name = self.folder.write_part(part.key, results)
            counts = RowCounts()
            for result in results:
                counts.add(result)
            return WrittenPart(name, counts, part.share, is_new=known is None)
        except OSError as error:
            raise write_failed(self.job, error) from error

    def close(self) -> None:
        """Close the cache."""
        if self._loaded:
            self._loaded[1].close()

    def _load(self) -> tuple[Detector, ReportCache]:
        detector, job = self.make_detector(), self.job
        if run_settings(detector) != self.settings:
            raise CheckError(
                "a worker has other models or another version than this machine: install the "
                "same halldetect and the same models everywhere"
            )
        return detector, ReportCache(job.cache, self.settings, notice=self.notice)

    def _results(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for at in range(0, len(rows), self.job.batch_size):
            block = rows[at : at + self.job.batch_size]
            results += map(row_result, block, self._outcomes(block))
        return results

    def _outcomes(self, rows: Sequence[Row]) -> list[Outcome]:
        self._loaded = detector, cache = self._loaded or self._load()
        keys = [None if row.pair is None else cache.key(row.pair) for row in rows]
        wanted = {key: row.pair for row, key in zip(rows, keys, strict=True) if key and row.pair}
        found: dict[bytes, Outcome] = {**cache.get(wanted)}
        missing = [key for key in wanted if key not in found]
        made = _reports(detector, [wanted[key] for key in missing])
        fresh = dict(zip(missing, made, strict=True))
        reports = {key: item for key, item in fresh.items() if isinstance(item, Report)}
        cache.put(reports)
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
