"""The large verifier: a language model that reads a passage once and answers every claim.

A passage may be a whole source of thousands of tokens. Pairs with the same passage are judged
together: a pair costs only the tokens of its claim and about 20 of the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError
from halldetect.large.answer_prompt import Prompt
from halldetect.protocols import Traits
from halldetect.report import Probabilities
from halldetect.verification.verifiers.classifier import Labels

_LABELS = Labels(("entailment", "neutral", "contradiction"))
Tokens = tuple[int, ...]
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Group:
    """A passage and the claims about it, as tokens."""

    passage: Tokens
    claims: tuple[Tokens, ...]


class Backend(Protocol):
    """A runtime: it reads every passage once and lets its claims continue from there."""

    runtime: str  # name, version and device for the report
    pairs_at_once: int  # preferred per call

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Return the logits (claims x 3) of every group: entailment, neutral, contradiction.

        Raises ModelError if the computation fails.
        """
        ...


class LargeVerifier(Traits):
    """A verifier (see `halldetect.protocols.Verifier`) on any backend.

    With onnxruntime a pair has the same answer alone and among others, to the last bit. With torch
    the answers differ in the last places on a CPU, and by the rounding of bfloat16 on a GPU.
    """

    reads_whole_sources = True

    def __init__(
        self,
        backend: Backend,
        prompt: Prompt,
        context: int,
        temperature: float = 1.0,
        description: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a verifier; `context` counts the tokens of passage, claim and question."""
        self.backend = backend
        self.compute = backend.answer  # worker processes ask another process instead
        self.prompt = prompt
        self.context = context
        # The longest passage and claim together, without the words around them.
        self.max_tokens = context - prompt.frame_tokens
        self.pairs_at_once = backend.pairs_at_once
        self._temperature = temperature
        self.description = {
            "name": "large",
            **(description or {}),
            "max_tokens": self.max_tokens,
            "temperature": temperature,
            "runtime": backend.runtime,
        }
        self._lock = Lock()  # a backend's states and buffers serve one call at a time

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text alone."""
        return self.prompt.count(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the probabilities of each (passage, claim), in the order given.

        Raises ModelError for a pair that is longer than the context or if the computation fails.
        """
        # A repeated pair is judged once.
        found: dict[str, list[str]] = {}
        for passage, claim in dict.fromkeys(pairs):
            found.setdefault(passage, []).append(claim)
        groups = [
            Group(passage, tuple(self.prompt.claims(claims)))
            for passage, claims in zip(
                self.prompt.passages(list(found)), found.values(), strict=True
            )
        ]
        for group in groups:
            tokens = len(group.passage) + max(map(len, group.claims))
            if tokens > self.context:
                raise ModelError(
                    f"large: a passage and claim have {tokens} tokens, "
                    f"the context is {self.context}"
                )
        with self._lock:
            logits = self.compute(groups)
        answers = {
            (passage, claim): answer
            for (passage, claims), rows in zip(found.items(), logits, strict=True)
            for claim, answer in zip(claims, self.probabilities(rows), strict=True)
        }
        return [answers[pair] for pair in pairs]

    def probabilities(self, logits: Logits) -> list[Probabilities]:
        """Return the probabilities of answers, from their logits (claims x 3)."""
        if not np.isfinite(logits).all():
            raise ModelError("large: the model gave numbers that are not finite")
        return _LABELS.read(logits.astype(np.float64) / self._temperature, "large")
