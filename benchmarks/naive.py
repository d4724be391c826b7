"""The simplest loop, for comparison: transformers, fp32, one claim and one window per call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.report import Probabilities

if TYPE_CHECKING:
    from training.base.encoder import Encoder


class NaiveLoop:
    """The shipped weights as a transformers model in fp32, called pair by pair."""

    description: dict[str, Any] = {"name": "naive loop", "runtime": "transformers, fp32"}  # noqa: RUF012

    def __init__(self, shipped: Path) -> None:
        import torch
        from transformers import MPNetTokenizerFast

        from training.base.unpack import student

        self._torch = torch
        self._tokenizer = MPNetTokenizerFast(tokenizer_file=str(shipped / "tokenizer.json"))
        self._network = as_transformers(student(shipped))
        self.max_tokens = 508

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [len(self._tokenizer(text, add_special_tokens=False).input_ids) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Judge pairs one after the other."""
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

    from training.base.to_hf import config_of, state_of

    network = MPNetForSequenceClassification(MPNetConfig(**config_of(model.shape))).eval()
    missing, unexpected = network.load_state_dict(state_of(model), strict=False)
    if unexpected or any("position_ids" not in name for name in missing):
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    return network
