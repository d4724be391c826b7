"""Claims with several windows: what is learned is what the detector computes."""

from __future__ import annotations

import json
import lzma
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.hf

SOURCE = (
    "The mill was built in 1820. It burned down in 1901 and was rebuilt by the town. "
    "Today it holds a museum. Entry is free on Sundays. The museum shows looms that were made in "
    "the valley, and a wheel of oak that turns when the stream is high enough in spring."
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    from tests.support.tiny_models import write_transformers
    from training.base.encoder import Encoder, Shape

    write_transformers(tmp_path / "mpnet", "mpnet")
    tokenizer = json.loads((tmp_path / "mpnet" / "tokenizer.json").read_text())
    shape = Shape("mpnet", len(tokenizer["model"]["vocab"]), 32, 2, 4, 64, 600, 1, 2, 1e-5)
    torch.manual_seed(3)
    Encoder(shape).save(tmp_path / "one")
    Encoder(shape).save(tmp_path / "two")
    groups = [
        {
            "premise": SOURCE,
            "source": "own",
            "claims": [
                {"text": "In 1820 the mill was built.", "label": "E", "kind": "k"},
                {"text": "The mill never burned.", "label": "C", "kind": "k"},
                {"text": "The mill has two floors.", "label": "notE", "kind": "k"},
            ],
        },
        {
            "premise": "Entry is free.",
            "source": "own",
            "claims": [{"text": "Entry costs nothing.", "label": "E", "kind": "k"}],
        },
    ]
    for name, part in (("train_groups", groups), ("handmade_train", groups[1:])):
        with lzma.open(tmp_path / f"{name}.jsonl.xz", "wt") as file:
            file.writelines(json.dumps(group) + "\n" for group in part)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, main: Any, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["step", *map(str, words)])
    main()


def test_a_student_learns_from_claims_with_their_windows(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.base import bags, train_bags
    from training.base.encoder import Encoder

    run(monkeypatch, bags.main, "choose", work)
    run(monkeypatch, bags.main, "encode", work, "--processes", 1)
    found = bags.Bags.load(work / "bags.npz")
    assert sorted(found.labels) == [0, 0, 0, 2]
    # The whole source is one of the windows of each claim, and a short source the only one.
    assert [part.sum() for part in np.split(found.whole, found.first[1:-1])] == [1] * 4
    assert sorted(np.diff(found.first)) == [1, 1, 3, 3]

    (work / "labels").mkdir()
    answers = np.tile(np.array([0.1, 0.2, 0.7], np.float16), (2, 1))
    np.savez(work / "labels" / "labels_0000.npz", first=1, last=3, probabilities=answers)
    missing = (work, "--start", "one", "--taught", work / "none", "--out", "base")
    with pytest.raises(SystemExit, match="no answers"):
        run(monkeypatch, train_bags.main, *missing)
    stated = work / "labels" / "claims.sha256"
    stated.write_text("0" * 64)
    again = (work, "--start", "one", "--taught", work / "labels", "--out", "base")
    with pytest.raises(SystemExit, match="other claims"):
        run(monkeypatch, train_bags.main, *again)
    stated.write_text(str(found.digest))
    before = Encoder.load(work / "one").layers[0].up.weight
    run(
        monkeypatch, train_bags.main, work, "--start", "one", "--taught", work / "labels",
        "--out", "base", "--steps", 12, "--tokens", 256, "--block", 128, "--every", 4,
        "--rate", 1e-3, "--device", "cpu", "--no-compile",
    )  # fmt: skip
    made = json.loads((work / "base" / "training.json").read_text())
    assert made["steps"] == 12
    assert len(made["curve"]) == 3
    assert not torch.equal(before, Encoder.load(work / "base").layers[0].up.weight)


def test_the_loss_is_that_of_the_support_of_the_package() -> None:
    from halldetect.report import Probabilities
    from halldetect.scoring import Calibration, contradiction_of
    from training.base.train_bags import Batch, bag_losses

    torch.manual_seed(1)
    logits = 2 * torch.randn(7, 3)
    bag = torch.tensor([0, 1, 0, 0, 1, 1, 0])
    scales = torch.tensor([1, 2, 2, 1, 1, 2, 3])
    batch = Batch(torch.tensor([0, 1]), bag, scales, torch.zeros(7, dtype=torch.bool), [])
    support, contradiction = torch.tensor([1.0, 0.25]), torch.tensor([0.0, 0.7])
    first, second = bag_losses(logits, batch, support, contradiction)
    for at in (0, 1):
        own = (bag == at).nonzero()[:, 0].tolist()
        judged = [Probabilities(*torch.softmax(logits[row], -1).tolist()) for row in own]
        best = max(map(Calibration().window_support, judged))
        against: dict[int, float] = {}
        for row, answer in zip(own, judged, strict=True):
            for scale in (k for k in range(2) if scales[row] >> k & 1):
                against[scale] = max(against.get(scale, 0.0), contradiction_of(answer))
        said = sum(against.values()) / len(against)
        for found, value, target in (
            (first[at], best, float(support[at])),
            (second[at], said, float(contradiction[at])),
        ):
            wanted = -(target * math.log(value) + (1 - target) * math.log(1 - value))
            assert float(found) == pytest.approx(wanted, rel=1e-4)


def test_a_two_way_label_says_nothing_on_contradiction(tmp_path: Path) -> None:
    from training.base.train_bags import known

    answers = np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]], np.float32)
    np.savez(tmp_path / "labels_0000.npz", first=0, last=2, probabilities=answers)
    found = known(np.array([0, 3, 3, 4, 2]), tmp_path, 0.5)
    assert found.support == pytest.approx([0.9, 0.1, 0.0, 0.0, 0.0])
    assert found.contradiction[[0, 1, 4]] == pytest.approx([0.05, 0.6, 1.0])
    assert found.weighs.tolist() == [1, 1, 0, 0, 1]


def test_claims_are_put_together_from_pieces_of_the_source() -> None:
    import random

    from training.base.splices import crossed, shortened, splices

    one = "The mayor of Elm was re-elected in May, and the council met in June."
    other = "A bridge over the Taff is closed, because its deck needs repair."
    made = {crossed(one, other, random.Random(seed)) for seed in range(30)}
    assert "The mayor of Elm is closed, because its deck needs repair." in made
    assert "The mayor of Elm was re-elected in May because its deck needs repair." not in made
    assert shortened(one, random.Random(1)) == "The mayor of Elm was re-elected in May."
    sentences = [one, other, "Nobody knows."]
    found = splices(sentences, 4, random.Random(2))
    assert found
    assert not set(found) & set(sentences)
    assert found == splices(sentences, 4, random.Random(2))
    assert splices([one], 3, random.Random(1)) == []
