"""The training recipe end to end on a CPU: a tiny base, a few steps, an export that agrees."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.tiny_models import PAIRS, write_transformers

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.hf


LABELS = ("entailment", "neutral", "contradiction", "not_entailment")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder as the fetch and data steps leave it, with a tiny MPNet and few pairs."""
    from safetensors.torch import load_file, save_file

    write_transformers(tmp_path / "mpnet", "mpnet")
    weights = tmp_path / "mpnet" / "model.safetensors"
    state = {
        name.removeprefix("mpnet."): value
        for name, value in load_file(weights).items()
        if name.startswith("mpnet.")
    }
    save_file(state, weights)
    rows = [
        {"premise": premise, "hypothesis": claim, "label": LABELS[number % 4]}
        for number, (premise, claim) in enumerate(PAIRS * 6)
        if premise
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, main: Any, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["step", *map(str, words)])
    main()


# The exporter of torch warns about its own insides.
@pytest.mark.filterwarnings("ignore")
def test_a_student_learns_is_cut_down_and_exported(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halldetect.verification.verifiers import load_verifier
    from training.base import export, train
    from training.base.batches import pair_encoder
    from training.base.encoder import Encoder

    common = ("--pairs", "pairs.jsonl", "--device", "cpu", "--no-compile", "--tokens", 512)
    run(monkeypatch, train.main, work, "--out", "base", "--steps", 40, "--rate", 1e-3, *common)
    made = json.loads((work / "base" / "training.json").read_text())
    assert made["steps"] == 40
    run(
        monkeypatch, train.main, work, "--out", "cut", "--start", "base", "--keep", "0",
        "--rounded", 0.5, "--steps", 2, *common,
    )  # fmt: skip
    assert len(Encoder.load(work / "cut").layers) == 1
    run(
        monkeypatch, export.main, work, "--out", work / "shipped", "--temperature", 2.0,
        "--contradiction-weight", 0.45,
    )  # fmt: skip

    verifier = load_verifier(str(work / "shipped"))
    assert verifier.description["calibration"] == {"contradiction_weight": 0.45}
    pairs = [pair for pair in PAIRS if pair[0]]
    model = Encoder.load(work / "base").eval()
    encode = pair_encoder(work / "mpnet", 512)
    for pair, found in zip(pairs, verifier.judge(pairs), strict=True):
        ids = torch.tensor([encode([pair])[0]])
        with torch.no_grad():
            logits = model(ids, torch.ones_like(ids))
        expected = torch.softmax(logits / 2.0, -1)[0].numpy()
        said = np.array([found.entailment, found.neutral, found.contradiction])
        # The tiny layers are below the size that is quantised; only the tables may be.
        assert np.abs(expected - said).max() < 0.05


# The exporter of torch warns about its own insides.
@pytest.mark.filterwarnings("ignore")
def test_what_is_shipped_can_be_taken_up_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide enough to be quantised; a second rounding of rounded weights changes little."""
    from halldetect.verification.verifiers import load_verifier
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


def test_the_encoder_computes_what_transformers_computes(work: Path) -> None:
    from transformers import MPNetModel

    from training.base.encoder import from_base

    model = from_base(work / "mpnet").eval()
    reference = MPNetModel.from_pretrained(str(work / "mpnet")).eval()
    ids = torch.randint(6, 40, (2, 30))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    ids[1, 20:] = model.shape.pad
    model.dense = torch.nn.Identity()
    model.classify = torch.nn.Identity()
    with torch.no_grad():
        expected = torch.tanh(reference(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])
        assert torch.allclose(model(ids, mask), expected, atol=1e-5)


def test_a_two_way_label_only_denies_entailment() -> None:
    from training.base.train import objective

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


def test_judged_windows_and_labelled_pairs_are_learned_together(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.base import taught, train

    premise, claim = next(pair for pair in PAIRS if pair[0])
    rows = [{"text": claim, "label": None}, {"text": claim, "label": "E"}]
    for name in ("teach", "train"):
        with lzma.open(work / f"{name}_groups.jsonl.xz", "wt", encoding="utf-8") as file:
            file.write(json.dumps({"premise": premise, "source": "x", "claims": rows[:1]}) + "\n")
            file.write(json.dumps({"premise": premise, "source": "x", "claims": rows}) + "\n")
    run(monkeypatch, taught.main, work, "encode", "--processes", 1)
    (work / "labels").mkdir()
    answers = np.array([[0.7, 0.2, 0.1]], np.float16)
    np.savez(work / "labels" / "labels_0000.npz", first=1, last=2, probabilities=answers)
    data = taught.load(work / "taught.npz", work / "labels")
    # The first window was not judged and the unlabelled claims of the training file are no use.
    assert data.labels.tolist() == [4, 0, 0]
    assert data.taught is not None
    assert np.allclose(data.taught[0], [0.7, 0.2, 0.1], atol=1e-3)
    assert np.isnan(data.taught[1:]).all()
    options = ("--taught", work / "labels", "--steps", 2, "--rounded", 1.0, "--tokens", 512)
    run(monkeypatch, train.main, work, "--out", "t", "--device", "cpu", "--no-compile", *options)
    assert json.loads((work / "t" / "training.json").read_text())["steps"] == 2


def test_batches_hold_every_pair_once_with_little_padding() -> None:
    from training.base.batches import Encoded, batches

    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 400, 2000)
    data = Encoded(
        ids=np.zeros(lengths.sum(), np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.zeros(2000, np.int64),
        weights=np.ones(2000, np.float32),
    )
    groups = batches(data, 8192, rng)
    assert sorted(np.concatenate(groups).tolist()) == list(range(2000))
    padded = sum(len(group) * lengths[group].max() for group in groups)
    assert padded < 1.1 * lengths.sum()
