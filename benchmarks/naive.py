"""The loop everyone writes first: transformers, fp32, one claim against one window at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.report import Probabilities

if TYPE_CHECKING:
    from training.verifier.encoder import Encoder


class NaiveLoop:
    """The shipped weights as a transformers model in fp32, called pair by pair."""

    description: dict[str, Any] = {"name": "naive loop", "runtime": "transformers, fp32"}  # noqa: RUF012

    def __init__(self, shipped: Path) -> None:
        import torch
        from training.verifier.unpack import student
        from transformers import MPNetTokenizerFast

        self._torch = torch
        self._tokenizer = MPNetTokenizerFast(tokenizer_file=str(shipped / "tokenizer.json"))
        self._network = as_transformers(student(shipped))
        self.max_tokens = 508

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self._tokenizer(text, add_special_tokens=False).input_ids) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        answers = []
        for premise, hypothesis in pairs:
            feed = self._tokenizer(premise, hypothesis, return_tensors="pt")
            with self._torch.no_grad():
                logits = self._network(**feed).logits
            answers.append(Probabilities(*map(float, logits.softmax(-1)[0])))
        return answers


def as_transformers(model: Encoder) -> Any:
    """A student's weights under the names that transformers gives them."""
    from transformers import MPNetConfig, MPNetForSequenceClassification

    shape, old = model.shape, model.state_dict()
    network = MPNetForSequenceClassification(
        MPNetConfig(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            intermediate_size=shape.inner,
            max_position_embeddings=shape.positions,
            layer_norm_eps=shape.epsilon,
            pad_token_id=shape.pad,
            num_labels=3,
        )
    ).eval()
    new = {
        "mpnet.embeddings.word_embeddings.weight": old["words.weight"],
        "mpnet.embeddings.position_embeddings.weight": old["places.weight"],
        "mpnet.embeddings.LayerNorm.weight": old["norm.weight"],
        "mpnet.embeddings.LayerNorm.bias": old["norm.bias"],
        "mpnet.encoder.relative_attention_bias.weight": old["distance.weight"],
        "classifier.dense.weight": old["dense.weight"],
        "classifier.dense.bias": old["dense.bias"],
        "classifier.out_proj.weight": old["classify.weight"],
        "classifier.out_proj.bias": old["classify.bias"],
    }
    names = {
        "attention.attn.o": "out",
        "attention.LayerNorm": "attention_norm",
        "intermediate.dense": "up",
        "output.dense": "down",
        "output.LayerNorm": "norm",
    }
    for layer in range(shape.layers):
        for part in ("weight", "bias"):
            for letter, value in zip(
                "qkv", old[f"layers.{layer}.qkv.{part}"].chunk(3), strict=True
            ):
                new[f"mpnet.encoder.layer.{layer}.attention.attn.{letter}.{part}"] = value
            for theirs, ours in names.items():
                new[f"mpnet.encoder.layer.{layer}.{theirs}.{part}"] = old[
                    f"layers.{layer}.{ours}.{part}"
                ]
    missing, unexpected = network.load_state_dict(new, strict=False)
    if unexpected or any("position_ids" not in name for name in missing):
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    return network
