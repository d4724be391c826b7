"""Run a batch job on this machine: read a block of rows, check it, write it, go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from time import monotonic
from typing import Any, Protocol

from halldetect import __version__
from halldetect.batch.cache import ReportCache
from halldetect.batch.checker import BatchDetector, ReportOrProblem, RowBlock, RowChecker
from halldetect.batch.counts import RepeatedIds, RowCounts
from halldetect.batch.job import Job
from halldetect.batch.locations import STANDARD_STREAM
from halldetect.batch.results import Level, require_pyarrow, result_lines, write_csv, write_parquet
from halldetect.batch.rows import InputRows, Row
from halldetect.batch.writer import ResultsFile, ResultsWriter, StandardOutputWriter, WriteState
from halldetect.errors import InputError

# Rows that are checked together and written together; a crash costs no more than these.
BLOCK_ROWS = 32


class BatchProgress(Protocol):
    """What is told how far a run is."""

    def begin(self, rows: int, fraction: float | None) -> None:
        """The work begins.

        Args:
            rows: how many rows an earlier run had done.
            fraction: the share of the input that these are, None where that is unknown.
        """
        ...

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """More rows are done.

        Args:
            counts: all rows so far, by outcome.
            fraction: the share of the input that these are, None where that is unknown.
        """
        ...


class NoProgress:
    """A `BatchProgress` that shows nothing."""

    def begin(self, rows: int, fraction: float | None) -> None:
        """Show nothing."""

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """Show nothing."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """How a run ended.

    Attributes:
        counts: all rows by outcome, those of resumed runs included.
        repeated_ids: rows whose id occurred before, None if they were not counted.
        rows_before: rows that resumed runs had done.
        seconds: how long this run took.
        interrupted: whether it was asked to stop before its end.
    """

    counts: RowCounts
    repeated_ids: int | None
    rows_before: int
    seconds: float
    interrupted: bool


def run_local(
    detector: BatchDetector,
    job: Job,
    *,
    cache: ReportCache | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: BatchProgress | None = None,
) -> BatchOutcome:
    """Check every row of a job on this machine.

    Args:
        detector: what checks the rows.
        job: which rows, and where the results go.
        cache: reports of earlier checks; none by default.
        stop: asked after each block whether to end early.
        progress: told after each block how far the run is.
    """
    progress = progress or NoProgress()
    inputs = InputRows(job.files, job.columns, detector.configuration, label_files=job.label_files)
    inputs.require_columns()
    with (
        closing(inputs.rows()) as rows,
        closing(_writer(job, run_settings(detector, job.level))) as writer,
        closing(RepeatedIds()) as ids,
    ):
        digest = blake2b(digest_size=16)

        def digested_rows() -> Iterator[Row]:
            for row in rows:
                digest.update(row.fingerprint())
                ids.add(row.id)
                yield row

        remaining = digested_rows()
        rows_before = writer.state.counts.rows
        _skip_done_rows(remaining, writer.state, digest.hexdigest, inputs.name)
        began = monotonic()
        progress.begin(rows_before, inputs.fraction_read())

        def blocks() -> Iterator[RowBlock]:
            while block := list(islice(remaining, job.batch_size or BLOCK_ROWS)):
                yield RowBlock(block, digest.hexdigest(), inputs.fraction_read())

        interrupted = False
        checker = RowChecker(detector, cache or ReportCache.disabled())
        with closing(checker.check(blocks())) as checked:
            for block, outcomes in checked:
                counts = writer.state.counts.copy()
                lines = block_lines(block.rows, outcomes, job, counts)
                writer.append(lines, block.input_digest, counts)
                progress.advance(counts, block.fraction_read)
                if interrupted := stop():
                    break
        if not interrupted:
            writer.finish()
        seconds = monotonic() - began
        return BatchOutcome(writer.state.counts, ids.count, rows_before, seconds, interrupted)


def run_settings(detector: BatchDetector, level: Level | None = None) -> dict[str, Any]:
    """Everything but the input that results depend on; loads the models.

    Args:
        detector: what checks the rows.
        level: what one result stands for; None for what reports depend on.
    """
    return {
        "version": __version__,
        **({} if level is None else {"level": level.value}),
        "configuration": detector.configuration.to_dict(),
        "extractor": detector.extractor.description,
        "verifier": detector.verifier.description,
        "calibration": asdict(detector.calibration),
        **({} if (known := detector.knowledge) is None else {"knowledge": known.description}),
    }


def block_lines(
    rows: Sequence[Row], outcomes: Sequence[ReportOrProblem], job: Job, counts: RowCounts
) -> bytes:
    """The result lines of a block.

    Args:
        rows: the rows of the block.
        outcomes: what came out for each of them.
        job: says what one result stands for, and whether a bad row ends the run.
        counts: the rows are added to it.
    """
    lines = []
    for row, outcome in zip(rows, outcomes, strict=True):
        if job.strict and row.problem is not None:
            raise InputError(f"{row.label}: {row.problem} (--strict stops here)")
        report, problem = (None, outcome) if isinstance(outcome, str) else (outcome, None)
        counts.add(row.label, report, problem)
        lines.append(result_lines(row, report, problem, job.level))
    return b"".join(lines)


def _writer(job: Job, settings: dict[str, Any]) -> ResultsWriter:
    if job.target == STANDARD_STREAM:
        return StandardOutputWriter(settings)
    if job.suffix == ".parquet":
        require_pyarrow()
    write = {".csv": write_csv, ".parquet": write_parquet}.get(job.suffix)
    if write is None:
        return ResultsFile(job.out, settings, resume=job.resume, convert=None)
    return ResultsFile(
        job.out,
        settings,
        resume=job.resume,
        convert=lambda lines, target: write(lines, target, job.level),
    )


def _skip_done_rows(
    rows: Iterator[Row], state: WriteState, digest: Callable[[], str], name: str
) -> None:
    """Pass over the rows that are done, and make sure that they are the same as then."""
    done = state.counts.rows
    if not done:
        return
    found = sum(1 for _ in islice(rows, done))
    if found < done or digest() != state.input_digest:
        raise InputError(
            f"cannot resume: the first {done} rows of {name} are not those of the unfinished run; "
            "give the same input again, or begin again with --overwrite"
        )
