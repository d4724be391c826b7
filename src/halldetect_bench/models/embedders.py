"""Vectors of texts, from any model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import MissingExtra, ModelError, one_line
from halldetect.machine.integrity import digest_of
from halldetect.machine.store import offline
from halldetect.verification.verifiers.encoding import encodable

HUB = "hf:"


@dataclass(frozen=True, slots=True)
class Embedding:
    """A text's vector, and the number of tokens read."""

    vector: NDArray[np.float64]
    tokens: int


class Embedder(Protocol):
    """A model that turns texts into vectors; long texts are truncated."""

    @property
    def description(self) -> dict[str, Any]:
        """Return name, digest and settings for the results."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one vector per text; a vector does not depend on the other texts."""
        ...


def cosine(one: Embedding, other: Embedding) -> float:
    """Return the cosine of two vectors; 0 if one of them is zero."""
    lengths = float(np.linalg.norm(one.vector) * np.linalg.norm(other.vector))
    return float(one.vector @ other.vector) / lengths if lengths else 0.0


class SentenceEmbedder:
    """A model of sentence-transformers: a folder, or `hf:NAME` for one of the Hugging Face hub."""

    def __init__(self, spec: str, *, device: str | None = None) -> None:
        self._name = spec.removeprefix(HUB)
        self._folder = None if spec.startswith(HUB) else Path(spec).expanduser().resolve()
        if self._folder is not None and not (self._folder / "modules.json").is_file():
            raise ModelError(f"{spec} is not a folder of sentence-transformers (no modules.json)")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(f"the embedder {spec}", "sentence-transformers") from error
        try:
            self._model = SentenceTransformer(
                str(self._folder or self._name),
                device=device,
                local_files_only=offline(),
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # the libraries' errors share no base class
            raise ModelError(f"{spec} cannot be loaded: {one_line(error)}") from error

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return name, digest and context."""
        weights = sorted(self._folder.glob("*.safetensors")) if self._folder else []
        return {
            "name": self._folder.name if self._folder else self._name,
            "kind": "sentence-transformers",
            "digest": " ".join(f"sha256:{digest_of(file)}" for file in weights),
            "context": self._model.max_seq_length,
        }

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return one vector per text; see `Embedder.embed`."""
        clean = [encodable(text) or " " for text in texts]
        if not clean:
            return []
        vectors = self._model.encode(clean, show_progress_bar=False).astype(np.float64)
        read = self._model.tokenizer(clean, truncation=True, max_length=self._model.max_seq_length)[
            "input_ids"
        ]
        return [Embedding(vector, len(ids)) for vector, ids in zip(vectors, read, strict=True)]
