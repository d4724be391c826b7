"""The forward pass of the large verifier, against transformers and against other masks."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from tests.support.tiny_qwen import TinyModel, write_tiny  # noqa: E402
from training.large import pack  # noqa: E402
from training.large.model import Verifier  # noqa: E402
from training.large.train import objective, rate  # noqa: E402

pytestmark = pytest.mark.hf

ROW = 512
MAPS = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "g": "ffn_gate",
    "u": "ffn_up", "dn": "ffn_down",
}  # fmt: skip


def groups(count: int = 7, seed: int = 0) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)

    def words(least: int, most: int) -> str:
        return " ".join(f"w{number}" for number in rng.integers(0, 50, rng.integers(least, most)))

    labels = ["E", "N", "C", "notE"]
    return [
        {
            "premise": words(3, 60),
            "source": "ab"[number % 2],
            "claims": [
                {"text": words(1, 4), "label": labels[int(rng.integers(4))]}
                for _ in range(int(rng.integers(1, 4)))
            ],
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny(tmp_path_factory.mktemp("work"))


@pytest.fixture
def model(tiny: TinyModel) -> Verifier:
    found = Verifier(tiny.base, device="cpu", rank=4)
    generator = torch.Generator().manual_seed(1)
    for name, value in found.lora.items():
        if name.endswith(".B"):
            value.data.normal_(0, 0.05, generator=generator)
    return found


def batch(tiny: TinyModel, kind: str = "dense") -> tuple[pack.Groups, pack.Packed, object]:
    data = pack.tokenise(groups(), tiny.base)
    rows = list(pack.packed(pack.units(data, range(len(data)), ROW, 300), ROW))
    built = pack.build(data, rows, ROW)
    return data, built, pack.to_device(built, "cpu", kind)


def test_packed_claims_equal_transformers_reading_each_pair_alone(
    model: Verifier, tiny: TinyModel
) -> None:
    transformers = pytest.importorskip("transformers")
    shape = model.shape
    config = transformers.Qwen2Config(
        hidden_size=shape.hidden, num_hidden_layers=shape.layers,
        vocab_size=len(tiny.vocabulary), num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, intermediate_size=shape.ffn,
        rms_norm_eps=shape.epsilon, max_position_embeddings=2048,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        tie_word_embeddings=True,
    )  # fmt: skip
    theirs = transformers.Qwen2ForCausalLM(config).eval()
    paths = dict(zip(MAPS, "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
                     "mlp.gate_proj mlp.up_proj mlp.down_proj".split(), strict=True))  # fmt: skip

    def base(name: str) -> torch.Tensor:
        return torch.from_numpy(np.array(tiny.tensors[name], np.float32))

    with torch.no_grad():
        theirs.model.embed_tokens.weight.copy_(model.embedding)
        theirs.model.norm.weight.copy_(model.norm)
        for number, layer in enumerate(theirs.model.layers):
            layer.input_layernorm.weight.copy_(base(f"blk.{number}.attn_norm.weight"))
            layer.post_attention_layernorm.weight.copy_(base(f"blk.{number}.ffn_norm.weight"))
            for short, path in paths.items():
                linear = layer.get_submodule(path)
                a, b = (model.lora[f"layers.{number}.{short}.{side}"] for side in "AB")
                linear.weight.copy_(base(f"blk.{number}.{MAPS[short]}.weight") + b @ a)
                if short in "qkv":
                    linear.bias.copy_(base(f"blk.{number}.{MAPS[short]}.bias"))
    data, built, packed = batch(tiny)
    with torch.no_grad():
        found = model(packed)
        for place, claim in enumerate(built.claims):
            group = int(np.searchsorted(data.first, claim, side="right")) - 1
            source = data.ids[data.offsets[group] : data.offsets[group + 1]][:300]
            tail = data.tail_ids[data.tail_offsets[claim] : data.tail_offsets[claim + 1]]
            ids = torch.from_numpy(np.concatenate([source, tail]).astype(np.int64))[None]
            state = theirs.model(ids).last_hidden_state[0, -1]
            torch.testing.assert_close(found[place], model.head @ state, atol=2e-4, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_block_masks_give_the_same_answers(model: Verifier, tiny: TinyModel) -> None:
    _, _, plain = batch(tiny)
    with torch.no_grad():
        expected = model(plain)
        model.set_attention("flex", compiled=False)
        found = model(batch(tiny, "flex")[2])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_training_reaches_every_map_and_the_first_layer(model: Verifier, tiny: TinyModel) -> None:
    _, built, packed = batch(tiny)
    logits = model(packed, train=True)
    codes = torch.zeros(len(built.claims), dtype=torch.long)
    objective(logits, codes, 0.1).mean().backward()
    assert all(
        value.grad is not None and value.grad.abs().max() > 0 for value in model.parameters()
    )


def test_a_lower_rank_is_filled_up_without_a_change(model: Verifier, tiny: TinyModel) -> None:
    _, _, packed = batch(tiny)
    with torch.no_grad():
        expected = model(packed)
        model.load(model.state(), rank=9)
        found = model(packed)
    assert model.lora["layers.0.q.A"].shape[0] == 9
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_one_compiled_layer_serves_all_layers_and_steps(
    model: Verifier, tiny: TinyModel, train: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a processor flex_attention refuses gradients; what is compiled is looked at all the same.
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model.set_attention("flex", compiled=False)
    model.layer = torch.compile(model.layer, backend="eager", dynamic=False, fullgraph=True)
    for seed in (0, 1, 2):
        data = pack.tokenise(groups(7, seed), tiny.base)
        rows = list(pack.packed(pack.units(data, range(len(data)), ROW, 300), ROW))[:2]
        with torch.set_grad_enabled(train):
            model(pack.to_device(pack.build(data, rows, ROW), "cpu", "flex"), train=train)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_two_way_labels_ask_only_that_entailment_is_denied() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0], [0.0, 2.0, -1.0]])
    share = torch.softmax(logits[0], -1)
    found = objective(logits, torch.tensor([pack.DENIED, pack.NEUTRAL]), 0.0)
    expected = [-torch.log(share[1] + share[2]), -torch.log(share[1])]
    torch.testing.assert_close(found, torch.stack(expected))


def test_the_rate_rises_and_ends_at_zero() -> None:
    assert rate(0.0, 0, 10) == pytest.approx(0.1)
    assert rate(0.25, 100, 10) == pytest.approx(0.75)
    assert rate(1.0, 100, 10) == rate(1.2, 100, 10) == 0.0
