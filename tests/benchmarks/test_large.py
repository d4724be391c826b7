"""The benchmarks of the large verifier run on a tiny model, in short."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from benchmarks import large_gpu, large_runtimes
from tests.support.tiny_qwen import TinyModel, write_tiny


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyModel:
    """A model that reads bytes, so the passages are short."""
    for module in (large_gpu, large_runtimes):
        passages = {text[:100]: claims[:2] for text, claims in large_runtimes.PASSAGES.items()}
        monkeypatch.setattr(module, "LONG_PASSAGE", large_runtimes.LONG_PASSAGE[:300])
        monkeypatch.setattr(module, "PASSAGES", passages)
    return write_tiny(tmp_path)


def test_gpu(tiny: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "gpu.json"
    command = [tiny.base, tiny.adapter, "--responses", 3, "--device", "cpu", "--out", out]
    monkeypatch.setattr(sys, "argv", ["large_gpu", *map(str, command), "--row", "1024"])
    large_gpu.main()
    result = json.loads(out.read_text())
    assert result["pairs"] == 12
    assert result["responses_per_second"] > 0
    assert result["difference_alone"] < 1e-4


@pytest.mark.parametrize("name", ["torch", "onnx"])
def test_runtimes(tiny: TinyModel, tmp_path: Path, name: str) -> None:
    result = large_runtimes.measured(name, tiny.base, tiny.adapter, 1, tmp_path)
    assert [len(rows) for rows in result["logits"]] == [2, 2, 2, 2, 1, 3]
    same = large_runtimes.compared(result["logits"], result["logits"])
    assert same["pairs"] == 12
    assert same["probability_greatest"] == 0.0


def test_time_of_a_runtime_as_a_multiple_of_base() -> None:
    reading = {"seconds": 6.0, "cpu_seconds": 9.0}
    claims = {"seconds": 2.0, "cpu_seconds": 3.0}
    windows = {"seconds": 4.0, "cpu_seconds": 6.0}
    results = {
        "onnx": {"steps": {"passage": reading, "claims": claims}},
        "base": {"steps": {"every window": windows}},
    }
    assert large_runtimes.multiples(results) == {"onnx": {"seconds": 2.0, "cpu_seconds": 2.0}}


def test_small_verifier_judges_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_runtimes, "LONG_PASSAGE", "The ferry leaves at nine. It is green.")
    monkeypatch.setattr(large_runtimes, "LONG_CLAIMS", ["The ferry leaves at nine."])
    step = large_runtimes.measured_base(1)["steps"]["every window"]
    assert step["claims"] == 1
    assert step["seconds"] > 0
