"""The splitter on its real base model: as in torch, bounded, and harmless.

Where only form matters, an adapter of random numbers stands in: it chooses badly, and that must
not matter. The one in the package is held to choose sensibly.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import pytest

from halldetect import models
from halldetect.claims.extraction import cap, extract_claims
from halldetect.claims.extractors import load_extractor
from halldetect.claims.extractors.clauses import ClauseExtractor
from halldetect.claims.extractors.splits import Split, split
from halldetect.claims.extractors.splitter import ADAPTER, BASE, SplitterExtractor
from halldetect.errors import ModelError

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


def test_the_adapter_in_the_package_is_the_recorded_one() -> None:
    record = json.loads(ADAPTER.with_suffix(".json").read_text(encoding="utf-8"))
    assert hashlib.sha256(ADAPTER.read_bytes()).hexdigest() == record["sha256"]
    assert ADAPTER.stat().st_size == record["bytes"] < 20_000_000


@pytest.mark.slow
def test_the_adapter_in_the_package_takes_sentences_apart_as_people_do() -> None:
    try:
        models.pull(BASE)
    except ModelError as error:
        pytest.skip(str(error))
    shipped = load_extractor("splitter", threads=2)
    assert shipped.description["adapter_digest"].startswith("sha256:")
    made = [claim.text for claim in extract_claims(RESPONSE, shipped).claims]
    assert "Ann Cole was born in Leeds" in made
    assert "Ann Cole was born on 5 June 1952" in made
    assert "If she had left, the court would have closed." in made


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


@pytest.mark.slow
@pytest.mark.hf
def test_varied_inputs_all_end(splitter: SplitterExtractor) -> None:
    from training.extractor.hard import varied

    # The grammar bounds every answer; a few dozen show that it is in force
    # (benchmarks/endless.py takes a thousand).
    for text in varied(40, seed=3):
        draft = splitter.draft(text, cap(3))
        assert draft.tokens_out <= draft.generative_passes * 101, text
        assert len(draft.claims) <= cap(3)


def test_rules_split_a_thousand_varied_inputs_quickly() -> None:
    from training.extractor.hard import varied

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
