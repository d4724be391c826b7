"""The training recipe end to end on a CPU: a tiny base, a few steps, an export that agrees."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.tiny_models import PAIRS, write_transformers

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.hf


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with the tokenizer of a tiny MPNet."""
    write_transformers(tmp_path / "mpnet", "mpnet")
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, main: Any, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["step", *map(str, words)])
    main()


# The exporter of torch warns about its own insides.
@pytest.mark.filterwarnings("ignore")
def test_an_exported_student_judges_as_before(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import Tokenizer

    from halldetect.models.verifiers import load_verifier
    from training.base import export
    from training.base.encoder import Encoder, Shape

    tokenizer = Tokenizer.from_file(str(work / "mpnet" / "tokenizer.json"))
    torch.manual_seed(3)
    shape = Shape("mpnet", tokenizer.get_vocab_size(), 32, 2, 4, 64, 514, 1, 2, 1e-5)
    Encoder(shape).save(work / "base")
    run(monkeypatch, export.main, work, "--out", work / "shipped")

    verifier = load_verifier(str(work / "shipped"))
    pairs = [pair for pair in PAIRS if pair[0]]
    model = Encoder.load(work / "base").eval()
    for pair, found in zip(pairs, verifier.judge(pairs), strict=True):
        ids = torch.tensor([tokenizer.encode(*pair).ids])
        with torch.no_grad():
            logits = model(ids, torch.ones_like(ids))
        expected = torch.softmax(logits, -1)[0].numpy()
        said = np.array([found.entailment, found.neutral, found.contradiction])
        # The tiny layers are below the size that is quantised; only the tables may be.
        assert np.abs(expected - said).max() < 0.05


# The exporter of torch warns about its own insides.
@pytest.mark.filterwarnings("ignore")
def test_what_is_shipped_can_be_taken_up_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide enough to be quantised; a second rounding of rounded weights changes little."""
    from halldetect.models.verifiers import load_verifier
    from training.base import export, unpack
    from training.base.encoder import Encoder, Shape

    torch.manual_seed(0)
    shape = Shape("mpnet", 200, 768, 2, 12, 1536, 514, 1, 2, 1e-5)
    model = Encoder(shape)
    for parameter in model.parameters():  # no two alike: the exporter would keep one of them
        parameter.data += 0.02 * torch.randn_like(parameter)
    model.save(work / "wide")
    run(
        monkeypatch, export.main, work, "--model", "wide", "--out", work / "shipped",
        "--block", 64,
    )  # fmt: skip
    run(monkeypatch, unpack.main, work / "shipped", work / "again")
    again = Encoder.load(work / "again").eval()
    assert again.shape == shape
    for name, value in Encoder.load(work / "wide").state_dict().items():
        error = (again.state_dict()[name] - value).abs().max()
        assert error <= 0.12 * value.abs().max(), name
    verifier = load_verifier(str(work / "shipped"))
    for length in (5, 60):
        ids = torch.arange(6, 6 + length)[None]
        found = verifier._session.run(None, {"input_ids": ids.numpy()})[0]
        with torch.no_grad():
            expected = again(ids, torch.ones_like(ids)).numpy()
        assert np.abs(found - expected).max() < 0.1


def test_a_two_way_label_only_denies_entailment() -> None:
    from training.base.train_bags import objective

    logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [5.0, 0.0, 0.0]])
    loss = objective(logits, torch.tensor([3, 3, 3]), None, 0.5)
    assert loss[0] == pytest.approx(loss[1].item())
    assert loss[2] > 4
    # A pair with neither a label nor a master weighs nothing; a master alone counts in full.
    assert objective(logits, torch.tensor([4, 4, 4]), None, 0.5).sum() == 0
    taught = torch.tensor([[0.0, 1.0, 0.0]]).repeat(3, 1)
    loss = objective(logits, torch.tensor([4, 4, 4]), taught, 0.5)
    assert loss[0] < 0.1
    assert loss[2] > 4
    # Where the teacher was not asked, the label alone counts.
    taught[0] = torch.nan
    loss = objective(logits, torch.tensor([2, 2, 2]), taught, 0.5)
    assert loss[0] == pytest.approx(objective(logits, torch.tensor([2, 2, 2]), None, 0.5)[0].item())


def test_rounding_in_training_is_the_rounding_of_the_package() -> None:
    from halldetect.verification.verifiers import onnx as packed_weights
    from training.base import rounded
    from training.base.rounding import int4_blocks, packed_columns

    assert rounded.LARGEST == packed_weights.LARGEST
    weight = np.random.default_rng(1).normal(0, 0.04, (192, 256)).astype(np.float32)
    weight[3, :64] = 0.0
    codes, scales, zeros = int4_blocks(weight, 32)
    stored = (codes.reshape(192, -1, 32) - zeros[..., None].astype(np.float32)) * scales[..., None]
    found = rounded.four_bits(torch.from_numpy(weight), 32).numpy()
    assert np.allclose(found, stored.reshape(192, 256), atol=1e-6)
    *_, values, columns = packed_columns(weight.T, rounded.BLOCK)
    found = rounded.at_work(torch.from_numpy(weight)).numpy()
    # The package keeps its steps in whole 256ths: a code may differ by one.
    assert np.abs(found - (values * columns).T).max() <= 1.01 * columns.max()
    assert np.mean(np.abs(found - (values * columns).T) > 0.1 * columns.max()) < 0.05
