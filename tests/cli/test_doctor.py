"""halldetect doctor: its findings on this machine, and on damaged ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from halldetect.cli import doctor, main
from halldetect.errors import ModelError
from halldetect.machine import catalogue, integrity, store
from halldetect.report import Probabilities
from halldetect.verification.presets import LARGE_BASE
from tests.support.fakes import OverlapVerifier

LOAD = "halldetect.models.verifiers.load_verifier"
# No test here changes the weights: 90 MB are read once, not in every test.
read_once = cache(integrity.file_digests)


class AgreeingVerifier(OverlapVerifier):
    """Takes everything for supported."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [Probabilities(1.0, 0.0, 0.0) for _ in pairs]


@pytest.fixture(autouse=True)
def empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No models, and no GPU that PyTorch would have to be loaded for."""
    store = tmp_path / "store"
    monkeypatch.setenv("HALLDETECT_HOME", str(store))
    monkeypatch.setattr(integrity, "file_digests", read_once)
    monkeypatch.setattr("halldetect.machine.devices.torch_device", lambda wanted: "cpu")
    return store


def found(capsys: pytest.CaptureFixture[str], status: int = 0) -> dict[str, Any]:
    """The findings as JSON; the status must be this one."""
    assert main(["doctor", "--json"]) == status
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_this_machine(capsys: pytest.CaptureFixture[str], empty_store: Path) -> None:
    result = found(capsys)
    assert (result["ok"], result["problem"]) == (True, None)
    assert result["cache"] == str(empty_store)
    for name in ("base", "large"):
        assert result["models"][name] == "in the package, verified"
    assert result["models"][LARGE_BASE] == "absent"
    assert result["verifiers"]["base"].startswith("onnxruntime ")
    assert result["verifiers"]["large"].startswith("not usable: ")
    assert not empty_store.exists()
    assert result["recommended"]["verifier"] in ("base", "auto", "large")
    assert "large" in result["recommended"]["reason"]


@pytest.mark.parametrize(
    ("large", "free", "on_gpu", "name", "reason"),
    [
        (3.0, 8, False, "large", "3.0 with large"),
        (12.0, 8, False, "auto", "0.5 s with base, 3.5 with auto"),
        (40.0, None, False, "base", "40.0 with large"),
        (3.0, 2, False, "base", "needs 2.7 GB of memory, 2.0 are free"),
        (40.0, 2, True, "large", "GPU"),
    ],
)
def test_recommended_verifier(
    large: float, free: int | None, on_gpu: bool, name: str, reason: str
) -> None:
    memory = None if free is None else free * 10**9
    found = doctor.recommended(0.5, large, free=memory, needed=2_700_000_000, on_gpu=on_gpu)
    assert found[0] == name
    assert reason in found[1]


def test_free_memory() -> None:
    assert (doctor.free_memory() or 1 << 40) > 1 << 20


def test_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOAD, lambda *_, **__: AgreeingVerifier())
    monkeypatch.setattr(doctor, "check_problem", lambda detector: None)
    assert main(["doctor"]) == 0
    captured = capsys.readouterr()
    for line in (
        "default check: works",
        "recommended: --verifier ",
        "  base: in the package, verified",
    ):
        assert line in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("libgomp.so.1:\ncannot open it"), "OSError: libgomp.so.1: cannot open it"),
        (ModelError("no weights"), ": no weights"),
    ],
)
def test_a_verifier_that_cannot_be_loaded(
    error: Exception,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(LOAD, fail)
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert "default check: does not work" in captured.out
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_verifier_that_judges_wrongly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOAD, lambda *_, **__: AgreeingVerifier())
    result = found(capsys, status=1)
    assert "judged wrongly" in result["problem"]


def test_altered_weights(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(integrity.SHIPPED_DIGESTS, "base", "0" * 64)
    monkeypatch.setattr("halldetect.models.verifiers._loaded", {})
    result = found(capsys, status=1)
    assert "are not those of this version" in result["problem"]
    assert "are not those of this version" in result["models"]["base"]
    assert result["models"]["large"] == "in the package, verified"


def test_large_with_and_without_a_gpu(empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    entry = catalogue.find(LARGE_BASE)
    file = store.location(entry)
    file.parent.mkdir(parents=True)
    with file.open("wb") as stream:
        stream.truncate(entry.bytes)  # a hole, which takes no room
    monkeypatch.setattr("halldetect.large.load.uses_openvino", lambda: False)
    assert doctor._plan_large() == "onnx on cpu"
    monkeypatch.setattr("halldetect.machine.devices.torch_device", lambda wanted: "cuda")
    assert doctor._plan_large().endswith(" on cuda")


def test_a_store_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(entry: object) -> None:
        raise PermissionError(13, "Permission denied", "/cache")

    monkeypatch.setattr(store, "state", fail)
    assert "Permission denied" in doctor._models()[LARGE_BASE]
