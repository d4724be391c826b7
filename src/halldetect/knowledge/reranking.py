"""Passages that were found by their words, in the order of their words and their meaning.

More passages than are wanted are retrieved, and an embedding model compares each of them with the
claim. Needs sentence-transformers (`pip install 'halldetect[sentence-transformers]'`).
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

# Passages that are compared, for each one that is wanted.
CANDIDATES = 2


class Embedder(Protocol):
    """Anything that turns texts into vectors; the closer the meaning, the closer the vectors."""

    @property
    def description(self) -> dict[str, Any]:
        """What a report records: name and settings."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """One vector per text, as the rows of a matrix.

        texts  to embed
        """
        ...


class SentenceTransformerEmbedder:
    """A model of sentence-transformers; texts are cut off where it stops reading.

    model   a name of the hub, or a folder
    device  where it computes; None: a GPU if there is one
    Raises ModelError for a model that cannot be loaded.
    """

    def __init__(self, model: str, *, device: str | None = None) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(f"the reranker {model}", "sentence-transformers") from error
        from halldetect.models import offline

        self._name = Path(model).resolve().name if Path(model).is_dir() else model
        self._lock = Lock()
        try:
            self._model = SentenceTransformer(
                model, device=device, trust_remote_code=False, local_files_only=offline()
            )
        except Exception as error:  # the libraries' errors share no base class
            message = f"the reranker {model} cannot be loaded: {one_line(error)}"
            raise ModelError(message) from error

    @property
    def description(self) -> dict[str, Any]:
        """Its name; of a folder, the last part of its path."""
        return {"name": self._name}

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """See `Embedder`."""
        with self._lock:
            vectors: NDArray[np.floating[Any]] = self._model.encode(
                list(texts), convert_to_numpy=True, show_progress_bar=False
            )
        return vectors


class RerankedKnowledge:
    """Knowledge whose passages are put in order by words and by meaning.

    A passage has two places: the one that the knowledge gives it, and the one that the cosine
    between its vector and the claim's gives it. Their sum decides, then the second.

    knowledge  finds the passages
    embedder   compares them with the claim
    """

    def __init__(self, knowledge: Knowledge, embedder: Embedder) -> None:
        self._knowledge = knowledge
        self._embedder = embedder

    @property
    def description(self) -> dict[str, Any]:
        """That of the knowledge, and the name of the reranker."""
        return {
            **self._knowledge.description,
            "reranker": self._embedder.description.get("name", "object"),
        }

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """See `Knowledge`."""
        found = self._knowledge.search(claims, CANDIDATES * limit)
        texts = [
            *(claim for claim, group in zip(claims, found, strict=True) if group),
            *(passage.text_with_title for group in found for passage in group),
        ]
        if not texts:
            return found
        vectors = self._vectors(list(dict.fromkeys(texts)))
        return [
            _reranked(group, vectors[claim], vectors)[:limit] if group else []
            for claim, group in zip(claims, found, strict=True)
        ]

    def _vectors(self, texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """The vectors of texts, each of length 1."""
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


def _reranked(
    group: Sequence[Passage],
    claim: NDArray[np.float64],
    vectors: dict[str, NDArray[np.float64]],
) -> list[Passage]:
    likeness = [float(vectors[passage.text_with_title] @ claim) for passage in group]
    by_meaning = sorted(range(len(group)), key=lambda at: -likeness[at])
    places = {at: place for place, at in enumerate(by_meaning)}
    order = sorted(places, key=lambda at: (at + places[at], places[at]))
    return [group[at] for at in order]
