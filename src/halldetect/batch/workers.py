"""What runs on the machines of a cluster: reading, checking, writing, and one that keeps count."""

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

from halldetect.batch.cache import Cache
from halldetect.batch.formats import open_input
from halldetect.batch.job import Job
from halldetect.batch.parquet import convert
from halldetect.batch.parts import Parts, part_name, tally_of
from halldetect.batch.results import Level
from halldetect.batch.rows import Row, read_rows
from halldetect.batch.run import SLICE, settings, written
from halldetect.batch.stages import Checker, Checks, Slice
from halldetect.batch.tally import Tally
from halldetect.config import Configuration
from halldetect.errors import CheckError, HallDetectError, InputError, ModelError

# A part is closed when its rows hold so much text, however few they are.
_PART_BYTES = 64 * 1024 * 1024
_SCHEMA = pa.schema([("name", pa.string()), ("share", pa.float64()), ("rows", pa.large_binary())])
_DONE = pa.schema([("name", pa.string()), ("share", pa.float64()), ("lines", pa.large_binary())])


@dataclass(frozen=True, slots=True)
class File:
    """An input file: its place among the others, its address, the name its rows call it by,
    its share of all bytes, and the parts of it that are there already."""

    place: int
    address: str
    label: str | None
    share: float
    done: frozenset[str]


class Control:
    """Keeps count, and passes on when to stop; an actor of its own."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._share = 0.0
        self._rows_before = 0
        self._names: set[str] = set()
        self._going_on = True
        self._failure: tuple[bool, str] | None = None

    def may_go_on(self) -> bool:
        return self._going_on

    def stop(self) -> None:
        self._going_on = False

    def fail(self, is_input: bool, message: str) -> None:
        self._failure = self._failure or (is_input, message)
        self.stop()

    def count(self, name: str, tally: Tally, share: float, is_new: bool) -> None:
        """A part is written. One that a lost worker had written already counts once."""
        if name not in self._names:
            self._names.add(name)
            self._tally.join(tally)
            self._share += share
            self._rows_before += 0 if is_new else tally.rows

    def rows_before(self) -> int:
        """Of the parts that an earlier run had written."""
        return self._rows_before

    def state(self) -> tuple[Tally, float, tuple[bool, str] | None]:
        return self._tally, self._share, self._failure

    def names(self) -> set[str]:
        return self._names


class ToControl:
    """How workers speak to it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def may_go_on(self) -> bool:
        return bool(ray.get(self._actor.may_go_on.remote()))

    def count(self, name: str, tally: Tally, share: float, is_new: bool) -> None:
        ray.get(self._actor.count.remote(name, tally, share, is_new))

    @contextmanager
    def failures(self) -> Iterator[None]:
        """What ends the run for a known reason is reported as such, not raised through Ray."""
        try:
            yield
        except HallDetectError as error:
            message, is_input = str(error), isinstance(error, InputError)
            ray.get(self._actor.fail.remote(is_input, message))


class RowSource(Datasource):  # type: ignore[misc]
    """Each file is read by one task, row by row; each row of its blocks is a part to be made."""

    def __init__(
        self,
        files: Sequence[File],
        job: Job,
        limits: Configuration,
        part_rows: int,
        ending: str,
        control: ToControl,
    ) -> None:
        self._files = files
        self._job = job
        self._limits = limits
        self._part_rows = part_rows
        self._ending = ending
        self._control = control

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def get_read_tasks(self, parallelism: int, *rest: Any, **more: Any) -> list[Any]:
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(self._reader(file), unknown) for file in self._files]

    def _reader(self, file: File) -> Callable[[], Iterator[Any]]:
        def read() -> Iterator[Any]:
            with self._control.failures():
                yield from self._parts(file)
            yield _SCHEMA.empty_table()

        return read

    def _parts(self, file: File) -> Iterator[Any]:
        with open_input(file.address) as given:
            rows = read_rows(given, self._job.columns, self._limits, file.label)
            read = 0.0
            for part in _cut(rows, self._part_rows):
                digest = blake2b(digest_size=12)
                for row in part:
                    digest.update(row.fingerprint())
                name = part_name(file.place, part[0].number, digest.hexdigest(), self._ending)
                now = given.fraction() or 0.0
                share, read = file.share * (now - read), now
                packed = None if name in file.done else pickle.dumps(part)
                yield pa.Table.from_pylist(
                    [{"name": name, "share": share, "rows": packed}], schema=_SCHEMA
                )


def _cut(rows: Iterator[Row], most: int) -> Iterator[list[Row]]:
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(row.fingerprint())
        if len(part) >= most or size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


class CheckParts:
    """An actor with a detector of its own, made from the same settings as everywhere."""

    def __init__(
        self,
        make: Callable[[], Checks],
        expected: dict[str, Any],
        job: Job,
        cache: tuple[str | None, int | None] | None,
        parts: Parts,
        control: ToControl,
    ) -> None:
        self._make = make
        self._expected = expected
        self._job = job
        self._cache = cache
        self._parts = parts
        self._control = control
        self._checker: Checker | None = None

    def __call__(self, block: Any) -> Any:
        made = []
        with self._control.failures():
            for part in block.to_pylist():
                lines = None if part["rows"] is None else self._check(pickle.loads(part["rows"]))
                if part["rows"] is None or lines is not None:
                    made.append({"name": part["name"], "share": part["share"], "lines": lines})
        return pa.Table.from_pylist(made, schema=_DONE)

    def _check(self, rows: Sequence[Row]) -> bytes | None:
        """The lines of the rows, None if the run was stopped."""
        size = self._job.batch_size or SLICE
        slices = (Slice(rows[at : at + size]) for at in range(0, len(rows), size))
        if not self._control.may_go_on():
            return None
        if self._checker is None:
            self._checker = self._loaded()
        return b"".join(
            written(part.rows, found, self._job, Tally())
            for part, found in self._checker.findings(slices)
        )

    def _loaded(self) -> Checker:
        detector = self._make()
        if settings(detector) != self._expected:
            raise ModelError(
                "a worker has other models or another version than this machine: install the "
                "same halldetect and the same models everywhere"
            )
        if self._cache is None:
            return Checker(detector, Cache.none())
        folder, limit = self._cache
        place = None if folder is None else Path(folder)
        return Checker(detector, Cache(place, self._expected, limit=limit))


class PartSink(Datasink):  # type: ignore[misc]
    """Writes each part as it comes; writing one again changes nothing."""

    def __init__(self, parts: Parts, level: Level, ending: str, control: ToControl) -> None:
        self._parts = parts
        self._level = level
        self._ending = ending
        self._control = control

    def write(self, blocks: Any, ctx: Any) -> None:
        with self._control.failures():
            for block in blocks:
                for part in pa.table(block).to_pylist():
                    self._write(part["name"], part["share"], part["lines"])

    def _write(self, name: str, share: float, lines: bytes | None) -> None:
        try:
            if lines is None:  # an earlier run wrote it
                tally = tally_of(self._parts.read(name), self._ending)
            else:
                tally = tally_of(lines, ".jsonl")
                data = lines if self._ending != ".parquet" else _as_parquet(lines, self._level)
                self._parts.write(name, data)
        except OSError as error:
            raise CheckError(
                f"cannot write {self._parts.address!r}: {error.strerror or error}; "
                "the same command with --resume (and without --overwrite) goes on from there"
            ) from error
        self._control.count(name, tally, share, lines is not None)


def _as_parquet(lines: bytes, level: Level) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "lines"), Path(folder, "parquet")
        given.write_bytes(lines)
        convert(given, made, level)
        return made.read_bytes()
