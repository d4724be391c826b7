"""Sentence-Transformers both ways: a CrossEncoder as verifier, a verifier as CrossEncoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halldetect.detector import default_detector
from halldetect.errors import ConfigurationError
from halldetect.protocols import Verifier
from halldetect.report import Probabilities

_DEFAULT_MAX_TOKENS = 512
_SPECIAL_TOKENS = 4


class CrossEncoderVerifier:
    """A verifier that wraps a CrossEncoder for natural language inference.

    Args:
        model: a model with three labels, among them "entailment" and "contradiction", or with one
            score from 0 to 1 (after its own activation) that means entailment.
        name: name of the verifier in reports; default: the model's own.
        max_tokens: limit for premise and hypothesis together; default: the model's own.
        batch_size: pairs per call of the model.

    Raises:
        ConfigurationError: if the labels of the model are unknown.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str | None = None,
        max_tokens: int | None = None,
        batch_size: int = 32,
    ) -> None:
        self._model = model
        self._batch_size = batch_size
        inner = getattr(model, "model", None)
        config = getattr(inner, "config", None) or getattr(model, "config", None)
        self._labels = _label_indices(getattr(config, "id2label", None))
        self._name = name or str(getattr(config, "_name_or_path", "") or type(model).__name__)
        # Versions before 5.2 call it max_length.
        name_of_length = "max_seq_length" if hasattr(model, "max_seq_length") else "max_length"
        length = max_tokens or getattr(model, name_of_length, None) or _DEFAULT_MAX_TOKENS
        self._max_tokens = int(length) - _SPECIAL_TOKENS

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report."""
        return {"name": self._name, "kind": "cross-encoder", "max_tokens": self._max_tokens}

    @property
    def max_tokens(self) -> int:
        """Return the limit for premise and hypothesis together."""
        return self._max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; of words, if the model has no tokenizer."""
        tokenizer = getattr(self._model, "tokenizer", None)
        if tokenizer is None or not texts:
            return [len(text.split()) for text in texts]
        tokens = tokenizer(list(texts), add_special_tokens=False, verbose=False)
        return [len(ids) for ids in tokens["input_ids"]]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the probabilities of each pair of premise and hypothesis."""
        if not pairs:
            return []
        options: dict[str, Any] = {"batch_size": self._batch_size, "show_progress_bar": False}
        if self._labels is None:
            scores = np.asarray(self._model.predict(list(pairs), **options), dtype=float)
            found = np.clip(scores.reshape(len(pairs)), 0.0, 1.0)
            return [Probabilities(float(one), 1.0 - float(one), None) for one in found]
        logits = self._model.predict(list(pairs), apply_softmax=True, **options)
        table = np.asarray(logits, dtype=float)
        entailment, contradiction = (table[:, at] for at in self._labels)
        neutral = np.clip(1.0 - entailment - contradiction, 0.0, 1.0)
        rows = zip(entailment, neutral, contradiction, strict=True)
        return [Probabilities(*map(float, row)) for row in rows]


class VerifierCrossEncoder:
    """A verifier, by default that of the default detector, with the interface of a CrossEncoder."""

    def __init__(self, verifier: Verifier | None = None) -> None:
        self._verifier = verifier or default_detector().verifier

    def predict(
        self, sentences: Sequence[Sequence[str]] | Sequence[str], **options: Any
    ) -> np.ndarray[Any, Any]:
        """Return P(entailment) of each pair of premise and hypothesis, or of a single pair.

        The options of CrossEncoder.predict are ignored.
        """
        single = len(sentences) == 2 and all(isinstance(item, str) for item in sentences)
        pairs = [tuple(map(str, pair)) for pair in ([sentences] if single else sentences)]
        judged = self._verifier.judge([(premise, hypothesis) for premise, hypothesis in pairs])
        scores = np.array([item.entailment for item in judged], dtype=np.float32)
        return scores[0] if single else scores

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Return the documents, those that entail the query most first, as CrossEncoder.rank."""
        scores = self.predict([(document, query) for document in documents])
        order = np.argsort(-scores, kind="stable")[:top_k]
        ranked = [{"corpus_id": int(at), "score": scores[at]} for at in order]
        if return_documents:
            return [{**item, "text": documents[item["corpus_id"]]} for item in ranked]
        return ranked


def _label_indices(labels: Mapping[int, str] | None) -> tuple[int, int] | None:
    """Return the indices of entailment and contradiction; None for a model with one score."""
    if labels is None or len(labels) == 1:
        return None
    places = {str(label).casefold(): int(at) for at, label in labels.items()}
    try:
        return places["entailment"], places["contradiction"]
    except KeyError:
        raise ConfigurationError(
            f"the labels of the model are {', '.join(places)}: entailment and contradiction "
            "must be among them"
        ) from None
