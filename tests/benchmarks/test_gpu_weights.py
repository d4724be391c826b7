"""Weights of a student that was just trained: judged as they will ship, named once they have."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import gpu_bench, pack
from benchmarks.gpu_weights import DESCRIPTION, STUDENT, network_of, probed, shipped_names
from halldetect.models.integrity import WEIGHTS, digest_of
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder
from halldetect_bench.predictions import Header, Results

SHIPPED = WEIGHTS / "base"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small student with random weights, prepared and exported."""
    pytest.importorskip("onnx")
    torch = pytest.importorskip("torch")
    from training.base import export
    from training.base.encoder import TOKENIZER, Encoder, Shape

    work = tmp_path_factory.mktemp("work")
    (work / TOKENIZER).symlink_to(SHIPPED)
    words = len(json.loads((SHIPPED / "tokenizer.json").read_text())["model"]["vocab"])
    torch.manual_seed(0)
    model = Encoder(Shape("mpnet", words, 384, 1, 12, 384, 514, 1, 2, 1e-5))
    for parameter in model.parameters():  # no two alike: the exporter would keep one of them
        parameter.data += 0.05 * torch.randn_like(parameter)
    model.save(work / "base")
    command(gpu_bench.main, "weights", work / "base", "--out", work / "p", "--temperature", 0.5)
    command(export.main, work, "--out", work / "shipped", "--block", 64, "--temperature", 0.5)
    return work


def command(main: Callable[[], None], *words: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["command", *map(str, words)])
        main()


# The exporter of torch warns about its own insides.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_student_is_named_by_what_it_was_exported_to(folder: Path, tmp_path: Path) -> None:
    digest = digest_of(folder / "base" / "model.safetensors")
    described = json.loads((folder / "p" / DESCRIPTION).read_text())
    assert described["digest"] == digest
    assert described["max_tokens"] == 508
    shipped = digest_of(folder / "shipped" / "model.onnx")
    names = shipped_names(folder / "p" / STUDENT, folder / "shipped")
    assert names[digest]["digest"] == names[shipped]["digest"] == shipped
    assert names[digest]["student_digest"] == digest
    stated = json.loads((folder / "p" / STUDENT).read_text())
    found = probed(network_of(folder / "p"), WordPieceEncoder.from_file(SHIPPED / "tokenizer.json"))
    assert np.allclose(found, stated["answers"], atol=0.02)  # they were stored in fp16
    assert np.ptp(found) > 0.5
    stated["answers"] = (np.array(stated["answers"]) + 0.3).tolist()
    other = tmp_path / STUDENT
    other.write_text(json.dumps(stated))
    with pytest.raises(ValueError, match="are not those of the student"):
        shipped_names(other, folder / "shipped")


@pytest.mark.hf  # it unpacks the weights with torch
def test_without_a_student_the_shipped_weights_are_described_as_they_are(tmp_path: Path) -> None:
    names = shipped_names(tmp_path / STUDENT, SHIPPED)
    (described,) = names.values()
    assert described["digest"] == digest_of(SHIPPED / "model.onnx")
    assert "runtime" not in described
    assert "kind" not in described


def test_weights_are_renamed_wherever_a_description_names_them() -> None:
    verifier = {"name": "base", "digest": "old", "device": "cuda"}
    method: dict[str, Any] = {"name": "m", "verifier": verifier, "layers": [{"by": verifier}]}
    (found,) = pack.named([Results(Header("d", method), ())], {"old": {"digest": "new", "x": 1}})
    renamed = {"name": "base", "digest": "new", "device": "cuda", "x": 1}
    assert found.header.method == {"name": "m", "verifier": renamed, "layers": [{"by": renamed}]}


def test_the_settings_of_a_report_name_the_weights(tmp_path: Path) -> None:
    for name, file in (("base", "model.onnx"), ("large", "adapter.lora8")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(name)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'min_rows = 9\n\n[weights]\nbase = ["1"]\nlarge = ["2"]\n[shipped]\nbase = "3"\n'
    )
    pack.write_weights(settings, tmp_path)
    one, two = (
        digest_of(tmp_path / "base" / "model.onnx"),
        digest_of(tmp_path / "large" / "adapter.lora8"),
    )
    assert settings.read_text() == (
        f'min_rows = 9\n\n[weights]\nbase = ["{one}"]\nlarge = ["{two}"]\n'
        f'[shipped]\nbase = "{one}"\n'
    )
    settings.write_text("min_rows = 9\n")
    with pytest.raises(ValueError, match="no line for the weights of base"):
        pack.write_weights(settings, tmp_path)
