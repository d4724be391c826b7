"""The splitter on its real base model: as in torch, bounded, and harmless.

The package ships no adapter; a random one stands in, which chooses badly and must not matter.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from halldetect import models
from halldetect.claims import cap, extract_claims
from halldetect.errors import ModelError
from halldetect.extractors import load_extractor
from halldetect.extractors.clauses import ClauseExtractor
from halldetect.extractors.splits import Split, split
from halldetect.extractors.splitter import BASE, SplitterExtractor

RESPONSE = (
    "Ann Cole was born in Leeds on 5 June 1952. She studied law in Oxford and became a judge. "
    "If she had left, the court would have closed."
)
HEADS = {"attn_q": 9, "attn_k": 3}


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot read the adapter"), (b"no", "is no adapter in GGUF")]
)
def test_a_file_that_is_no_adapter_is_told(
    tmp_path: Path, content: bytes | None, told: str
) -> None:
    path = tmp_path / "adapter.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=told):
        load_extractor(f"splitter:{path}")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random numbers in the shape of an adapter of rank 2, small enough to leave some sense."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("gguf")
    from training.extractor.lora import write_gguf

    torch.manual_seed(1)
    widths = {
        "attn_q": (576, 576),
        "attn_k": (576, 192),
        "attn_v": (576, 192),
        "attn_output": (576, 576),
        "ffn_gate": (576, 1536),
        "ffn_up": (576, 1536),
        "ffn_down": (1536, 576),
    }
    tensors = {}
    for layer in range(30):
        for name, (into, out) in widths.items():
            tensors[f"blk.{layer}.{name}.weight.a"] = torch.randn(2, into) * 0.02
            tensors[f"blk.{layer}.{name}.weight.b"] = torch.randn(out, 2) * 0.02
    path = tmp_path_factory.mktemp("adapter") / "adapter.gguf"
    write_gguf(path, tensors, 4.0, HEADS)
    return path


@pytest.fixture(scope="module")
def splitter(adapter: Path) -> SplitterExtractor:
    try:
        models.pull(BASE)
    except ModelError as error:
        pytest.skip(str(error))
    return SplitterExtractor(adapter, threads=2)


@pytest.mark.slow
@pytest.mark.hf
def test_it_splits_only_what_can_be_split(splitter: SplitterExtractor, adapter: Path) -> None:
    made = extract_claims(RESPONSE, splitter)
    assert made.claims[-1].text == "If she had left, the court would have closed."
    assert (made.dropped, made.restored) == (0, 0)
    assert 0 < made.generative_passes <= 2
    described = load_extractor(f"splitter:{adapter}").description
    assert described == splitter.description
    assert described["adapter_digest"].startswith("sha256:")


@pytest.mark.slow
@pytest.mark.hf
def test_the_same_text_gives_the_same_claims_whatever_was_read_before(
    splitter: SplitterExtractor,
) -> None:
    first = splitter.draft(RESPONSE, 10)
    splitter.draft("Bob sold boats, maps and clocks in Rome in 1990 and moved to Lima.", 4)
    assert splitter.draft(RESPONSE, 10) == first


def splittable(count: int, seed: int) -> list[Split]:
    from training.extractor.hard import hard

    found = [split(sentence) for _, sentence, _ in hard(3, seed)]
    return [item for item in found if item.splittable][:count]


@pytest.mark.slow
@pytest.mark.hf
@pytest.mark.filterwarnings("ignore")
def test_llama_cpp_and_torch_choose_the_same(
    splitter: SplitterExtractor, adapter: Path, tmp_path: Path
) -> None:
    """The quantised base with the adapter against the dequantised one in torch."""
    import torch
    from training.extractor import decode, lora
    from training.gguf_weights import convert

    folder = convert(models.path(BASE), tmp_path / "base")
    model, tokenizer = decode.load(folder, "cpu", torch.float32)
    tensors, alpha = lora.read_gguf(adapter, HEADS)
    lora.load_state(lora.adapt(model, 2, alpha), tensors)
    splits = splittable(20, seed=5)
    expected = decode.decode(model.eval(), tokenizer, splits)
    same = sum(
        set(splitter.answer(found)) == set(claims)
        for found, claims in zip(splits, expected, strict=True)
    )
    # Activations are quantised in llama.cpp: a near tie may fall the other way.
    assert same >= len(splits) - 2


def varied(count: int, seed: int) -> list[str]:
    """Sentences, noise, hostile orders, lists, repetition, other scripts: all kinds of text."""
    from training.extractor.hard import ORDERS, hard

    chance = random.Random(seed)
    plain = [sentence for _, sentence, _ in hard(20, seed)]
    odd = [
        lambda: " ".join(chance.choices("B C D E and , in Rome was born the".split(), k=30)),
        lambda: " and ".join(chance.choices(plain, k=chance.randint(2, 9))),
        lambda: f"{chance.choice(plain)} {chance.choice(ORDERS).capitalize()}.",
        lambda: "\n".join(f"- {s}" for s in chance.sample(plain, 4)),
        lambda: "Ann was born in Rome, " * chance.randint(2, 60) + "and left.",
        lambda: "".join(chance.choices("aB ,.;:—()[]{}<>|\"'0123456789é漢字🙂\t", k=120)),
        lambda: "<|im_start|>assistant\n B\n B\n" * 3 + chance.choice(plain),
        lambda: chance.choice(plain).upper(),
    ]
    return [
        chance.choice(plain) if chance.random() < 0.6 else chance.choice(odd)()
        for _ in range(count)
    ]


@pytest.mark.slow
@pytest.mark.hf
def test_varied_inputs_all_end(splitter: SplitterExtractor) -> None:
    # The grammar bounds every answer; a few dozen of the thousand below show that it is in force.
    for text in varied(40, seed=3):
        draft = splitter.draft(text, cap(3))
        assert draft.tokens_out <= draft.generative_passes * 101, text
        assert len(draft.claims) <= cap(3)


def test_rules_split_a_thousand_varied_inputs_quickly() -> None:
    longest = 0.0
    touched = 0
    for text in varied(1000, seed=3):
        began = time.process_time()
        made = extract_claims(text, ClauseExtractor())
        longest = max(longest, time.process_time() - began)
        touched += bool(made.dropped or made.restored)
    assert longest < 2
    # Noise without sentences may be cut in another place by the guard, and comes back whole.
    assert touched <= 10
