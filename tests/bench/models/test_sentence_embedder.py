"""Models for sentence vectors, on tiny ones with random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from halldetect.errors import FetchError, ModelError
from halldetect_bench.models.embedders import load_embedder
from halldetect_bench.models.sentence_embedder import SentenceEmbedder, pooling_of
from tests.support.tiny_models import LINES, write_sentence_model

pytestmark = pytest.mark.hf


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_a_vector_does_not_depend_on_the_other_texts(tmp_path: Path, pooling: str) -> None:
    embedder = load_embedder(str(write_sentence_model(tmp_path, pooling)), device="cpu")
    together = embedder.embed([*LINES, ""])
    for line, found in zip(LINES, together, strict=False):
        (alone,) = embedder.embed([line])
        assert np.allclose(found.vector, alone.vector, atol=1e-5)
        assert found.tokens == alone.tokens > 2
    assert embedder.description["pooling"] == pooling
    assert embedder.description["digest"].startswith("sha256:")


def test_each_pooling_takes_other_tokens(tmp_path: Path) -> None:
    vectors = [
        SentenceEmbedder(str(write_sentence_model(tmp_path / name, name)), device="cpu")
        .embed(LINES[:1])[0]
        .vector
        for name in ("mean", "first", "last")
    ]
    assert not np.allclose(vectors[0], vectors[1])
    assert not np.allclose(vectors[1], vectors[2])


def test_a_text_is_cut_off_where_the_model_stops_reading(tmp_path: Path) -> None:
    embedder = SentenceEmbedder(str(write_sentence_model(tmp_path, "mean")), device="cpu")
    (found,) = embedder.embed([" ".join(LINES * 3)])
    assert found.tokens == embedder.description["context"] == 48


def test_a_model_that_does_not_say_how_it_pools_is_refused(tmp_path: Path) -> None:
    folder = write_sentence_model(tmp_path, "mean")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(ModelError, match="does not say"):
        pooling_of(folder)


def test_a_name_of_the_hub_is_looked_for_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    with pytest.raises(FetchError, match="hf:Qwen/Qwen3-Embedding"):
        load_embedder("hf:Qwen/Qwen3-Embedding-0.6B")
