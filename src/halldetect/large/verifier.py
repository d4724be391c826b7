"""The large verifier: a language model that reads a passage once and answers every claim.

A passage may be a whole source of thousands of tokens. Pairs with the same passage are judged
together, whatever their order in the call: a pair costs the tokens of its claim and some 20 of
the question, not those of the passage again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from halldetect.errors import InputError, ModelError
from halldetect.large.answer_prompt import Prompt
from halldetect.large.backend import Backend, Group, Logits
from halldetect.report import Probabilities


class LargeVerifier:
    """A verifier (see `halldetect.protocols.Verifier`) on any backend.

    How far the answers of one pair may differ alone and among others depends on the backend:
    not at all with onnxruntime, where a claim is a run of its own; by at most 0.001 with
    llama.cpp; in the last places with torch on a CPU; within the rounding of bfloat16 on a GPU.
    """

    reads_whole_sources = True

    def __init__(
        self,
        backend: Backend,
        prompt: Prompt,
        *,
        context: int,
        temperature: float = 1.0,
        description: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a verifier.

        Args:
            backend: the runtime.
            prompt: tokens of passages and claims.
            context: the most tokens of a passage, a claim and the question together.
            temperature: what logits are divided by before they become probabilities.
            description: what the report records besides runtime and limits.
        """
        self.backend = backend
        self.prompt = prompt
        self.context = context
        self._temperature = temperature
        self._description = dict(description or {})
        self._lock = Lock()  # states and buffers of a backend serve one call at a time

    @property
    def description(self) -> dict[str, Any]:
        """Name, digests of base and adapter, calibration, limits and runtime."""
        return {
            "name": "large",
            **self._description,
            "max_tokens": self.max_tokens,
            "temperature": self._temperature,
            "runtime": self.backend.runtime,
        }

    @property
    def max_tokens(self) -> int:
        """The longest passage and claim together, without the words around them."""
        return self.context - self.prompt.frame_tokens

    @property
    def pairs_at_once(self) -> int:
        """The number of pairs that a call should bring."""
        return self.backend.pairs_at_once

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text by itself."""
        return self.prompt.count(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The probabilities of each (passage, claim), in the order given.

        Raises InputError for an empty passage or claim, ModelError for a pair that is longer
        than the context or if the computation fails.
        """
        if any(not passage.strip() or not claim.strip() for passage, claim in pairs):
            raise InputError("the large verifier cannot judge an empty passage or claim")
        passages = list(dict.fromkeys(passage for passage, _ in pairs))
        claims = list(dict.fromkeys(claim for _, claim in pairs))
        passage_tokens = dict(zip(passages, self.prompt.passages(passages), strict=True))
        claim_tokens = dict(zip(claims, self.prompt.claims(claims), strict=True))
        # A claim that comes twice with the same passage is judged once.
        wanted: dict[str, dict[str, None]] = {}
        for passage, claim in pairs:
            self._refuse_too_long(len(passage_tokens[passage]) + len(claim_tokens[claim]))
            wanted.setdefault(passage, {})[claim] = None
        groups = [
            Group(passage_tokens[passage], tuple(claim_tokens[claim] for claim in found))
            for passage, found in wanted.items()
        ]
        with self._lock:
            logits = self.backend.answer(groups)
        answers = {}
        for (passage, found), rows in zip(wanted.items(), logits, strict=True):
            for claim, answer in zip(found, self.probabilities(rows), strict=True):
                answers[passage, claim] = answer
        return [answers[pair] for pair in pairs]

    def _refuse_too_long(self, tokens: int) -> None:
        if tokens > self.context:
            raise ModelError(
                f"large: a passage and claim have {tokens} tokens, the context is {self.context}"
            )

    def probabilities(self, logits: Logits) -> list[Probabilities]:
        """The probabilities of answers, from their logits (claims x 3)."""
        if not np.isfinite(logits).all():
            raise ModelError("large: the model gave numbers that are not finite")
        scaled = logits.astype(np.float64) / self._temperature
        scaled -= scaled.max(-1, keepdims=True)
        powers = np.exp(scaled)
        shares = powers / powers.sum(-1, keepdims=True)
        return [Probabilities(*map(float, row)) for row in shares]
