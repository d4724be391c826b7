"""The training recipe end to end on a CPU: a tiny base, a few steps, an export that agrees."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_models import PAIRS, ROOT, write_transformers

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.hf

if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

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
    from training.verifier import export, train
    from training.verifier.batches import pair_encoder
    from training.verifier.encoder import Encoder

    from halldetect.verifiers import load_verifier

    common = ("--pairs", "pairs.jsonl", "--device", "cpu", "--no-compile", "--tokens", 512)
    run(monkeypatch, train.main, work, "--out", "base", "--steps", 40, "--rate", 1e-3, *common)
    made = json.loads((work / "base" / "training.json").read_text())
    assert made["steps"] == 40
    run(
        monkeypatch, train.main, work, "--out", "small", "--start", "base", "--keep", "0",
        "--master", "base", "--steps", 2, *common,
    )  # fmt: skip
    assert len(Encoder.load(work / "small").layers) == 1
    run(monkeypatch, export.main, work, "--out", work / "shipped", "--temperature", 2.0)

    verifier = load_verifier(str(work / "shipped"))
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


def test_the_encoder_computes_what_transformers_computes(work: Path) -> None:
    from training.verifier.encoder import from_base
    from transformers import MPNetModel

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
    from training.verifier.train import objective

    logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [5.0, 0.0, 0.0]])
    nothing = torch.full((3, 3), float("nan"))
    loss = objective(logits, torch.tensor([3, 3, 3]), nothing, 0.5)
    assert loss[0] == pytest.approx(loss[1].item())
    assert loss[2] > 4
    # A row with neither a label nor a teacher weighs nothing.
    assert objective(logits, torch.tensor([4, 4, 4]), nothing, 0.5).sum() == 0


def test_batches_hold_every_pair_once_with_little_padding() -> None:
    from training.verifier.batches import Encoded, batches

    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 400, 2000)
    data = Encoded(
        ids=np.zeros(lengths.sum(), np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.zeros(2000, np.int64),
        teacher=np.zeros((2000, 3), np.float32),
        weights=np.ones(2000, np.float32),
    )
    groups = batches(data, 8192, rng)
    assert sorted(np.concatenate(groups).tolist()) == list(range(2000))
    padded = sum(len(group) * lengths[group].max() for group in groups)
    assert padded < 1.1 * lengths.sum()


def test_evaluation_texts_are_kept_out() -> None:
    shared = ROOT.parent / "shared"
    if not (shared / "datasets").is_dir():
        pytest.skip("the shared datasets are not here")
    from training.verifier.corpus import HELD_OUT_FOLDERS, PAIR_FILES

    assert {"qags", "summeval", "xsumfaith", "summedits", "faithbench"} <= set(HELD_OUT_FOLDERS)
    assert not {name for name in PAIR_FILES if name.startswith(("anli", "vitaminc", "mnli_dev"))}
