"""halldetect doctor: what it finds on this machine, and on damaged ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from halldetect import demo, models
from halldetect.cli import installation, main
from halldetect.errors import ModelError
from halldetect.report import Probabilities
from halldetect.verification.presets import LARGE_BASE
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

LOAD = "halldetect.verification.verifiers.load_verifier"


class CountingVerifier(OverlapVerifier):
    """Counts the pairs it judges."""

    pairs = 0

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.pairs += len(pairs)
        return super().judge(pairs)


class AgreeingVerifier(OverlapVerifier):
    """Takes everything for supported."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [Probabilities(1.0, 0.0, 0.0) for _ in pairs]


@pytest.fixture(autouse=True)
def empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No models, no time for the probe, and no GPU that PyTorch would have to be loaded for."""
    store = tmp_path / "store"
    monkeypatch.setenv("HALLDETECT_HOME", str(store))
    monkeypatch.setattr(installation, "PROBE_SECONDS", 0.0)
    monkeypatch.setattr("halldetect.verification.devices._is_there", lambda device: device == "cpu")
    return store


def found(capsys: pytest.CaptureFixture[str], status: int = 0) -> dict[str, Any]:
    """What the command says as JSON; its status must be this one."""
    assert main(["doctor", "--json"]) == status
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def state_of(result: dict[str, Any], name: str, *, in_package: bool) -> str:
    """The state of a model."""
    (state,) = (
        model["state"]
        for model in result["models"]
        if model["name"] == name and model["in_package"] is in_package
    )
    return str(state)


def test_this_machine(capsys: pytest.CaptureFixture[str], empty_store: Path) -> None:
    result = found(capsys)
    assert result["ok"] is True
    assert result["problem"] is None
    assert result["store"] == str(empty_store)
    assert {state_of(result, name, in_package=True) for name in ("base", "large")} == {"verified"}
    assert state_of(result, LARGE_BASE, in_package=False) == "absent"
    base, large = result["plans"]
    assert base["runtime"].startswith("onnxruntime ")
    assert base["device"].startswith("cpu, ")
    assert large["runtime"] is None
    assert result["speed"]["verifier"] == "base"
    assert result["speed"]["tokens_per_second"] > 0
    assert not empty_store.exists()


def test_the_text_names_speed_models_and_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = installation.Extra("ray", "many machines", ("ray>=2",), "pip install 'halldetect[ray]'")
    monkeypatch.setattr(installation, "installed_extras", lambda: (extra,))
    assert main(["doctor"]) == 0
    captured = capsys.readouterr()
    assert "default check: works" in captured.out
    assert "tokens per second" in captured.out
    assert "  base: in the package, verified" in captured.out
    assert "extras installed: none" in captured.out
    assert "for many machines: pip install 'halldetect[ray]'" in captured.out
    assert captured.err == ""


def test_a_verifier_that_cannot_be_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("libgomp.so.1:\ncannot open shared object file")

    monkeypatch.setattr(LOAD, fail)
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert "default check: does not work" in captured.out
    assert captured.err.count("\n") == 1
    assert "OSError: libgomp.so.1: cannot open" in captured.err


def test_a_verifier_that_judges_wrongly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOAD, lambda *_, **__: AgreeingVerifier())
    result = found(capsys, status=1)
    assert "judged wrongly" in result["problem"]
    assert result["speed"] is None


def test_altered_weights(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(models.integrity.SHIPPED_DIGESTS, "base", "0" * 64)
    monkeypatch.setattr("halldetect.verification.verifiers._loaded", {})
    result = found(capsys, status=1)
    assert result["ok"] is False
    assert "are not those of this version" in result["problem"]
    assert "are not those of this version" in state_of(result, "base", in_package=True)
    assert state_of(result, "large", in_package=True) == "verified"


def test_large_with_and_without_a_gpu(
    empty_store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(LOAD, lambda *_, **__: OverlapVerifier())
    entry = models.find(LARGE_BASE)
    file = models.location(entry)
    file.parent.mkdir(parents=True)
    with file.open("wb") as stream:
        stream.truncate(entry.bytes)  # a hole, which takes no room
    large = installation.diagnose().plans[1]
    assert (large.runtime, large.device, large.problem) == ("onnxruntime", "cpu", None)
    monkeypatch.setattr("halldetect.verification.devices._is_there", lambda device: True)
    large = installation.diagnose().plans[1]
    assert large.runtime in ("PyTorch", "llama.cpp")
    assert large.device == "cuda"


def test_a_gpu_that_pytorch_does_not_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOAD, lambda *_, **__: OverlapVerifier())
    plan = installation.Plan("large", "onnxruntime", "cpu")
    monkeypatch.setattr(installation, "_plan_large", lambda: plan)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert "NVIDIA GPU" in installation.diagnose().advice[0]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert not any("NVIDIA" in line for line in installation.diagnose().advice)


def test_a_store_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise PermissionError(13, "Permission denied", "/cache")

    monkeypatch.setattr(LOAD, lambda *_, **__: OverlapVerifier())
    monkeypatch.setattr(models, "status", fail)
    result = installation.diagnose().to_dict()
    assert "Permission denied" in state_of(result, LARGE_BASE, in_package=False)
    assert result["plans"][1]["problem"]


def test_extras_are_compared_with_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "halldetect-9.dist-info"
    info.mkdir()
    lines = [
        "Metadata-Version: 2.1",
        "Name: halldetect",
        "Version: 9",
        *(f"Provides-Extra: {name}" for name in ("here", "ray", "both", "old", "test")),
        "Requires-Dist: numpy",
        "Requires-Dist: packaging>=1; extra == 'here'",
        "Requires-Dist: no-such-package>=2; extra == 'ray'",
        "Requires-Dist: halldetect[here,ray]; extra == 'both'",
        "Requires-Dist: packaging>=9999; extra == 'old'",
        "Requires-Dist: no-such-package; extra == 'test'",
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    extras = {extra.name: extra for extra in installation.installed_extras()}
    assert set(extras) == {"here", "ray", "both", "old"}
    assert extras["here"].missing == ()
    assert extras["ray"].missing == extras["both"].missing == ("no-such-package>=2",)
    assert extras["ray"].install == "pip install 'halldetect[ray]'"
    assert extras["old"].missing[0].startswith("packaging>=9999 (found ")


def test_a_package_that_no_installer_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "PACKAGE", "no-such-package")
    assert installation.installed_extras() == ()


def test_every_extra_has_a_purpose() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    offered = set(project["optional-dependencies"]) - installation.DEVELOPMENT_EXTRAS
    assert set(installation.PURPOSES) == offered


def test_the_probe_counts_tokens_and_ends() -> None:
    verifier = CountingVerifier()
    speed = installation.measure_speed(verifier, 0.0)
    assert speed.pairs == 1
    assert verifier.pairs == 2  # one to warm up
    longer = installation.measure_speed(CountingVerifier(), 0.05)
    assert longer.pairs > 1
    assert 0.05 <= longer.seconds < 1
    tokens = sum(verifier.count_tokens([demo.SOURCE, demo.EXPECTED[0].sentence]))
    assert longer.tokens_per_second * longer.seconds > tokens


def test_an_error_of_ours_is_shown_without_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("no weights")

    monkeypatch.setattr(LOAD, fail)
    assert installation.diagnose().problem == "no weights"
