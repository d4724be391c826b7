"""Batched decoding on a tiny random model, against transformers' own way; GGUF conversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect.errors import ConfigurationError, ModelError
from halldetect_bench.models.decoding import Choice, Decoder, Job, batches, shared_openings
from halldetect_bench.models.transformers_llm import choices_of

WORDS = [f"w{n}" for n in range(60)]


def test_batches_hold_texts_of_like_length_and_no_more_than_fit() -> None:
    assert list(batches([3, 9, 5, 1], 10)) == [[1], [2, 0], [3]]
    assert list(batches([20], 10)) == [[0]]
    assert list(batches([], 10)) == []


def test_what_texts_begin_with_is_read_once() -> None:
    one, two = tuple(range(1, 9)), tuple(range(20, 28))
    texts = [(*one, 30), (*two, 31, 32), (*one, 33, 34), (*two, 31, 35)]
    openings, places, rests = shared_openings(texts)
    assert openings == [one, (*two, 31)]
    assert places == [0, 1, 0, 1]
    assert rests == [(30,), (32,), (33, 34), (35,)]
    # Draws from the same text read it once, but for the token they begin to write behind.
    assert shared_openings([one] * 3) == ([one[:-1]], [0, 0, 0], [(8,)] * 3)
    for texts in ([one, two], [(1,), (1,)], [(1, 2, 3), (1, 5, 6, 7)]):
        assert shared_openings(texts) == (texts, [0, 1], [])


def test_a_schema_is_given_words_and_choices() -> None:
    either = {"enum": ["yes", "no"]}
    assert choices_of(either) == [('"', ("yes", "no")), ('"', ())]
    both = {"type": "object", "properties": {"1": either, "2": either}}
    assert choices_of(both) == [
        ('{"1": "', ("yes", "no")),
        ('", "2": "', ("yes", "no")),
        ('"}', ()),
    ]
    with pytest.raises(ConfigurationError, match="schema"):
        choices_of({"type": "string"})


@pytest.fixture(scope="module")
def model() -> tuple[Any, Any]:
    """A llama of two layers whose query heads share keys, and a tokenizer of whole words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    from halldetect_bench.models.transformers_llm import _ATTENTION, _register_attention

    _register_attention(torch)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        pad_token_id=62,
        bos_token_id=61,
        eos_token_id=63,
        initializer_range=0.6,
        attn_implementation=_ATTENTION,
    )
    network = transformers.LlamaForCausalLM(config).eval()
    vocabulary = {word: place for place, word in enumerate([*WORDS, "?", "<b>", "<p>", "<e>"])}
    own = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, pad_token="<p>", eos_token="<e>"
    )
    return network, tokenizer


PROMPTS = [(1, 2, 3), (5, 9, 33, 12, 7, 8, 20), (4,), (1, 2, 3)]


@pytest.mark.hf
def test_a_padded_batch_writes_what_each_text_gets_alone(model: tuple[Any, Any]) -> None:
    import torch

    network, tokenizer = model
    decoder = Decoder(network, tokenizer, "cpu", frozenset({63}))
    found = decoder.write(
        [Job(ids, most) for ids, most in zip(PROMPTS, (12, 20, 9, 5), strict=True)]
    )
    for ids, most, written in zip(PROMPTS, (12, 20, 9, 5), found, strict=True):
        own = network.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=most,
            do_sample=False,
        )[0, len(ids) :].tolist()
        assert list(written.ids) == [token for token in own if token != 63]
        assert written.ended == (63 in own)
    assert found[3].ids == found[0].ids[:5]


@pytest.mark.hf
def test_texts_with_one_opening_get_what_each_gets_alone(model: tuple[Any, Any]) -> None:
    decoder = Decoder(*model, "cpu", frozenset())
    source, other = tuple(range(3, 25)), tuple(range(30, 48))
    texts = [(*source, 5), (*other, 9, 7, 6), (*source, 8, 2, 4), (*other, 1)]
    assert shared_openings(texts)[2]
    jobs = [Job(ids, 6) for ids in texts]
    assert decoder.write(jobs) == [decoder.write([job])[0] for job in jobs]
    form = [Choice((50,), ((11,), (12,), (13,))), Choice((51, 52), ((14,), (15,), (16,)))]
    chosen = decoder.choose(texts, [form] * 4)
    assert chosen == [decoder.choose([ids], [form])[0] for ids in texts]


@pytest.mark.hf
def test_a_batch_without_memory_is_halved(
    model: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    decoder = Decoder(*model, "cpu", frozenset({63}))
    jobs = [Job(ids, 4) for ids in PROMPTS]
    expected = decoder.write(jobs)
    sizes: list[int] = []
    whole = decoder._write

    def scarce(part: Any) -> Any:
        sizes.append(len(part))
        if len(part) > most:
            raise torch.OutOfMemoryError("no memory")
        return whole(part)

    monkeypatch.setattr(decoder, "_write", scarce)
    most = 1
    assert decoder.write(jobs) == expected
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    most = 0
    with pytest.raises(torch.OutOfMemoryError):
        decoder.write(jobs)


@pytest.mark.hf
def test_a_text_ends_before_the_stop(model: tuple[Any, Any]) -> None:
    network, tokenizer = model
    decoder = Decoder(network, tokenizer, "cpu", frozenset({63}))
    (whole,) = decoder.write([Job(PROMPTS[1], 20)])
    words = tokenizer.convert_ids_to_tokens(whole.ids)
    stop = next(word for word in words[3:] if word in WORDS)
    (cut,) = decoder.write([Job(PROMPTS[1], 20, until=f" {stop}")])
    assert cut.ids == whole.ids[: words.index(stop, 1) + 1]
    assert cut.ended


@pytest.mark.hf
def test_draws_differ_by_seed_and_repeat(model: tuple[Any, Any]) -> None:
    network, tokenizer = model
    decoder = Decoder(network, tokenizer, "cpu", frozenset({63}))
    jobs = [Job(PROMPTS[1], 15, 1.5, seed) for seed in range(4)]
    found = decoder.write(jobs)
    assert found == decoder.write(jobs)
    assert len({one.ids for one in found}) > 1
    assert found != decoder.write([Job(PROMPTS[1], 15, 1.5, seed + 9) for seed in range(4)])


@pytest.mark.hf
def test_choices_are_those_of_the_likelier_word(model: tuple[Any, Any]) -> None:
    import torch

    network, tokenizer = model
    decoder = Decoder(network, tokenizer, "cpu", frozenset({63}))
    options = ((10,), (11,))
    forms = [
        [Choice((30, 31), options), Choice((32,), options)],
        [Choice((30,), options)],
        [Choice((30,), options), Choice((33, 34, 35), options), Choice((36,), options)],
    ]
    found = decoder.choose(PROMPTS[:3], forms)
    for ids, form, chosen in zip(PROMPTS[:3], forms, found, strict=True):
        text = list(ids)
        for step, taken in zip(form, chosen, strict=True):
            text += step.given
            logits = network(torch.tensor([text])).logits[0, -1]
            assert taken == int(logits[10] < logits[11])
            text += step.options[taken]
    assert decoder.choose([PROMPTS[0]], [[]]) == [[]]


def tiny_gguf(path: Path, kind: str) -> dict[str, np.ndarray]:
    """A model of one layer with quantised weights, as llama.cpp lays it out."""
    gguf = pytest.importorskip("gguf")
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, kind)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    tokens = ["<e>", "a", "b", "ab", "Ġ", "1", "2", "<own>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm" if kind == "llama" else "qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 1, 1, 1, 1, 1, 1, 4])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    shapes = {
        "token_embd": (8, 32), "output_norm": (32,), "blk.0.attn_norm": (32,),
        "blk.0.ffn_norm": (32,), "blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32),
        "blk.0.attn_v": (16, 32), "blk.0.attn_output": (32, 32), "blk.0.ffn_gate": (64, 32),
        "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
    }  # fmt: skip
    made = {}
    for name, shape in shapes.items():
        values = rng.normal(size=shape).astype(np.float32)
        made[name] = values
        if len(shape) == 2:
            packed = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


@pytest.mark.hf
def test_a_gguf_file_becomes_a_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from halldetect_bench.models.gguf_to_transformers import convert

    made = tiny_gguf(tmp_path / "m.gguf", "qwen2")
    folder = convert(tmp_path / "m.gguf", tmp_path / "out", threads=3)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    state = network.state_dict()
    kept = state["model.layers.0.mlp.down_proj.weight"].float().numpy()
    # Eight bits, then the eight of bf16: about two decimals.
    assert np.allclose(kept, made["blk.0.ffn_down"], atol=0.03)
    assert state["lm_head.weight"].equal(state["model.embed_tokens.weight"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer("ab a<own>12")["input_ids"] == [3, 4, 1, 7, 5, 6]
    assert tokenizer.apply_chat_template([{"content": "ab"}], tokenize=False) == "ab"
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    assert convert(tmp_path / "m.gguf", tmp_path / "out") == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp


@pytest.mark.hf
def test_llamas_queries_are_put_in_the_order_of_transformers(tmp_path: Path) -> None:
    load = pytest.importorskip("safetensors.numpy").load_file
    pytest.importorskip("ml_dtypes")
    from halldetect_bench.models.gguf_to_transformers import convert

    made = tiny_gguf(tmp_path / "m.gguf", "llama")
    state = load(convert(tmp_path / "m.gguf", tmp_path / "out") / "model.safetensors")
    found = state["model.layers.0.self_attn.q_proj.weight"].astype(np.float32)
    # Of a head of 16 rows, the first half of transformers' are llama.cpp's even ones.
    assert np.allclose(found[:8], made["blk.0.attn_q"][0:16:2], atol=0.03)
    assert np.allclose(found[8:16], made["blk.0.attn_q"][1:16:2], atol=0.03)


@pytest.mark.hf
def test_other_kinds_of_model_are_refused(tmp_path: Path) -> None:
    from halldetect_bench.models.gguf_to_transformers import convert

    tiny_gguf(tmp_path / "m.gguf", "mamba")
    with pytest.raises(ModelError, match="kind mamba"):
        convert(tmp_path / "m.gguf", tmp_path / "out")
