"""The common part of verifiers that are classifiers: labels, limits, and the edge of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError
from halldetect.protocols import Traits
from halldetect.report import Probabilities
from halldetect.verification.verifiers.encoding import Encoded, PairEncoder
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

# These models start numbering positions after the number of the padding token.
_POSITIONS_AFTER_PADDING = ("mpnet", "roberta", "xlm-roberta", "camembert", "longformer")
# Larger limits in a configuration mean "unknown".
_NO_LIMIT = 1_000_000
# Used without a limit in the configuration: the limit of nearly every encoder.
_USUAL_LIMIT = 512

# Known names for each meaning, in lower case, reduced to letters and digits.
_MEANINGS = {
    "entailment": (
        "entailment entails entail entailed supported supports support supporting consistent "
        "faithful grounded attributable"
    ),
    "neutral": "neutral notenoughinfo notenoughinformation nei",
    "contradiction": "contradiction contradicts contradict contradictory refuted refutes refute",
    "rest": (
        "notentailment nonentailment notentailed unsupported notsupported nonsupported "
        "inconsistent notconsistent unfaithful notfaithful ungrounded notgrounded hallucinated "
        "hallucination notattributable"
    ),
}
_MEANING = {name: meaning for meaning, names in _MEANINGS.items() for name in names.split()}
# What a configuration may state about the verifier besides its labels, for its description.
STATED = ("languages", "calibration", "operating_points")
# The meanings that a model may have, sorted.
_SETS = (
    ["entailment", "rest"],
    ["contradiction", "entailment"],
    ["contradiction", "entailment", "neutral"],
)


@dataclass(frozen=True, slots=True)
class Labels:
    """The meaning of each output in order: entailment, neutral, contradiction or rest.

    `rest` is the other side of a two-way model, which cannot tell neutral from contradiction.
    """

    meanings: tuple[str, ...]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str) -> Labels:
        """Read the names of the outputs from `id2label`; `where` is named in errors."""
        try:
            numbered = {int(key): str(name) for key, name in (config["id2label"] or {}).items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{where}: id2label is not a map from numbers to names") from error
        if sorted(numbered) != list(range(len(numbered))):
            raise ModelError(f"{where}: id2label does not number its labels from 0 on")
        names = [numbered[index] for index in range(len(numbered))]
        plain = (re.sub(r"[^a-z0-9]", "", name.lower()) for name in names)
        meanings = tuple(_MEANING.get(name, "unknown") for name in plain)
        if sorted(meanings) not in _SETS:
            listed = ", ".join(names) or "none"
            raise ModelError(
                f"{where}: labels must be entailment, neutral and contradiction, or entailment "
                f"and not_entailment; found {listed}: correct id2label in its config.json"
            )
        return cls(meanings)

    def read(self, logits: NDArray[Any], where: str) -> list[Probabilities]:
        """Return the softmax of each row, in double precision to avoid noise."""
        if (outputs := logits.shape[1]) != len(self.meanings):
            raise ModelError(
                f"{where}: the model has {outputs} outputs but {len(self.meanings)} labels"
            )
        values = logits.astype(np.float64)
        if not np.isfinite(values).all():
            raise ModelError(f"{where}: the model gave no finite number; its weights are damaged")
        powers = np.exp(values - values.max(1, keepdims=True))
        columns = (powers / powers.sum(1, keepdims=True)).T.tolist()
        shares: dict[str, Any] = dict(zip(self.meanings, columns, strict=True))
        neutral = shares.get("rest") or shares.get("neutral") or repeat(0.0)
        contradiction = shares.get("contradiction") or repeat(None)
        return list(map(Probabilities, shares["entailment"], neutral, contradiction))


def reading_limit(*configurations: Mapping[str, Any]) -> int:
    """Return the longest input with special tokens: the smallest limit stated."""
    limits = []
    for config in configurations:
        limits += [config.get("max_tokens"), config.get("model_max_length")]
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and config.get("model_type") in _POSITIONS_AFTER_PADDING:
            positions -= int(config.get("pad_token_id", 1)) + 1
        limits.append(positions)
    known = [int(x) for x in limits if isinstance(x, int | float) and 0 < x < _NO_LIMIT]
    return min(known, default=_USUAL_LIMIT)


class Classifier(Traits):
    """A verifier that encodes texts in this process; `_run_all` of subclasses returns logits.

    `max_tokens` is the longest premise and hypothesis together, special tokens not counted.
    """

    def __init__(
        self, name: str, labels: Labels, encoder: PairEncoder | WordPieceEncoder, limit: int
    ) -> None:
        """Set the encoder, for pairs of at most `limit` tokens with special ones."""
        self._name = name
        self._labels = labels
        self._encoder = encoder
        self._limit = limit
        self.max_tokens = limit - encoder.special_tokens
        self.compute = self._run_all  # worker processes ask another process instead

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, special tokens not counted."""
        return [len(tokens) for tokens in self._encoder.tokenize(texts)]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the probabilities of each (premise, hypothesis), in the order given.

        Raises ModelError for a pair that is too long, instead of truncating it.
        """
        encoded = self._encoder.encode(pairs)
        longest = max(map(len, encoded), default=0)
        if longest > self._limit:
            raise ModelError(
                f"{self._name}: a pair has {longest} tokens, the model reads {self._limit}"
            )
        if not encoded:
            return []
        logits = np.asarray(self.compute([*map(self._packed, encoded)]))
        return self._labels.read(logits, self._name)

    def _packed(self, pair: Encoded) -> Any:
        """Return a pair as `compute` takes it."""
        return pair

    def _run_all(self, packed: Sequence[Any]) -> Sequence[NDArray[Any]] | NDArray[Any]:
        raise NotImplementedError
