"""Sentence-Transformers: a verifier with the interface of a CrossEncoder.

The other way round, `Detector("hf:NAME")` loads a CrossEncoder for natural language inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halldetect.detector import default_detector
from halldetect.protocols import Verifier


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
