"""The quality of a method on labelled sentences.

A claim belongs to every labelled sentence of which it has nearly all words (a claim may be the
whole response), else to the sentence that shares the most words with it. A sentence has the score
of its worst claim; sentences without a claim are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.classification_metrics import auroc

NEARLY_ALL = 0.8
_WORD = re.compile(r"\w+")


def sentence_quality(predictions: Sequence[Prediction]) -> tuple[float | None, int]:
    """Return the AUROC of a method on labelled sentences, and how many of them have a claim."""
    gold: list[bool] = []
    scores: list[float] = []
    for item in predictions:
        found = sentence_scores(
            [text for text, _ in item.gold_claims],
            [(text, score) for text, score in item.claims if score is not None],
        )
        for (_, wrong), score in zip(item.gold_claims, found, strict=True):
            if score is not None:
                gold.append(bool(wrong))
                scores.append(score)
    return auroc(gold, scores), len(scores)


def sentence_scores(
    sentences: Sequence[str], claims: Sequence[tuple[str, float]]
) -> list[float | None]:
    """Return the score of each sentence: the highest of its claims; None without a claim."""
    found: list[float | None] = [None] * len(sentences)
    words = [_words(text) for text in sentences]
    for text, score in claims:
        for place in _places(_words(text), words):
            before = found[place]
            found[place] = score if before is None else max(before, score)
    return found


def _places(claim: frozenset[str], sentences: Sequence[frozenset[str]]) -> list[int]:
    if not claim or not sentences:
        return []
    held = [
        place
        for place, words in enumerate(sentences)
        if words and len(words & claim) >= NEARLY_ALL * len(words)
    ]
    if held:
        return held
    shares = [len(words & claim) for words in sentences]
    return [shares.index(max(shares))] if any(shares) else []


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
