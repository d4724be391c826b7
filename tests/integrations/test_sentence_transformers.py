"""A verifier with the interface of a CrossEncoder of Sentence-Transformers."""

from __future__ import annotations

import numpy as np

from halldetect.integrations.sentence_transformers import VerifierCrossEncoder
from tests.integrations.cases import detector


def test_our_verifier_has_the_cross_encoder_interface() -> None:
    model = VerifierCrossEncoder(detector().verifier)
    pairs = [("A ticket costs 4 euros.", "A ticket costs 4 euros."), ("It rains.", "It snows.")]
    scores = model.predict(pairs, batch_size=32, show_progress_bar=False)
    assert scores.dtype == np.float32
    assert scores[0] > 0.9 > 0.5 > scores[1]
    assert model.predict(list(pairs[0])) == scores[0]
    ranked = model.rank("It rains.", ["It snows.", "It rains."], return_documents=True, top_k=1)
    assert [(item["corpus_id"], item["text"]) for item in ranked] == [(1, "It rains.")]
