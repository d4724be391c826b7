"""Language models in PyTorch, on a tiny random one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halldetect.errors import ConfigurationError, ModelError
from halldetect_bench.models.llm import Question, Reply, TooLong
from halldetect_bench.models.transformers_llm import TransformersLlm, next_tokens, steps_of

TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}"
WORDS = [f"w{n}" for n in range(40)]
TOKENS = [*WORDS, '"yes"', '"no"', '{"1":', ',"2":', "}", "?", "<p>", "<e>"]
EITHER = {"enum": ["yes", "no"]}


def letters(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


def test_a_schema_becomes_steps() -> None:
    steps = steps_of({"type": "object", "properties": {"a": EITHER, "b": EITHER}}, letters)
    assert len(steps) == 5
    text = ""
    for letter in '{"a": "yes", "b": "no"}':
        assert ord(letter) in next_tokens(steps, letters(text))
        text += letter
    assert next_tokens(steps, letters(text)) == []
    assert next_tokens(steps, letters('{"a": "')) == sorted(letters("yn"))
    with pytest.raises(ConfigurationError, match="schema"):
        steps_of({"type": "string"}, letters)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TransformersLlm:
    """A llama of two layers and a tokenizer of whole words, in a folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    config = transformers.LlamaConfig(
        vocab_size=len(TOKENS), num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=256, initializer_range=0.6, bos_token_id=None,
        pad_token_id=TOKENS.index("<p>"), eos_token_id=TOKENS.index("<e>"), **sizes,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("llm")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    own = Tokenizer(models.WordLevel({word: n for n, word in enumerate(TOKENS)}, unk_token="?"))
    own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, pad_token="<p>", eos_token="<e>", chat_template=TEMPLATE
    ).save_pretrained(folder)
    return TransformersLlm(folder, device="cpu", context=64)


def question(text: str, **settings: Any) -> Question:
    return Question([{"role": "user", "content": text}], 12, **settings)


@pytest.mark.hf
def test_a_batch_writes_what_each_question_gets_alone(model: TransformersLlm) -> None:
    texts = ["w1 w2 w3", "w5 w9 w33 w12 w7 w8 w20", "w4", "w1 " * 70]
    asked = [question(text) for text in texts] + [question("w1 w2", schema=EITHER)]
    asked += [question("w3 w4", temperature=1.5, seed=seed) for seed in range(4)]
    together = model.ask_many(asked)
    alone = [model.ask_many([one])[0] for one in asked]
    assert isinstance(together[3], TooLong)
    assert isinstance(alone[3], TooLong)
    assert [r for r in together if isinstance(r, Reply)] == [
        r for r in alone if isinstance(r, Reply)
    ]
    answered, *drawn = together[4:]
    assert isinstance(answered, Reply)
    assert answered.text in ('"yes"', '"no"')
    assert answered.finished
    assert len({reply.text for reply in drawn if isinstance(reply, Reply)}) > 1


@pytest.mark.hf
def test_an_answer_ends_before_the_stop(model: TransformersLlm) -> None:
    (whole,) = model.ask_many([question("w5 w9 w33 w12")])
    assert isinstance(whole, Reply)
    assert whole.tokens_in == 4
    stop = whole.text.split()[2]
    (cut,) = model.ask_many([question("w5 w9 w33 w12", stop=stop)])
    assert isinstance(cut, Reply)
    assert cut.text == whole.text.partition(stop)[0]
    assert cut.finished


@pytest.mark.hf
def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no transformers model"):
        TransformersLlm(tmp_path)
