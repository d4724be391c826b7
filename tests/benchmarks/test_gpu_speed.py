"""The ways of computing attention that the GPU benchmark compares give one result."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [
    pytest.mark.hf,
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]


@pytest.fixture(scope="module")
def ways():  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    from benchmarks.gpu_speed import Ways
    from training.base.encoder import Encoder, Shape

    torch.manual_seed(0)
    shape = Shape("mpnet", 500, 64, 2, 4, 96, 130, pad=1, separator=2, epsilon=1e-5)
    model = Encoder(shape, 0.0).eval().requires_grad_(False)
    torch.nn.init.normal_(model.distance.weight)
    return Ways(model, torch.float32)


def batch(padded: bool):  # type: ignore[no-untyped-def]
    import torch

    ids = torch.randint(3, 499, (4, 24), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    if padded:
        mask[1, 17:] = mask[2, 9:] = 0
        ids[mask == 0] = 1
    return ids, mask


@pytest.mark.parametrize("kind", ["masked", "flex", "shared"])
def test_every_way_gives_the_logits_of_the_trained_network(ways, kind) -> None:  # type: ignore[no-untyped-def]
    ids, mask = batch(padded=kind != "shared")
    said = ways.forward(ids, getattr(ways, kind)(mask))
    assert (said - ways.model(ids, mask)).abs().max() < 1e-5


def test_the_bias_matters_and_so_does_the_mask(ways) -> None:  # type: ignore[no-untyped-def]
    import torch

    ids, mask = batch(padded=True)
    free = ways.forward(ids, ways.shared(torch.ones_like(ids)))
    assert (free - ways.model(ids, mask)).abs().max() > 1e-4
    assert ways.table(24).std() > 0.1


def test_the_arithmetic_counted_is_that_of_the_layers(ways) -> None:  # type: ignore[no-untyped-def]
    from benchmarks.gpu_speed import flops

    one = flops(ways.model.shape, np.array([10]))
    assert one == 2 * 2 * (4 * 64**2 + 2 * 64 * 96) * 10 + 4 * 2 * 64 * 100
    assert flops(ways.model.shape, np.array([10, 10])) == 2 * one


def test_the_naive_loop_runs_the_same_network() -> None:
    import torch

    from benchmarks.naive import as_transformers
    from training.base.encoder import Encoder, Shape

    torch.manual_seed(0)
    shape = Shape("mpnet", 500, 64, 2, 4, 96, 130, pad=1, separator=2, epsilon=1e-5)
    model = Encoder(shape, 0.0).eval().requires_grad_(False)
    ids, mask = batch(padded=True)
    theirs = as_transformers(model)(input_ids=ids, attention_mask=mask).logits
    assert (theirs - model(ids, mask)).abs().max() < 1e-4


def test_a_student_written_for_transformers_says_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import torch
    from transformers import AutoModelForSequenceClassification

    from tests.support.tiny_models import write_transformers
    from training.base import to_hf
    from training.base.encoder import Encoder, Shape

    torch.manual_seed(0)
    shape = Shape("mpnet", 500, 64, 2, 4, 96, 130, pad=1, separator=2, epsilon=1e-5)
    model = Encoder(shape, 0.0).eval().requires_grad_(False)
    tokenizer = write_transformers(tmp_path / "base", "mpnet") / "tokenizer.json"
    to_hf.write(model, tokenizer, tmp_path / "out", temperature=2.0)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out", dtype="float32")
    ids, mask = batch(padded=True)
    theirs = loaded.eval()(input_ids=ids, attention_mask=mask).logits
    assert (theirs - model(ids, mask) / 2).abs().max() < 1e-2
