"""Models for sentence vectors, on a tiny one with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from halldetect.errors import ModelError
from halldetect_bench.models.embedders import Embedding, SentenceEmbedder, cosine
from tests.support.tiny_models import LINES, write_sentence_model


@pytest.mark.hf
def test_vectors_do_not_depend_on_other_texts(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    embedder = SentenceEmbedder(str(write_sentence_model(tmp_path)), device="cpu")
    together = embedder.embed([*LINES, ""])
    for line, found in zip(LINES, together, strict=False):
        (alone,) = embedder.embed([line])
        assert np.allclose(found.vector, alone.vector, atol=1e-5)
        assert found.tokens == alone.tokens > 2
    assert embedder.description["digest"].startswith("sha256:")
    (long,) = embedder.embed([" ".join(LINES * 3)])
    assert long.tokens == embedder.description["context"] == 48
    assert embedder.embed([]) == []


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a folder of sentence-transformers"):
        SentenceEmbedder(str(tmp_path))


def test_vectors_without_length_have_no_angle() -> None:
    nothing = Embedding(np.zeros(2), 0)
    assert cosine(nothing, Embedding(np.ones(2), 1)) == 0.0
