"""Sentence-Transformers both ways, with real CrossEncoder objects on tiny weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect import Detector
from halldetect.errors import ConfigurationError
from halldetect.integrations.sentence_transformers import (
    CrossEncoderVerifier,
    VerifierCrossEncoder,
)
from tests.integrations.cases import CASES, Case, detector
from tests.support.fakes import OverlapVerifier

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a boat ticket costs leaves at it rains .".split()


def cross_encoder(folder: Path, labels: list[str]) -> Any:
    """A CrossEncoder with untrained weights, made here: the interface is the point."""
    pytest.importorskip("torch")
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return sentence_transformers.CrossEncoder(str(folder), device="cpu")


@pytest.mark.hf
@pytest.mark.filterwarnings("default")
def test_cross_encoders_verify_in_any_order_of_labels(tmp_path: Path) -> None:
    model = cross_encoder(tmp_path / "nli", ["contradiction", "entailment", "neutral"])
    verifier = CrossEncoderVerifier(model)
    pairs = [("the boat leaves .", "it rains ."), ("a ticket costs .", "a ticket .")]
    scores = model.predict(pairs, apply_softmax=True)
    for judged, row in zip(verifier.judge(pairs), scores, strict=True):
        assert judged.contradiction == pytest.approx(float(row[0]), abs=1e-5)
        assert judged.entailment == pytest.approx(float(row[1]), abs=1e-5)
        assert judged.neutral == pytest.approx(float(row[2]), abs=1e-5)
    assert verifier.count_tokens(["the boat leaves ."]) == [4]
    assert verifier.max_tokens < 64
    report = Detector(verifier).check("The boat leaves.", "The boat leaves.")
    assert report.score is not None
    assert report.provenance.verifier["kind"] == "cross-encoder"


@pytest.mark.hf
@pytest.mark.filterwarnings("default")
def test_one_score_cross_encoders_are_two_way_verifiers(tmp_path: Path) -> None:
    model = cross_encoder(tmp_path / "single", ["entailment"])
    (judged,) = CrossEncoderVerifier(model).judge([("the boat leaves .", "it rains .")])
    assert judged.contradiction is None
    assert 0.0 <= judged.entailment <= 1.0


@pytest.mark.hf
@pytest.mark.filterwarnings("default")
def test_labels_that_say_nothing_are_refused(tmp_path: Path) -> None:
    model = cross_encoder(tmp_path / "bare", ["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(ConfigurationError, match="entailment and contradiction must be among"):
        CrossEncoderVerifier(model)


class Predictor:
    """Anything with `predict`: one score per pair."""

    def predict(self, sentences: Any, **options: Any) -> Any:
        judged = OverlapVerifier(10_000).judge(sentences)
        return np.array([item.entailment for item in judged])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_any_object_that_predicts_is_a_verifier(case: Case) -> None:
    checked = Detector(CrossEncoderVerifier(Predictor()))
    report = checked.check(list(case.sources), case.response)
    assert report.ok is bool(case.passed)
    assert (report.verdict == "uncheckable") is (case.passed is None)


def test_our_verifier_has_the_cross_encoder_interface() -> None:
    model = VerifierCrossEncoder(detector().verifier)
    pairs = [("A ticket costs 4 euros.", "A ticket costs 4 euros."), ("It rains.", "It snows.")]
    scores = model.predict(pairs, batch_size=32, show_progress_bar=False)
    assert scores.dtype == np.float32
    assert scores[0] > 0.9 > 0.5 > scores[1]
    assert model.predict(list(pairs[0])) == scores[0]
    ranked = model.rank("It rains.", ["It snows.", "It rains."], return_documents=True, top_k=1)
    assert [(item["corpus_id"], item["text"]) for item in ranked] == [(1, "It rains.")]
