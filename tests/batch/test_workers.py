"""Workers beside the process with the model: the same bytes, whatever the batch, also after a kill.

A tiny model on the processor stands for the one on a GPU.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from halldetect import Detector
from halldetect.batch.job import Job
from halldetect.batch.local import run_local, run_settings
from halldetect.batch.workers import check_in_workers, worker_count
from halldetect.errors import CheckError, InputError, ModelError
from halldetect.large.load import load_large
from halldetect.large.verifier import LargeVerifier
from halldetect.models.verifiers import load_verifier
from tests.support.batch_files import Stopped, results, stop_after, untimed, write_jsonl
from tests.support.running import eventually
from tests.support.tiny_models import write_transformers
from tests.support.tiny_qwen import write_tiny

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")

MILL = "The mill of Arlen was built in 1790 by two brothers. It burnt down in 1804. No one died."
FERRY = "A ferry crosses the lake at noon. It carries twelve cars, and it stops for the winter."
ROWS = [
    {"source": MILL, "response": "Two brothers built the mill. It burnt down in 1850."},
    {"source": [MILL, FERRY], "response": "The ferry takes twelve cars [2]. It sails in winter."},
    {"source": FERRY, "response": ""},
    {"source": MILL, "response": "There was a fire, and nobody came to harm."},
    {"source": FERRY, "response": "At noon there is a ferry.", "question": "When does it sail?"},
    {"source": FERRY},
] * 3


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> LargeVerifier:
    folder = tmp_path_factory.mktemp("tiny")
    tiny = write_tiny(folder)
    return load_large(tiny.base, tiny.adapter, runtime="onnx", cache=folder, threads=1)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("batch.workers", "models.loading"):
        monkeypatch.setattr(f"halldetect.{module}.on_gpu", lambda verifier: True)


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return str(write_jsonl(tmp_path / "in.jsonl", ROWS))


def test_no_workers_without_a_gpu(verifier: LargeVerifier) -> None:
    assert worker_count(Detector(verifier, threads=8)) == 0


def test_workers_and_batches_change_no_byte(
    verifier: LargeVerifier, on_gpu: None, tmp_path: Path, rows: str
) -> None:
    alone = Detector(verifier, threads=1)
    assert worker_count(alone) == 0
    run_local(alone, Job(rows, str(tmp_path / "one.jsonl"), batch_size=100))
    wanted = untimed(tmp_path / "one.jsonl").replace(b'"threads":1', b'"threads":4')
    assert len({row["score"] for row in results(tmp_path / "one.jsonl")}) > 3
    many = Detector(verifier, threads=4)
    assert worker_count(many) == 3
    for size in (1, 5, 32):
        out, cache = tmp_path / f"{size}.jsonl", str(tmp_path / f"kept {size}")
        outcome = run_local(many, Job(rows, str(out), batch_size=size, cache=cache))
        assert outcome.counts.rows == len(ROWS)
        assert untimed(out) == wanted
    assert verifier.compute == verifier.backend.answer  # workers change their own copies


@pytest.mark.hf
def test_answers_for_a_classifier_are_the_same(on_gpu: None, tmp_path: Path, rows: str) -> None:
    classifier = load_verifier(f"hf:{write_transformers(tmp_path / 'm', 'mpnet')}", device="cpu")
    run_local(Detector(classifier, threads=1), Job(rows, str(tmp_path / "one.jsonl")))
    wanted = untimed(tmp_path / "one.jsonl").replace(b'"threads":1', b'"threads":4')
    assert len({row["score"] for row in results(tmp_path / "one.jsonl")}) > 3
    job = Job(rows, str(tmp_path / "many.jsonl"), batch_size=2)
    run_local(Detector(classifier, threads=4), job)
    assert untimed(tmp_path / "many.jsonl") == wanted


def test_only_one_process_uses_the_model(
    verifier: LargeVerifier,
    on_gpu: None,
    tmp_path: Path,
    rows: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def compute(groups: Sequence[Any]) -> Any:
        asked.append(os.getpid())
        return verifier.backend.answer(groups)

    monkeypatch.setattr(verifier, "compute", compute)
    run_local(Detector(verifier, threads=4), Job(rows, str(tmp_path / "out.jsonl"), batch_size=2))
    assert set(asked) == {os.getpid()}


def test_failing_model_is_the_reason_of_its_rows(
    verifier: LargeVerifier,
    on_gpu: None,
    tmp_path: Path,
    rows: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compute(groups: Sequence[Any]) -> Any:
        raise ModelError("large: no memory is left")

    monkeypatch.setattr(verifier, "compute", compute)
    run_local(Detector(verifier, threads=3), Job(rows, str(tmp_path / "out.jsonl"), batch_size=4))
    reasons = [row["reason"] for row in results(tmp_path / "out.jsonl")]
    assert "the verifier failed: large: no memory is left" in str(reasons[0])


def test_killed_worker_is_an_error_and_the_run_can_be_resumed(
    verifier: LargeVerifier, on_gpu: None, tmp_path: Path, rows: str
) -> None:
    out = tmp_path / "out.jsonl"
    detector = Detector(verifier, threads=3)

    def kill(*_: Any) -> None:
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
            child.join()

    with pytest.raises(CheckError, match=r"a worker process ended early; .*--resume"):
        run_local(detector, Job(rows, str(out), batch_size=2), progress=kill)
    outcome = run_local(detector, Job(rows, str(out), batch_size=2, resume=True))
    assert outcome.rows_before >= 2
    run_local(detector, Job(rows, str(tmp_path / "whole.jsonl"), batch_size=9))
    assert untimed(out) == untimed(tmp_path / "whole.jsonl")


def test_stopped_run_ends_its_workers(
    verifier: LargeVerifier, on_gpu: None, tmp_path: Path, rows: str
) -> None:
    from multiprocessing import active_children

    detector = Detector(verifier, threads=3)
    job = Job(rows, str(tmp_path / "out.jsonl"), batch_size=2)
    with pytest.raises(Stopped):
        run_local(detector, job, progress=stop_after(1))
    assert not active_children()


def is_gone(group: int) -> bool:
    """Return True once the last process of a group has ended."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_killed_leader_takes_its_workers_along(
    verifier: LargeVerifier,
    on_gpu: None,
    tmp_path: Path,
    rows: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, asked = tmp_path / "out.jsonl", tmp_path / "asked"
    job = Job(rows, str(out), batch_size=2, resume=True)

    def compute(groups: Sequence[Any]) -> Any:
        if asked.exists():  # not the first question: never answered
            time.sleep(60)
        asked.touch()
        return verifier.backend.answer(groups)

    detector = Detector(verifier, threads=3)
    run_settings(detector)
    monkeypatch.setattr(verifier, "compute", compute)
    leader = os.fork()
    if leader == 0:
        os.setsid()
        run_local(detector, job)
        os._exit(0)
    eventually(asked.exists)
    time.sleep(0.3)
    os.kill(leader, signal.SIGKILL)
    os.waitpid(leader, 0)
    eventually(lambda: is_gone(leader))
    monkeypatch.undo()
    assert run_local(Detector(verifier, threads=3), job).counts.rows == len(ROWS)
    assert not any("verifier failed" in str(row["reason"]) for row in results(out))


def test_workers_do_not_collect_what_was_garbage_before(tmp_path: Path) -> None:
    """The end of a session on the processor would wait for threads that no fork has."""

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            (tmp_path / "collected").touch()

    def check(part: Any) -> bool:
        gc.collect()
        return (tmp_path / "collected").exists()

    gc.disable()
    try:
        Cycle()
        verifier = SimpleNamespace(compute=None, pairs_at_once=1)
        parts: Any = [1, 2]
        assert [*check_in_workers(verifier, parts, check, 2)] == [False, False]
    finally:
        gc.enable()
    gc.collect()
    assert (tmp_path / "collected").exists()


def test_unusable_cache_is_named(
    verifier: LargeVerifier, on_gpu: None, tmp_path: Path, rows: str
) -> None:
    job = Job(rows, str(tmp_path / "out.jsonl"), cache=rows)
    with pytest.raises(InputError, match="cannot use the cache"):
        run_local(Detector(verifier, threads=3), job)
