"""Passages in the order of their meaning: a fake embedder, and a tiny real model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from halldetect import Detector
from halldetect.errors import CheckError, InputError, MissingExtra, ModelError
from halldetect.knowledge import KnowledgeIndex, Passage
from halldetect.knowledge.builder import build_index, open_knowledge, remove_documents
from halldetect.knowledge.readers import find_files
from halldetect.knowledge.reranking import CANDIDATES, RerankedKnowledge
from halldetect.reading.document import Span
from tests.support.fakes import OverlapVerifier

CLAIM = "The bridge opened in 1932."


class Found:
    """Knowledge that finds the same passages for every claim with the word bridge."""

    description: ClassVar = {"name": "found", "passages": 40}

    def __init__(self, count: int) -> None:
        self.passages = [Passage(f"Text {at}.", f"{at}.txt", Span(0, 7)) for at in range(count)]
        self.limits: list[int] = []

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        self.limits.append(limit)
        return [self.passages[:limit] if "bridge" in claim else [] for claim in claims]


class Likes:
    """Gives texts that end as one of those liked the vector of the claims, others another."""

    description: ClassVar = {"name": "likes"}

    def __init__(self, *liked: str) -> None:
        self._liked = liked
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return np.array(
            [[2.0, 0.0] if text in (*self._liked, CLAIM) else [0.0, 3.0] for text in texts]
        )


def test_words_and_meaning_decide_together() -> None:
    known = Found(40)
    (group,) = RerankedKnowledge(known, Likes("Text 4.", "Text 5.")).search([CLAIM], 3)
    assert [passage.document for passage in group] == ["0.txt", "4.txt", "1.txt"]
    assert known.limits == [3 * CANDIDATES]


def test_only_the_wanted_number_is_given() -> None:
    reranked = RerankedKnowledge(Found(40), Likes("Text 7."))
    assert [len(group) for group in reranked.search([CLAIM, "Dogs bark."], 5)] == [5, 0]


def test_every_text_is_embedded_once() -> None:
    likes = Likes()
    RerankedKnowledge(Found(40), likes).search([CLAIM, CLAIM, "A bridge."], 2)
    assert len(likes.texts) == len(set(likes.texts)) == 2 + 2 * CANDIDATES


def test_nothing_found_asks_no_model() -> None:
    likes = Likes()
    assert RerankedKnowledge(Found(40), likes).search(["Dogs bark."], 5) == [[]]
    assert likes.texts == []


@pytest.mark.parametrize(
    "vectors",
    [np.zeros((1, 2)), np.zeros(5), np.full((13, 2), np.nan), "no numbers", ValueError("broken")],
)
def test_an_embedder_that_fails(vectors: Any) -> None:
    class Broken(Likes):
        def embed(self, texts: Sequence[str]) -> Any:
            if isinstance(vectors, Exception):
                raise vectors
            return vectors

    known = RerankedKnowledge(Found(40), Broken())
    with pytest.raises(CheckError, match="the reranker"):
        known.search([CLAIM], 2)
    report = Detector(verifier=OverlapVerifier(), knowledge=known).check([], CLAIM)
    assert report.verdict == "uncheckable"
    assert "the reranker" in (report.reason or "")


def test_vectors_without_length_keep_the_order() -> None:
    class Nothing(Likes):
        def embed(self, texts: Sequence[str]) -> Any:
            return np.zeros((len(texts), 2))

    (group,) = RerankedKnowledge(Found(40), Nothing()).search([CLAIM], 3)
    assert [passage.document for passage in group] == ["0.txt", "1.txt", "2.txt"]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "bridge.md").write_text("The bridge over the Elbe opened in 1932.", "utf-8")
    build_index(tmp_path / "known.index", find_files([tmp_path / "bridge.md"]))
    return tmp_path / "known.index"


def test_the_report_names_the_reranker(index: Path) -> None:
    known = RerankedKnowledge(KnowledgeIndex(index), Likes())
    report = Detector(verifier=OverlapVerifier(), knowledge=known).check([], CLAIM)
    assert report.ok
    assert any("reranker likes" in note for note in report.provenance.notes)


@pytest.mark.hf
def test_a_model_by_its_folder(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.sentence_transformer.modules import BoW
    except ImportError:  # before version 6
        from sentence_transformers.models import BoW

    words = ["bridge", "elbe", "opened", "ferry"]
    SentenceTransformer(modules=[BoW(vocab=words)], device="cpu").save(str(tmp_path / "model"))
    known = open_knowledge(f"{index}?reranker={tmp_path / 'model'}")
    ((passage,),) = known.search([CLAIM], 5)
    assert passage.document == "bridge.md"
    assert known.description["reranker"] == "model"
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    with pytest.raises(ModelError, match=r"the reranker .* cannot be loaded"):
        open_knowledge(f"{index}?reranker={tmp_path / 'nothing'}")


def test_mistakes(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="names no reranker"):
        open_knowledge(f"{index}?reranker=")
    with pytest.raises(InputError, match=r"leave .* out here"):
        build_index(f"{index}?reranker=model", [])
    with pytest.raises(InputError, match=r"leave .* out here"):
        remove_documents(f"{index}?reranker=model", ["bridge.md"])
    with pytest.raises(InputError, match="there is no index"):
        open_knowledge(f"{tmp_path / 'none.index'}?reranker=model")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"halldetect\[sentence-transformers\]"):
        open_knowledge(f"{index}?reranker=model")
