"""The meaning of a classifier's outputs, read from its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError
from halldetect.report import Probabilities

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


@dataclass(frozen=True, slots=True)
class Labels:
    """The meaning of each output in order: entailment, neutral, contradiction or rest.

    `rest` is the other side of a two-way model, which cannot tell neutral from contradiction.
    """

    meanings: tuple[str, ...]

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str) -> Labels:
        """Read `id2label` (or `label2id`), in any order and case."""
        numbered = config.get("id2label") or {}
        try:
            if not numbered:
                numbered = {key: name for name, key in (config.get("label2id") or {}).items()}
            names = {int(key): str(name) for key, name in numbered.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelError(f"{where}: id2label is not a map from numbers to names") from error
        if sorted(names) != list(range(len(names))):
            raise ModelError(f"{where}: id2label does not number its labels from 0 on")
        return cls.from_names([names[index] for index in range(len(names))], where)

    @classmethod
    def from_names(cls, names: Sequence[str], where: str) -> Labels:
        """Read the names of the outputs, in order; `where` is named in errors."""
        meanings = tuple(_MEANING.get(re.sub(r"[^a-z0-9]", "", name.lower())) for name in names)
        known = [meaning for meaning in meanings if meaning is not None]
        two_way = {"entailment", "rest"}
        three_way = {"entailment", "neutral", "contradiction"}
        if len(known) < len(names) or len(set(known)) < len(known):
            known = []
        if set(known) not in (two_way, three_way, {"entailment", "contradiction"}):
            listed = ", ".join(names) or "none"
            raise ModelError(
                f"{where}: labels must be entailment, neutral and contradiction, or entailment "
                f"and not_entailment; found {listed}: correct id2label in its config.json"
            )
        return cls(tuple(known))

    def read(self, logits: NDArray[Any], where: str) -> Probabilities:
        """Return the softmax, in double precision to avoid noise."""
        if logits.shape != (len(self.meanings),):
            raise ModelError(
                f"{where}: the model has {logits.size} outputs but {len(self.meanings)} labels"
            )
        values = logits.astype(np.float64)
        if not np.isfinite(values).all():
            raise ModelError(f"{where}: the model gave no finite number; its weights are damaged")
        powers = np.exp(values - values.max())
        shares = dict(zip(self.meanings, (powers / powers.sum()).tolist(), strict=True))
        if "rest" in shares:
            return Probabilities(shares["entailment"], shares["rest"], None)
        neutral = shares.get("neutral", 0.0)
        return Probabilities(shares["entailment"], neutral, shares["contradiction"])
