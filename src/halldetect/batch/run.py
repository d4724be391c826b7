"""The loop: read a slice of rows, check them together, write them, go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import islice
from time import monotonic
from typing import Any

from halldetect import __version__
from halldetect.batch.cache import Cache
from halldetect.batch.inputs import Inputs
from halldetect.batch.job import Job as Job
from halldetect.batch.parquet import convert, require_pyarrow
from halldetect.batch.places import STANDARD
from halldetect.batch.progress import Progress
from halldetect.batch.results import Level, result_lines
from halldetect.batch.rows import Row
from halldetect.batch.sinks import PartialFile, Sink, StandardOutput, State
from halldetect.batch.stages import Checker, Checks, Finding, Slice
from halldetect.batch.tally import Ids, Tally
from halldetect.errors import InputError

# Rows that are checked together and written together; a crash costs no more than these.
SLICE = 32


@dataclass(frozen=True, slots=True)
class Outcome:
    """`seconds` and `rows_before` tell this run from those that it resumed."""

    tally: Tally
    repeated_ids: int | None
    rows_before: int
    seconds: float
    interrupted: bool


def run_batch(
    detector: Checks,
    job: Job,
    *,
    cache: Cache | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Outcome:
    """Check every row. `stop` is asked after each slice."""
    progress = progress or Progress(quiet=True)
    inputs = Inputs(job.files, job.columns, detector.configuration, label=job.may_be_many)
    inputs.require_columns()
    with (
        closing(inputs.rows()) as rows,
        closing(_sink(job, settings(detector, job.level))) as sink,
        closing(Ids()) as ids,
    ):
        digest = blake2b(digest_size=16)

        def seen() -> Iterator[Row]:
            for row in rows:
                digest.update(row.fingerprint())
                ids.add(row.id)
                yield row

        remaining = seen()
        before = sink.state.tally.rows
        _skip(remaining, sink.state, digest.hexdigest, inputs.name)
        began = monotonic()
        progress.begin(before, inputs.fraction())

        def slices() -> Iterator[Slice]:
            while block := list(islice(remaining, job.batch_size or SLICE)):
                yield Slice(block, digest.hexdigest(), inputs.fraction())

        interrupted = False
        with closing(Checker(detector, cache or Cache.none()).findings(slices())) as findings:
            for part, found in findings:
                tally = replace(sink.state.tally)
                lines = written(part.rows, found, job, tally)
                sink.append(lines, part.input_digest, tally)
                progress.advance(tally, part.fraction)
                if interrupted := stop():
                    break
        if not interrupted:
            sink.finish()
        return Outcome(sink.state.tally, ids.repeated, before, monotonic() - began, interrupted)


def settings(detector: Checks, level: Level | None = None) -> dict[str, Any]:
    """Everything but the input that the results depend on; loads the models."""
    return {
        "version": __version__,
        **({} if level is None else {"level": level.value}),
        "configuration": detector.configuration.to_dict(),
        "extractor": detector.extractor.description,
        "verifier": detector.verifier.description,
        "calibration": asdict(detector.calibration),
    }


def _sink(job: Job, made_with: dict[str, Any]) -> Sink:
    if job.target == STANDARD:
        return StandardOutput(made_with)
    level = job.level
    if job.out.suffix.lower() == ".parquet":
        require_pyarrow()
        return PartialFile(
            job.out,
            made_with,
            resume=job.resume,
            convert=lambda lines, target: convert(lines, target, level),
        )
    return PartialFile(job.out, made_with, resume=job.resume, convert=None)


def _skip(rows: Iterator[Row], state: State, digest: Callable[[], str], name: str) -> None:
    """Pass the rows that are done, and make sure that they are the same."""
    done = state.tally.rows
    if not done:
        return
    found = sum(1 for _ in islice(rows, done))
    if found < done or digest() != state.input_digest:
        raise InputError(
            f"cannot resume: the first {done} rows of {name} are not those of the unfinished run; "
            "give the same input again, or begin again with --overwrite"
        )


def written(rows: Sequence[Row], found: Sequence[Finding], job: Job, tally: Tally) -> bytes:
    """The lines of a slice; its rows are counted."""
    parts = []
    for row, finding in zip(rows, found, strict=True):
        if job.strict and row.problem is not None:
            raise InputError(f"{row.label}: {row.problem} (--strict stops here)")
        report, problem = (None, finding) if isinstance(finding, str) else (finding, None)
        tally.add(row.label, report, problem)
        parts.append(result_lines(row, report, problem, job.level))
    return b"".join(parts)
