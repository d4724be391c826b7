"""Batches on Ray: the same bytes as here, whatever happens to the workers."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.batch.job import ColumnNames, Job
from halldetect.batch.local import BatchOutcome, run_local
from halldetect.errors import CheckError, InputError
from halldetect.report import Probabilities
from tests.support.batch_files import (
    GOOD,
    SOURCE,
    WRONG,
    Stopped,
    detector,
    rows_of_all_kinds,
    untimed,
    write_jsonl,
)
from tests.support.fakes import OverlapVerifier

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def ray_here() -> Iterator[Any]:
    """One Ray for all tests: starting it takes longer than most of them."""
    pytest.importorskip("ray")
    from halldetect.batch.ray import connected

    with pytest.MonkeyPatch.context() as patched:
        # Workers must find the modules of the tests.
        patched.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        with connected(None, 2):
            yield


def on_ray(
    source: Any,
    target: Path | str,
    make_detector: Any = detector,
    workers: int = 1,
    **options: Any,
) -> BatchOutcome:
    """A run with few workers and small parts: a worker takes seconds to start."""
    from halldetect.batch.ray import Cluster, run_on_ray

    job = Job(source, str(target), in_parts=True, **options)
    cluster = Cluster(workers=workers, part_rows=8)
    return run_on_ray(detector(), job, cluster, make_detector=make_detector)


def here(source: Any, target: Path, **options: Any) -> Path:
    run_local(detector(), Job(source, str(target), **options))
    return target


def test_same_bytes_as_local_engine(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", [*rows_of_all_kinds(50), "no row"]))
    expected = here(source, tmp_path / "here.jsonl")
    outcome = on_ray(source, tmp_path / "there.jsonl", workers=2)
    assert untimed(tmp_path / "there.jsonl") == untimed(expected)
    assert (outcome.counts.rows, outcome.counts.by_kind["bad"]) == (51, 11)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "here.jsonl",
        "in.jsonl",
        "there.jsonl",
    ]


def test_several_files_into_parquet(tmp_path: Path) -> None:
    from pyarrow.parquet import read_table

    for at in range(3):
        write_jsonl(tmp_path / f"in-{at}.jsonl", rows_of_all_kinds(10 + at))
    (tmp_path / "in-3.csv").write_text(f"source,response\n{SOURCE},{GOOD}\n", encoding="utf-8")
    pattern = str(tmp_path / "in-*")
    expected = here(pattern, tmp_path / "here.parquet")
    on_ray(pattern, tmp_path / "there.parquet")
    kept = ["id", "verdict", "reason", "bad_row", "score", "claims", "columns"]
    mine, theirs = (read_table(tmp_path / f"{name}.parquet") for name in ("there", "here"))
    assert mine.select(kept).equals(theirs.select(kept))
    assert mine.column("id")[0].as_py() == f"{tmp_path / 'in-0.jsonl'}:1"
    assert expected.exists()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_folder_of_parts_at_a_url(tmp_path: Path, ending: str) -> None:
    from pyarrow.parquet import read_table

    source = str(write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(30)))
    expected = here(source, tmp_path / "here.jsonl")
    folder = tmp_path / f"there.{ending}"
    on_ray(f"file://{source}", f"file://{folder}")
    parts = sorted(folder.glob("part-*"))
    assert len(parts) == 4
    if ending == "jsonl":
        joined = tmp_path / "joined"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        assert untimed(joined) == untimed(expected)
    else:
        found = [row for part in parts for row in read_table(part)["id"].to_pylist()]
        assert found == [str(n) for n in range(1, 31)]
    assert json.loads((folder / "_done.json").read_bytes())["rows"] == 30
    with pytest.raises(InputError, match="exists"):
        on_ray(f"file://{source}", f"file://{folder}")
    with pytest.raises(InputError, match="another list of input files"):
        on_ray(source, f"file://{folder}", resume=True)
    if ending == "jsonl":  # nothing left to do
        outcome = on_ray(f"file://{source}", f"file://{folder}", resume=True)
        assert (outcome.counts.rows, outcome.rows_before) == (30, 30)


class Dying(OverlapVerifier):
    """Takes its whole process with it, once."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark = mark

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return super().judge(pairs)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_killed_actor_costs_no_row(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(40)))
    expected = here(source, tmp_path / "here.jsonl")
    mark = tmp_path / "killed"
    outcome = on_ray(
        source,
        tmp_path / "there.jsonl",
        workers=2,
        make_detector=lambda: Detector(_named(Dying(mark))),
    )
    assert mark.exists()
    assert outcome.counts.rows == 40
    assert untimed(tmp_path / "there.jsonl") == untimed(expected)


def _named(verifier: OverlapVerifier) -> OverlapVerifier:
    """Reports name the type of the object: all are to look like the plain one."""
    type(verifier).__name__ = "OverlapVerifier"
    return verifier


def test_stopped_run_resumes_to_same_bytes(tmp_path: Path) -> None:
    from halldetect.batch.ray import Cluster, run_on_ray

    source = str(write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(80)))
    expected = here(source, tmp_path / "here.jsonl")
    target = tmp_path / "there.jsonl"
    parts = tmp_path / "there.jsonl.parts"
    job = Job(source, str(target), in_parts=True)
    cluster = Cluster(workers=1, part_rows=8)

    seen = tmp_path / "seen"

    def stop(*_: object) -> None:
        if len(list(parts.glob("part-*"))) >= 2:
            seen.touch()
            raise Stopped

    with pytest.raises(Stopped):
        run_on_ray(
            detector(), job, cluster, make_detector=lambda: _slow(detector(), seen), progress=stop
        )
    assert not target.exists()
    with pytest.raises(InputError, match="exists"):
        on_ray(source, target)
    with pytest.raises(InputError, match="another columns"):
        on_ray(source, target, resume=True, columns=ColumnNames(id="n"))
    copy = tmp_path / "copy.jsonl"
    shutil.copytree(parts, f"{copy}.parts")
    again = on_ray(source, target, resume=True)
    assert again.counts.rows == 80
    assert 16 <= again.rows_before < 80
    local = run_local(detector(), Job(source, str(copy), resume=True))
    assert local.counts.by_kind == again.counts.by_kind
    assert untimed(target) == untimed(copy) == untimed(expected)
    assert not parts.exists()


def _slow(made: Detector, seen: Path) -> Detector:
    """One that does not check all before its first results are seen."""
    real, calls = made.check_many, 0

    def check_many(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        time.sleep(0.3)
        until = time.monotonic() + 120
        while calls > 3 and not seen.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return real(*arguments)

    made.check_many = check_many  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999"])
def test_missing_cluster_fails_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    import ray

    from halldetect.batch.ray import connected

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(CheckError, match="Ray cannot be reached at"), connected(address, 1):
        pass


def test_errors_that_end_a_run(tmp_path: Path) -> None:
    source = str(write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(20)))
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl"):
        on_ray(str(tmp_path / "none.jsonl"), tmp_path / "none-out.jsonl")
    with pytest.raises(CheckError, match="other models or another version"):
        on_ray(
            source,
            tmp_path / "other.jsonl",
            make_detector=lambda: Detector(OverlapVerifier(), threshold=0.25),
        )
    with pytest.raises(InputError, match="not standard input or output"):
        Job("-", str(tmp_path / "x.jsonl"), in_parts=True)

    from halldetect.batch.ray import Cluster, run_on_ray

    job = Job(source, str(tmp_path / "gpu.jsonl"), in_parts=True)
    with pytest.raises(InputError, match="this cluster has no such GPU"):
        run_on_ray(detector(), job, Cluster(gpus_per_worker=0.5))
    assert not (tmp_path / "gpu.jsonl.parts").exists()


def test_detectors_fill_cluster_within_memory() -> None:
    import ray

    from halldetect.batch.ray import Cluster

    total = ray.cluster_resources()
    assert Cluster().room(0) == total["CPU"]
    assert Cluster(cpus_per_worker=2).room(0) == total["CPU"] // 2
    assert Cluster(workers=3).room(1 << 60) == 3
    assert Cluster().room(int(total["memory"])) == Cluster().room(1 << 60) == 1


def test_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from halldetect.batch.job import Part
    from halldetect.batch.local import PartChecker, run_settings
    from halldetect.batch.ray import _Actor, _packed
    from halldetect.batch.resume import PartsFolder

    def full(self: Any, name: str, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(PartsFolder, "write", full)
    job = Job("in.jsonl", str(tmp_path / "out.jsonl"), in_parts=True)
    actor = _Actor(PartChecker(detector, run_settings(detector()), job, PartsFolder(job)))
    problem = pickle.loads(actor(_packed(Part("part-1", [])))["data"])
    assert isinstance(problem, CheckError)
    assert "No space left on device; the same command with --resume" in str(problem)


COMMAND = """
import sys
from halldetect.cli import main
sys.exit(main(sys.argv[1:]))
"""


def command(*arguments: object) -> subprocess.Popen[bytes]:
    """In a process and a session of its own, as from a shell."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "batch", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def done(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(timeout=400)
    return process.returncode, out, err


def museum(folder: Path) -> Path:
    return write_jsonl(
        folder / "in.jsonl",
        [
            {"source": f"The mill was built in {1790 + n}. Today it is a museum.", "response": text}
            for n, text in enumerate([GOOD, WRONG, "The museum has a roof of straw."] * 8)
        ],
    )


def test_command_with_embedded_models(tmp_path: Path) -> None:
    """Interrupted as a terminal does it, killed, finished; benchmarks/batch.py has more rows."""
    source, target = museum(tmp_path), tmp_path / "there.jsonl"
    parts = tmp_path / "there.jsonl.parts"
    ray = [source, target, "--engine", "ray", "--workers", 1, "--part-rows", 1, "--resume"]

    def stopped(how: signal.Signals) -> tuple[int, bytes]:
        """Run until there is one more part, then send the signal."""
        before = len(list(parts.glob("part-*")))
        process = command(*ray, "--cache", tmp_path / "kept")
        while process.poll() is None and len(list(parts.glob("part-*"))) <= before:
            time.sleep(0.05)
        assert process.poll() is None, done(process)
        os.killpg(process.pid, how)
        status, _, err = done(process)
        assert not target.exists()
        assert before < len(list(parts.glob("part-*"))) < 24
        return status, err

    status, err = stopped(signal.SIGINT)
    # A terminal interrupts Ray's own processes too. Its native code may then end this one with 1,
    # before the last line is printed; the parts are kept either way.
    assert status in (1, 130), err
    assert status == 1 or b"interrupted; the same command with --resume" in err
    stopped(signal.SIGKILL)  # last: what its workers still write may come after it
    assert done(command(*ray, "--quiet")) == (0, b"", b"")
    assert done(command(source, tmp_path / "here.jsonl", "--quiet")) == (0, b"", b"")
    assert untimed(target) == untimed(tmp_path / "here.jsonl")
    assert (tmp_path / "kept" / "reports.sqlite").exists()
