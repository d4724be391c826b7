"""Claims brought to labelled sentences, and the figures, by hand."""

from __future__ import annotations

from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.sentence_level import sentence_quality, sentence_scores

SENTENCES = ["Ann Lee won the race in May.", "Bob lost it.", "Nobody was hurt."]


def test_a_sentence_scores_as_its_worst_claim() -> None:
    claims = [("Ann Lee won the race.", 0.2), ("The race was in May.", 0.7), ("Bob lost it.", 0.1)]
    assert sentence_scores(SENTENCES, claims) == [0.7, 0.1, None]


def test_a_claim_of_several_sentences_counts_for_each() -> None:
    assert sentence_scores(SENTENCES, [(" ".join(SENTENCES), 0.4)]) == [0.4, 0.4, 0.4]


def test_a_claim_without_shared_words_counts_for_none() -> None:
    assert sentence_scores(SENTENCES, [("Zebras!", 0.9), ("", 0.9)]) == [None, None, None]
    assert sentence_scores([], [("Zebras!", 0.9)]) == []


def made(claims: list[list[object]], gold: list[list[object]]) -> Prediction:
    return Prediction("1", "d", "doc", None, True, None, 0.9, None, claims, gold_claims=gold)


def test_figures_by_hand() -> None:
    gold = [[SENTENCES[0], True], [SENTENCES[1], False], [SENTENCES[2], False]]
    claims = [[SENTENCES[0], 0.6], [SENTENCES[1], 0.55], [SENTENCES[2], None]]
    assert sentence_quality([made(claims, gold)]) == (1.0, 2)
    claims = [[SENTENCES[0], 0.5], [SENTENCES[1], 0.55], [SENTENCES[2], 0.4]]
    assert sentence_quality([made(claims, gold)]) == (0.5, 3)


def test_nothing_without_labels_or_claims() -> None:
    assert sentence_quality([made([[SENTENCES[0], 0.6]], [])]) == (None, 0)
    assert sentence_quality([made([], [[SENTENCES[0], True]])]) == (None, 0)
