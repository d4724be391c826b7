"""The device and the runtime that suit a machine, and two models loaded side by side."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from halldetect import Detector
from halldetect.errors import MissingExtra
from halldetect.large.load import chosen_runtime
from halldetect.machine import devices
from halldetect.machine.devices import torch_device
from halldetect.models import verifiers
from halldetect.verification import presets
from halldetect.verification.verifiers.onnx import session_options
from tests.support.fakes import OverlapVerifier


def test_torch_is_asked_only_if_there_may_be_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda, mps = (SimpleNamespace(is_available=lambda found=found: found) for found in (True, False))
    torch: Any = SimpleNamespace(cuda=cuda, backends=SimpleNamespace(mps=mps))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(devices, "_GPU_FILES", (str(tmp_path / "driver"),))
    monkeypatch.setattr(devices, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert torch_device("auto") == "cpu"
    assert torch_device("cuda") == "cuda"  # asked for by name
    (tmp_path / "driver").touch()
    assert torch_device("auto") == "cuda"


@pytest.mark.parametrize(
    ("machine", "installed", "runtime"),
    [("x86_64", True, "openvino"), ("aarch64", True, "onnx"), ("x86_64", False, "onnx")],
)
def test_openvino_is_chosen_where_it_is_faster(
    machine: str, installed: bool, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(presets, "find_spec", lambda name: name if installed else None)
    assert chosen_runtime("cpu") == runtime
    large, small = presets._OPENVINO_MEMORY, presets._LARGE_MEMORY
    assert presets.memory_needed("large") == (large if runtime == "openvino" else small)


def test_threads_of_a_session_do_not_wait_busily() -> None:
    waiting = "session.intra_op.spin_duration_us"
    assert int(session_options(2).get_session_config_entry(waiting)) <= 100


class Whole(OverlapVerifier):
    """A verifier that needs another one to find passages."""

    reads_whole_sources = True


@pytest.mark.parametrize("name", ["large", "auto"])
def test_both_verifiers_are_loaded_at_the_same_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = Barrier(2)
    loaded: list[str] = []

    def load(wanted: str, *_: Any) -> Any:
        meeting.wait(20)  # fails unless both are being loaded
        loaded.append(wanted)
        return Whole() if wanted == "large" else OverlapVerifier()

    monkeypatch.setattr(verifiers, "_load", load)
    monkeypatch.setattr(verifiers, "_loaded", {})
    assert Detector(name, device="cpu").check("It rained.", "It was wet.").claims
    assert sorted(loaded) == ["base", "large"]


def test_a_verifier_is_loaded_once_for_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def load(wanted: str, *_: Any) -> Any:
        loaded.append(wanted)
        sleep(0.1)  # the other thread arrives meanwhile
        return OverlapVerifier()

    monkeypatch.setattr(verifiers, "_load", load)
    monkeypatch.setattr(verifiers, "_loaded", {})
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(verifiers.load_verifier, ["base", "base"])
    assert first is second
    assert loaded == ["base"]


def test_device_without_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"the device cuda.*halldetect\[hf\]"):
        torch_device("cuda")
