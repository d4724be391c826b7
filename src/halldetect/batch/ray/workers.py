"""What runs on the machines of a cluster: readers, checkers, writers, and one coordinator."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockMetadata

from halldetect.batch.cache import ReportCache
from halldetect.batch.checker import BatchDetector, RowBlock, RowChecker
from halldetect.batch.counts import RowCounts
from halldetect.batch.formats import open_records
from halldetect.batch.job import Job
from halldetect.batch.local import BLOCK_ROWS, block_lines, run_settings
from halldetect.batch.ray.parts import PartsFolder, count_rows, part_name
from halldetect.batch.results import Level, write_parquet
from halldetect.batch.resume import HOW_TO_RESUME
from halldetect.batch.rows import Row, read_rows
from halldetect.config import Configuration
from halldetect.errors import CheckError, HallDetectError, InputError, ModelError

# A part is closed when its rows hold this much text, however few they are.
_PART_BYTES = 64 * 1024 * 1024
_UNCHECKED_PART = pa.schema(
    [("name", pa.string()), ("share", pa.float64()), ("rows", pa.large_binary())]
)
_CHECKED_PART = pa.schema(
    [("name", pa.string()), ("share", pa.float64()), ("lines", pa.large_binary())]
)


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of the run.

    Attributes:
        index: its index among the input files.
        location: its path or URL.
        label: the name that its rows give it, if any.
        share: its share of the bytes of all files.
        done: the names of its parts that are already written.
    """

    index: int
    location: str
    label: str | None
    share: float
    done: frozenset[str]


class Coordinator:
    """The one actor that counts finished parts and tells all others when to stop."""

    def __init__(self) -> None:
        self._counts = RowCounts()
        self._share = 0.0
        self._rows_before = 0
        self._names: set[str] = set()
        self._may_continue = True
        self._failure: tuple[bool, str] | None = None

    def may_continue(self) -> bool:
        """Whether nobody has stopped the run."""
        return self._may_continue

    def stop(self) -> None:
        """Let parts in progress finish and start no other."""
        self._may_continue = False

    def fail(self, is_input: bool, message: str) -> None:
        """Stop the run for a reason; `is_input` tells an InputError from a CheckError."""
        self._failure = self._failure or (is_input, message)
        self.stop()

    def count(self, name: str, counts: RowCounts, share: float, is_new: bool) -> None:
        """Count a written part; one that a lost worker had already written counts once."""
        if name not in self._names:
            self._names.add(name)
            self._counts.update(counts)
            self._share += share
            self._rows_before += 0 if is_new else counts.rows

    def rows_before(self) -> int:
        """Rows of the parts that an earlier run had written."""
        return self._rows_before

    def state(self) -> tuple[RowCounts, float, tuple[bool, str] | None]:
        """The rows so far, the share of the input that they are, and what failed."""
        return self._counts, self._share, self._failure

    def names(self) -> set[str]:
        """The names of all parts of this input."""
        return self._names


class CoordinatorClient:
    """How workers call the coordinator.

    Args:
        actor: the Ray handle of the coordinator.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def may_continue(self) -> bool:
        """Whether nobody has stopped the run."""
        return bool(ray.get(self._actor.may_continue.remote()))

    def count(self, name: str, counts: RowCounts, share: float, is_new: bool) -> None:
        """Count a written part."""
        ray.get(self._actor.count.remote(name, counts, share, is_new))

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Report errors of ours to the coordinator instead of raising them through Ray."""
        try:
            yield
        except HallDetectError as error:
            message, is_input = str(error), isinstance(error, InputError)
            ray.get(self._actor.fail.remote(is_input, message))


class PartReader(Datasource):  # type: ignore[misc]
    """Reads the input as parts: one task per file, one table row per part.

    Args:
        files: the input files.
        job: which column holds what.
        limits: the configuration whose limits on sizes apply.
        part_rows: how many rows make a part.
        suffix: the ending of the names of parts.
        coordinator: who is told of failures.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        job: Job,
        limits: Configuration,
        part_rows: int,
        suffix: str,
        coordinator: CoordinatorClient,
    ) -> None:
        self._files = files
        self._job = job
        self._limits = limits
        self._part_rows = part_rows
        self._suffix = suffix
        self._coordinator = coordinator

    def estimate_inmemory_data_size(self) -> int | None:
        """Unknown before the files are read."""
        return None

    def get_read_tasks(self, parallelism: int, *rest: Any, **more: Any) -> list[Any]:
        """One task per file."""
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(self._reader(file), unknown) for file in self._files]

    def _reader(self, file: InputFile) -> Callable[[], Iterator[Any]]:
        def read() -> Iterator[Any]:
            with self._coordinator.failures():
                yield from self._parts(file)
            yield _UNCHECKED_PART.empty_table()

        return read

    def _parts(self, file: InputFile) -> Iterator[Any]:
        with open_records(file.location) as records:
            rows = read_rows(records, self._job.columns, self._limits, file.label)
            read = 0.0
            for part in _cut_into_parts(rows, self._part_rows):
                digest = blake2b(digest_size=12)
                for row in part:
                    digest.update(row.fingerprint())
                name = part_name(file.index, part[0].number, digest.hexdigest(), self._suffix)
                now = records.fraction_read() or 0.0
                share, read = file.share * (now - read), now
                pickled = None if name in file.done else pickle.dumps(part)
                yield pa.Table.from_pylist(
                    [{"name": name, "share": share, "rows": pickled}], schema=_UNCHECKED_PART
                )


def _cut_into_parts(rows: Iterator[Row], part_rows: int) -> Iterator[list[Row]]:
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(row.fingerprint())
        if len(part) >= part_rows or size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


class PartChecker:
    """An actor that checks parts with its own detector.

    Args:
        make_detector: builds the detector.
        expected: the settings that the detector must have.
        job: what one result stands for, and how many rows are checked together.
        cache: folder and limit of the cache of reports, None for no cache.
        parts: where the parts are written.
        coordinator: who says when to stop.
    """

    def __init__(
        self,
        make_detector: Callable[[], BatchDetector],
        expected: dict[str, Any],
        job: Job,
        cache: tuple[str | None, int | None] | None,
        parts: PartsFolder,
        coordinator: CoordinatorClient,
    ) -> None:
        self._make_detector = make_detector
        self._expected = expected
        self._job = job
        self._cache = cache
        self._parts = parts
        self._coordinator = coordinator
        self._checker: RowChecker | None = None

    def __call__(self, block: Any) -> Any:
        checked = []
        with self._coordinator.failures():
            for part in block.to_pylist():
                lines = None if part["rows"] is None else self._check(pickle.loads(part["rows"]))
                if part["rows"] is None or lines is not None:
                    checked.append({"name": part["name"], "share": part["share"], "lines": lines})
        return pa.Table.from_pylist(checked, schema=_CHECKED_PART)

    def _check(self, rows: Sequence[Row]) -> bytes | None:
        """The lines of the rows, None if the run was stopped."""
        size = self._job.batch_size or BLOCK_ROWS
        blocks = (RowBlock(rows[at : at + size]) for at in range(0, len(rows), size))
        if not self._coordinator.may_continue():
            return None
        if self._checker is None:
            self._checker = self._load()
        return b"".join(
            block_lines(block.rows, outcomes, self._job, RowCounts())
            for block, outcomes in self._checker.check(blocks)
        )

    def _load(self) -> RowChecker:
        detector = self._make_detector()
        if run_settings(detector) != self._expected:
            raise ModelError(
                "a worker has other models or another version than this machine: install the "
                "same halldetect and the same models everywhere"
            )
        if self._cache is None:
            return RowChecker(detector, ReportCache.disabled())
        folder, limit = self._cache
        path = None if folder is None else Path(folder)
        return RowChecker(detector, ReportCache(path, self._expected, limit=limit))


class PartWriter(Datasink):  # type: ignore[misc]
    """Writes each part as it arrives; writing one again changes nothing.

    Args:
        parts: where the parts are written.
        level: what one result stands for.
        suffix: the ending of the names of parts.
        coordinator: who is told of each part.
    """

    def __init__(
        self, parts: PartsFolder, level: Level, suffix: str, coordinator: CoordinatorClient
    ) -> None:
        self._parts = parts
        self._level = level
        self._suffix = suffix
        self._coordinator = coordinator

    def write(self, blocks: Any, ctx: Any) -> None:
        """Write the parts of some blocks."""
        with self._coordinator.failures():
            for block in blocks:
                for part in pa.table(block).to_pylist():
                    self._write(part["name"], part["share"], part["lines"])

    def _write(self, name: str, share: float, lines: bytes | None) -> None:
        try:
            if lines is None:  # an earlier run wrote it
                counts = count_rows(self._parts.read(name), self._suffix)
            else:
                counts = count_rows(lines, ".jsonl")
                data = lines if self._suffix != ".parquet" else _to_parquet(lines, self._level)
                self._parts.write(name, data)
        except OSError as error:
            raise CheckError(
                f"cannot write {self._parts.location!r}: {error.strerror or error}; {HOW_TO_RESUME}"
            ) from error
        self._coordinator.count(name, counts, share, lines is not None)


def _to_parquet(lines: bytes, level: Level) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        jsonl, parquet = Path(folder, "lines"), Path(folder, "parquet")
        jsonl.write_bytes(lines)
        write_parquet(jsonl, parquet, level)
        return parquet.read_bytes()
