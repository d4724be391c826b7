"""The loop: read a slice of rows, check them together, write them, go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from halldetect import __version__
from halldetect.batch.formats import JSONL, open_input
from halldetect.batch.parquet import convert, require_pyarrow
from halldetect.batch.progress import Progress
from halldetect.batch.results import Level, result_lines
from halldetect.batch.rows import Columns, Row, read_rows
from halldetect.batch.sinks import PartialFile, Sink, StandardOutput, State, partial_of
from halldetect.batch.tally import Ids, Tally
from halldetect.case import AnyPair
from halldetect.claims import Extractor
from halldetect.configuration import Configuration
from halldetect.errors import HallDetectError, InputError
from halldetect.report import Report
from halldetect.score import Calibration
from halldetect.verifiers import Verifier

# Rows that are checked together and written together; a crash costs no more than these.
SLICE = 32
STANDARD = "-"
DEFAULT_COLUMNS = Columns()


class Checks(Protocol):
    """What is needed of a detector."""

    @property
    def configuration(self) -> Configuration: ...
    @property
    def extractor(self) -> Extractor: ...
    @property
    def verifier(self) -> Verifier: ...
    @property
    def calibration(self) -> Calibration: ...
    def check_many(self, pairs: Iterable[AnyPair]) -> list[Report]: ...


@dataclass(frozen=True, slots=True)
class Job:
    """From where to where, and how. `strict` stops at the first bad row."""

    source: str
    target: str
    columns: Columns = DEFAULT_COLUMNS
    level: Level = Level.RESPONSE
    strict: bool = False
    resume: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.target == STANDARD:
            if self.resume or self.overwrite:
                raise InputError("standard output can be neither resumed nor overwritten")
            return
        try:
            self._refuse_target(self.out)
        except OSError as error:
            raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error

    def _refuse_target(self, out: Path) -> None:
        if out.suffix.lower() not in (*JSONL, ".parquet"):
            raise InputError(
                f"cannot tell the format of {self.target!r} by its ending: use .jsonl, .parquet, "
                "or - for JSON lines on standard output"
            )
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(
                f"cannot write {self.target!r}: there is no folder {str(out.parent)!r}"
            )
        if self.source != STANDARD and Path(os.path.realpath(self.source)) == out:
            raise InputError(f"{self.target!r} is the input")
        if self.resume or self.overwrite:
            return
        for path in (out, partial_of(out)):
            if path.exists():
                raise InputError(
                    f"{str(path)!r} is there already: --resume goes on with an unfinished run, "
                    "--overwrite begins again"
                )

    @property
    def out(self) -> Path:
        """The file itself: a link to it would be replaced."""
        return Path(os.path.realpath(self.target))

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing to resume, because the run came to its end."""
        return self.resume and self.out.exists() and not partial_of(self.out).exists()


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
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Outcome:
    """Check every row. `stop` is asked after each slice."""
    progress = progress or Progress(quiet=True)
    with (
        open_input(job.source) as given,
        closing(_sink(job, settings(detector, job.level))) as sink,
        closing(Ids()) as ids,
    ):
        rows = read_rows(given, job.columns, detector.configuration)
        digest = blake2b(digest_size=16)

        def seen() -> Iterator[Row]:
            for row in rows:
                digest.update(row.fingerprint())
                ids.add(row.id)
                yield row

        remaining = seen()
        before = sink.state.tally.rows
        _skip(remaining, sink.state, digest.hexdigest, given.name)
        began = monotonic()
        progress.begin(before, given.fraction())
        interrupted = False
        while block := list(islice(remaining, SLICE)):
            tally = replace(sink.state.tally)
            lines = b"".join(_check(detector, block, job, tally))
            sink.append(lines, digest.hexdigest(), tally)
            progress.advance(tally, given.fraction())
            if interrupted := stop():
                break
        else:
            sink.finish()
        return Outcome(sink.state.tally, ids.repeated, before, monotonic() - began, interrupted)


def settings(detector: Checks, level: Level) -> dict[str, Any]:
    """Everything but the input that the results depend on; loads the models."""
    return {
        "version": __version__,
        "level": level.value,
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


def _check(detector: Checks, rows: Sequence[Row], job: Job, tally: Tally) -> Iterator[bytes]:
    for row in rows:
        if job.strict and row.problem is not None:
            raise InputError(f"row {row.number}: {row.problem} (--strict stops here)")
    findings = iter(_reports(detector, [row.pair for row in rows if row.pair is not None]))
    for row in rows:
        found = next(findings) if row.pair is not None else str(row.problem)
        report, problem = (None, found) if isinstance(found, str) else (found, None)
        tally.add(row.number, report, problem)
        yield result_lines(row, report, problem, job.level)


def _reports(detector: Checks, pairs: Sequence[AnyPair]) -> list[Report | str]:
    """A report for each pair, or what went wrong with it; one failure takes no other with it."""
    try:
        return list(detector.check_many(pairs))
    except HallDetectError:  # the detector itself cannot work: so would every further row
        raise
    except Exception as error:
        if len(pairs) == 1:
            return [f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}"]
        return [finding for pair in pairs for finding in _reports(detector, [pair])]
