"""Rank passages found by their words by meaning as well.

More passages than needed are retrieved, and an embedding model compares each of them with the
claim. Requires sentence-transformers (`pip install 'halldetect[sentence-transformers]'`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import CheckError, HallDetectError, MissingExtra, ModelError, one_line
from halldetect.knowledge.passages import Knowledge, Passage

# Passages to compare for each passage needed.
CANDIDATES = 2


class Embedder(Protocol):
    """Turns texts into vectors; the closer the meaning, the closer the vectors."""

    @property
    def description(self) -> dict[str, Any]:
        """The name and settings, for the report."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return one vector per text, as the rows of a matrix."""
        ...


class SentenceTransformerEmbedder:
    """A model of sentence-transformers, by its name on the hub or its folder.

    Texts are cut at its maximum length. A model that cannot be loaded raises ModelError.
    """

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(f"the reranker {model}", "sentence-transformers") from error
        from halldetect.models import offline

        name = Path(model).resolve().name if Path(model).is_dir() else model
        self.description = {"name": name}
        self._lock = Lock()
        try:
            self._model = SentenceTransformer(
                model, trust_remote_code=False, local_files_only=offline()
            )
        except Exception as error:  # the libraries' errors share no base class
            message = f"the reranker {model} cannot be loaded: {one_line(error)}"
            raise ModelError(message) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return one vector per text."""
        with self._lock:
            vectors: NDArray[np.floating[Any]] = self._model.encode(
                list(texts), convert_to_numpy=True, show_progress_bar=False
            )
        return vectors


class RerankedKnowledge:
    """Knowledge with passages ranked by words and by meaning.

    A passage has two ranks: that of the knowledge, and that of the cosine between its vector and
    the claim's. Their sum decides, then the second rank.
    """

    def __init__(self, knowledge: Knowledge, embedder: Embedder) -> None:
        self._knowledge = knowledge
        self._embedder = embedder

    @property
    def description(self) -> dict[str, Any]:
        """The description of the knowledge, and the name of the reranker."""
        reranker = self._embedder.description.get("name", "object")
        return {**self._knowledge.description, "reranker": reranker}

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """Return for each claim at most `limit` passages, best first; see `Knowledge`."""
        found = self._knowledge.search(claims, CANDIDATES * limit)
        pairs = [(claim, group) for claim, group in zip(claims, found, strict=True) if group]
        texts = [text for claim, group in pairs for text in (claim, *map(_text, group))]
        vectors = self._vectors(list(dict.fromkeys(texts))) if texts else {}
        for claim, group in pairs:
            likeness = [-float(vectors[_text(item)] @ vectors[claim]) for item in group]
            by_meaning = sorted(range(len(group)), key=likeness.__getitem__)
            ranks = {at: rank for rank, at in enumerate(by_meaning)}
            order = sorted(ranks, key=lambda at: (at + ranks[at], ranks[at]))
            group[:] = [group[at] for at in order[:limit]]
        return found

    def _vectors(self, texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return a vector of length 1 per text."""
        try:
            vectors = np.asarray(self._embedder.embed(texts), np.float64)
        except HallDetectError:
            raise
        except Exception as error:
            raise CheckError(f"the reranker failed: {one_line(error)}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise CheckError(f"the reranker gave no vectors for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled = vectors / np.where(lengths > 0.0, lengths, 1.0)
        return dict(zip(texts, scaled, strict=True))


def _text(passage: Passage) -> str:
    return passage.text_with_title
