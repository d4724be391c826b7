"""The extractor's recipe end to end on a CPU: a tiny base, a few steps, an adapter."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from halldetect.claims.extractors.cover import finest
from halldetect.claims.extractors.splits import split

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("gguf", reason="adapters are written with gguf")
pytestmark = pytest.mark.hf


def run(monkeypatch: pytest.MonkeyPatch, main: Any, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["step", *map(str, words)])
    main()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A tiny Llama with a vocabulary in which the letters are single tokens."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM

    from halldetect.claims.extractors import codes

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|pad|>", *alphabet, *(f"Ġ{letter}" for letter in codes.LETTERS)]
    tokenizer = Tokenizer(
        models.BPE({t: n for n, t in enumerate(tokens)}, [("Ġ", c) for c in codes.LETTERS])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    marks = [AddedToken(mark, special=True) for mark in ("<|im_start|>", "<|im_end|>")]
    tokenizer.add_special_tokens(marks)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokens) + 2,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
    )
    folder = tmp_path / "base"
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    from training.extractor import data
    from training.extractor.hard import hard

    found = (data.example("rule", sentence, facts) for _, sentence, facts in hard(3, 0))
    rows = [row for row in found if row]
    assert len(rows) > 20
    data.write(tmp_path / "examples.jsonl", rows)
    data.write(tmp_path / "held_out.jsonl", rows[:6])
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_an_adapter_is_trained_read_back_and_exported(
    work: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gguf import GGUFReader
    from safetensors.torch import load_file

    from training.extractor import data, decode, export, lora, train

    options = ("--rank", 2, "--passes", 40, "--seconds", 20, "--tokens", 2048, "--rate", 0.02)
    run(monkeypatch, train.main, work, "--base", base, "--device", "cpu", *options)
    said = json.loads((work / "adapter.json").read_text())
    assert said["steps"] > 5
    assert said["held_out"]["trained sets"]["sentences"] == 6

    model, tokenizer = decode.load(base, "cpu", torch.float32)
    adapters = lora.adapt(model, 2, said["alpha"])
    rows = data.read(work / "examples.jsonl")
    ids, targets = next(
        train.batches(train.encoded(rows, tokenizer), [1.0] * len(rows), 10**6, _Never())
    )
    before = train.loss_of(model, ids, targets).item()
    lora.load_state(adapters, load_file(work / "adapter.safetensors"))
    assert train.loss_of(model, ids, targets).item() < 0.97 * before

    splits = [data.from_row(row) for row in rows[:8]]
    for found, chosen in zip(splits, decode.decode(model.eval(), tokenizer, splits), strict=True):
        assert 1 <= len(chosen) <= 4
        assert set(chosen) <= set(found.claims)

    run(monkeypatch, export.main, work, "--base", base, "--out", work / "out")
    reader = GGUFReader(work / "out" / "adapter.gguf")
    assert reader.fields["adapter.type"].contents() == "lora"
    assert len(reader.tensors) == 2 * 7 * 2
    shapes = {tensor.name: tuple(tensor.shape) for tensor in reader.tensors}
    assert shapes["blk.1.attn_k.weight.lora_a"] == (32, 2)
    assert shapes["blk.1.attn_k.weight.lora_b"] == (2, 16)


class _Never:
    """A chance that takes every example and leaves it where it is."""

    def random(self) -> float:
        return 0.0

    def shuffle(self, items: list[Any]) -> None:
        pass


def test_facts_are_found_in_the_sentence() -> None:
    from training.extractor.align import chosen

    found = split("Ann Cole was born in Leeds on 5 June 1952.")
    facts = ["Ann Cole was born in Leeds.", "Her birthday is 5 June 1952."]
    assert chosen(facts, found) == finest(found)
    assert chosen(["Ann Cole was born in Leeds on 5 June 1952."], found) == (found.whole,)
    assert chosen(["Bob Holm painted ships."], found) is None
    parts = split("Ann Cole moved to Rome, and her brother stayed in Leeds.")
    facts = ["Ann Cole moved to Rome.", "Ann Cole's brother stayed in Leeds."]
    made = chosen(facts, parts)
    assert made is not None
    assert [parts.text(claim) for claim in made] == [
        "Ann Cole moved to Rome",
        "her brother stayed in Leeds.",
    ]


def test_a_teacher_may_neither_add_nor_drop() -> None:
    from training.extractor.data import as_row
    from training.extractor.teach import kept

    row = as_row(split("Ann Cole was born in Leeds on 5 June 1952."))
    good = kept(row, "Ann Cole was born in Leeds.\nAnn Cole was born on 5 June 1952.")
    assert good is not None
    assert len(good["chosen"]) == 2
    assert kept(row, "Ann Cole was born in Leeds.\nAnn Cole was born in June.") is None
    added = "Ann Cole was born in Leeds, England.\nAnn Cole was born on 5 June 1952."
    assert kept(row, added) is None
