"""Killed, interrupted or on a full disk: resumed, the results are the same."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.batch.job import ColumnNames, Job
from halldetect.batch.local import run_local
from halldetect.batch.results import read_results
from halldetect.batch.resume import require_same_settings
from halldetect.cli import main
from halldetect.errors import CheckError, InputError
from tests.support.batch_files import (
    Stopped,
    detector,
    results,
    rows_of_all_kinds,
    stop_after,
    without_seconds,
    write_jsonl,
)
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT
from tests.support.running import PATIENCE, eventually

DRIVER = """
import json, os, random, signal, sys, time
from pathlib import Path
from halldetect.models import verifiers
from halldetect.cli import main
from tests.support.fakes import OverlapVerifier

PAUSE = 0.0

class Slow(OverlapVerifier):
    def judge(self, pairs):
        time.sleep(PAUSE)
        return super().judge(pairs)

verifiers.load_verifier = lambda spec, **_: Slow()

def batch(source, out, *more):
    return main(["batch", source, out, "--batch-size", "4", *more])

def forked(work):
    # A fork has everything imported already; killing it is as real as any kill -9.
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = work()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return child
"""


KILL_BY_TIME = """
source, out, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
batch(source, out + ".whole.jsonl", "--quiet")  # also loads all there is to load
for seed in range(first, last):
    random.seed(seed)
    PAUSE = 0.002
    target = f"{out}.{seed}.jsonl"
    killed = []
    def rows_done():
        return 4 * len(list(Path(target + ".parts").glob("part-*")))
    for _ in range(random.randint(1, 4)):
        wanted = random.randint(0, 88)
        child = forked(lambda: batch(source, target, "--resume", "--quiet"))
        # By rows, so that a busy machine does not make all of them die before they begin;
        # then a moment longer, so that they die anywhere between two slices.
        ended = 0
        while not ended and not Path(target).exists() and rows_done() < wanted:
            time.sleep(0.001)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            time.sleep(random.uniform(0.0, 0.02))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed.append(rows_done())
    PAUSE = 0.0
    child = forked(lambda: batch(source, target, "--resume", "--quiet"))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"target": target, "killed": killed, "status": status}), flush=True)
"""


KILL_AT_EVERY_STEP = """
source, out, kind = sys.argv[1:4]
for ending in {"jsonl", kind}:  # also loads all there is to load, before the forks
    batch(source, out + ".whole." + ending, "--quiet")

def die_at(step):
    left = [step]
    def dying(real):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)
        return call
    for name in ("fsync", "close"):
        setattr(os, name, dying(getattr(os, name)))
    Path.replace, Path.unlink, Path.mkdir = map(dying, (Path.replace, Path.unlink, Path.mkdir))
    os.unlink, os.rmdir = dying(os.unlink), dying(os.rmdir)
    return batch(source, target, "--resume", "--quiet")

for step in range(1, 200):
    target = f"{out}.{step}.{kind}"
    child = forked(lambda: die_at(step))
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        print(json.dumps({"target": target, "died": False, "status": os.WEXITSTATUS(status)}))
        break
    child = forked(lambda: batch(source, target, "--resume", "--quiet"))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"target": target, "died": True, "status": status}), flush=True)
"""


def drive(code: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    # Python 3.12 and later warn of a fork beside threads; these children use none of them.
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    return subprocess.Popen(
        [sys.executable, *quiet, "-c", DRIVER + code, *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        **{"stdout": subprocess.PIPE, **options},
    )


def outcomes(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, b"")
    return [json.loads(line) for line in out.splitlines()]


def same_results(target: Path, whole: Path) -> bool:
    if target.suffix == ".jsonl":
        return without_seconds(target.read_bytes()) == without_seconds(whole.read_bytes())
    pairs = zip(read_results(target), read_results(whole), strict=True)
    return all(_untimed(one) == _untimed({**two, "id": str(two["id"])}) for one, two in pairs)


def _untimed(result: dict[str, Any]) -> dict[str, Any]:
    if result["report"]:
        result["report"]["cost"]["seconds"] = {}
    return result


posix = pytest.mark.skipif(os.name != "posix", reason="forks and signals")


@posix
def test_random_kills_change_no_byte(tmp_path: Path) -> None:
    seeds = range(3)
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(90))
    out = tmp_path / "out"
    found = outcomes(drive(KILL_BY_TIME, source, out, seeds.start, seeds.stop))
    assert len(found) == len(seeds)
    whole = tmp_path / "out.whole.jsonl"
    assert len(results(whole)) == 90
    for run in found:
        assert run["status"] == 0, run
        assert same_results(Path(run["target"]), whole), run
    # Otherwise nothing has been shown: some must have died half-way.
    assert sum(0 < rows < 90 for run in found for rows in run["killed"]) >= len(seeds) // 3
    assert not list(tmp_path.glob("*.parts*"))


@posix
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_kill_at_every_step_changes_no_byte(tmp_path: Path, kind: str) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(6))
    found = outcomes(drive(KILL_AT_EVERY_STEP, source, tmp_path / "out", kind))
    assert [run["died"] for run in found] == [True] * (len(found) - 1) + [False]
    assert len(found) > 10
    for run in found:
        assert run["status"] == 0, run
        assert same_results(Path(run["target"]), tmp_path / "out.whole.jsonl"), run
    assert not list(tmp_path.glob("*.parts*"))


INTERRUPT = """
PAUSE = float(sys.argv[3])
sys.exit(batch(sys.argv[1], sys.argv[2], "--resume"))
"""


@posix
def test_ctrl_c_keeps_finished_parts(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(40))
    parts = tmp_path / "out.jsonl.parts"
    process = drive(INTERRUPT, source, tmp_path / "out.jsonl", 0.7)
    eventually(lambda: any(parts.glob("part-*")))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert 0 < len(list(parts.glob("part-*"))) < 10
    assert b"halldetect: interrupted; the same command with --resume" in err.splitlines()[-1]
    arguments = ["batch", str(source), str(tmp_path / "out.jsonl"), "--quiet"]
    assert main([*arguments, "--resume"]) == 0
    assert main(["batch", str(source), str(tmp_path / "whole.jsonl"), "--quiet"]) == 0
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


def leave_unfinished(tmp_path: Path, parts: int, rows: int = 100, **options: Any) -> None:
    """Begin out.jsonl, and stop after some parts."""
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(rows))
    job = Job(str(source), str(tmp_path / "out.jsonl"), **options)
    with pytest.raises(Stopped):
        run_local(detector(), job, progress=stop_after(parts))


def test_resume_needs_same_input_and_configuration(tmp_path: Path) -> None:
    leave_unfinished(tmp_path, 2)
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
    with pytest.raises(InputError, match=r"cannot resume: .* had another configuration; give"):
        run_local(Detector(OverlapVerifier(), threshold=0.25), job)
    other = write_jsonl(tmp_path / "other.jsonl", rows_of_all_kinds(100))
    for changed, what in (
        (Job(str(other), job.target, resume=True), "list of input files"),
        (Job(job.source, job.target, ColumnNames(id="n"), resume=True), "columns"),
    ):
        with pytest.raises(InputError, match=f"cannot resume: .* another {what}"):
            run_local(detector(), changed)
    with pytest.raises(InputError, match="exists"):
        Job(job.source, job.target)

    outcome = run_local(detector(), replace(job, batch_size=9))
    assert (outcome.counts.rows, outcome.rows_before) == (100, 64)
    whole = Job(job.source, str(tmp_path / "whole.jsonl"))
    assert run_local(detector(), whole).counts == outcome.counts
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


@pytest.mark.parametrize("damage", ["cut", "empty", "longer", "forged"])
def test_damaged_part_is_made_again(tmp_path: Path, damage: str) -> None:
    options: dict[str, Any] = {"batch_size": 8}
    leave_unfinished(tmp_path, 2, rows=20, **options)
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True, **options)
    run_local(detector(), Job(job.source, str(tmp_path / "whole.jsonl"), **options))
    _, part = sorted((tmp_path / "out.jsonl.parts").glob("part-*"))
    data = part.read_bytes()
    assert b'"hallucinated"' in data
    part.write_bytes(
        {
            "cut": data[:-700],
            "empty": b"",
            "longer": data + b"{}\n",
            "forged": data.replace(b'"hallucinated"', b'"faithful"'),
        }[damage]
    )
    outcome = run_local(detector(), job)
    assert (outcome.rows_before, outcome.counts.rows) == (8, 20)
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


def test_changed_rows_are_checked_again(tmp_path: Path) -> None:
    leave_unfinished(tmp_path, 2)
    source = write_jsonl(tmp_path / "in.jsonl", [*rows_of_all_kinds(40), *rows_of_all_kinds(5)])
    job = Job(str(source), str(tmp_path / "out.jsonl"), resume=True)
    assert run_local(detector(), job).rows_before == 32
    run_local(detector(), Job(job.source, str(tmp_path / "whole.jsonl")))
    assert same_results(tmp_path / "out.jsonl", tmp_path / "whole.jsonl")


def test_resume_refuses_damaged_settings(tmp_path: Path) -> None:
    leave_unfinished(tmp_path, 1)
    job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
    for broken in (b"", b"5", b'{"version": 99}'):
        (tmp_path / "out.jsonl.parts" / "_run.json").write_bytes(broken)
        with pytest.raises(InputError, match="resume"):
            run_local(detector(), job)
    run_local(detector(), Job(job.source, job.target, overwrite=True))
    assert len(results(tmp_path / "out.jsonl")) == 100


@posix
def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    refused: list[str] = []

    def second(*_: object) -> None:
        job = Job(str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), resume=True)
        with pytest.raises(InputError) as error:
            run_local(detector(), job)
        refused.append(str(error.value))

    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(40))
    run_local(detector(), Job(str(source), str(tmp_path / "out.jsonl")), progress=second)
    assert len(results(tmp_path / "out.jsonl")) == 40
    assert "another run is writing" in refused[0]


@pytest.mark.parametrize(("place", "call"), [(os, "fsync"), (Path, "replace")])
def test_full_disk_is_resumable(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: Any,
    call: str,
) -> None:
    source, out = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(100)), tmp_path / "out.jsonl"
    real, left = getattr(place, call), [4]

    def full(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] > 0:
            return real(*arguments)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(place, call, full)
        assert main(["batch", str(source), str(out), "--quiet"]) == 3
    err = capsys.readouterr().err
    assert "No space left on device; the same command" in err
    assert "--resume" in err
    assert err.count("\n") == 1
    assert main(["batch", str(source), str(out), "--quiet", "--resume"]) == 0
    assert main(["batch", str(source), str(tmp_path / "whole.jsonl"), "--quiet"]) == 0
    assert same_results(out, tmp_path / "whole.jsonl")


TO_STANDARD_OUTPUT = "sys.exit(batch(sys.argv[1], '-', '--quiet'))"


@posix
def test_standard_output_full_or_closed(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(400))
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            process = drive(TO_STANDARD_OUTPUT, source, stdout=full)
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3
        assert err.startswith(b"halldetect: cannot write to standard output: No space left")
        assert err.count(b"\n") == 1
    with drive(TO_STANDARD_OUTPUT, source) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["verdict"] == "faithful"
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 3
    assert err.startswith(b"halldetect: cannot write to standard output: Broken pipe; ")
    assert err.count(b"\n") == 1


def test_failed_parquet_is_resumable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(10))
    job = Job(str(source), str(tmp_path / "out.parquet"))

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("halldetect.batch.results.write_parquet", full)
        with pytest.raises(CheckError, match="No space left on device; the same command"):
            run_local(detector(), job)
    run_local(detector(), Job(job.source, job.target, resume=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.parquet"]


def test_a_setting_that_was_not_recorded_is_another_one() -> None:
    require_same_settings({"models": [1, 2], "seed": 3}, {"models": (1, 2)})
    with pytest.raises(InputError, match=r"had another models and another columns; give"):
        require_same_settings({"seed": 3}, {"models": (1, 2), "seed": 3, "columns": {}})


def test_a_folder_of_parts_holds_those_of_this_run_only(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(20))
    job = Job(str(source), f"{tmp_path / 'out.jsonl'}/", batch_size=10)
    run_local(detector(), job)
    written = sorted(path.name for path in (tmp_path / "out.jsonl").glob("part-*"))
    assert len(written) == 2
    write_jsonl(source, [*rows_of_all_kinds(10), *rows_of_all_kinds(3)])
    (tmp_path / "out.jsonl" / "notes.txt").write_text("mine")
    outcome = run_local(detector(), replace(job, resume=True))
    assert (outcome.counts.rows, outcome.rows_before) == (13, 10)
    left = sorted(path.name for path in (tmp_path / "out.jsonl").glob("part-*"))
    assert (left[0], len(left)) == (written[0], 2)
    assert left[1] != written[1]
    assert sum(len(results(path)) for path in (tmp_path / "out.jsonl").glob("part-*")) == 13
    assert (tmp_path / "out.jsonl" / "notes.txt").exists()
    done = json.loads((tmp_path / "out.jsonl" / "_done.json").read_bytes())
    assert (done.pop("rows"), sum(done.values())) == (13, 13)
    assert done == dict(outcome.counts.by_kind)


def test_a_run_that_begins_again_leaves_no_part_of_the_one_before(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(30))
    job = Job(str(source), f"{tmp_path / 'out.jsonl'}/", batch_size=10)
    run_local(detector(), job)
    again = replace(job, overwrite=True)
    with pytest.raises(Stopped):
        run_local(detector(), again, progress=stop_after(1))
    names = {path.name for path in (tmp_path / "out.jsonl").iterdir()}
    assert len([name for name in names if name.startswith("part-")]) == 1
    assert "_done.json" not in names, "the run is not complete"
