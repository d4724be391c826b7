"""The ablation: scores under sets of scales and scorings, from one judgement of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halldetect_bench.methods.ablation import ABLATION_SCORINGS, SCALE_SETS, score_from_maxima
from halldetect_bench.predictions import Prediction, Results

# A set of scales and a scoring.
Variant = tuple[str, str]
VARIANTS: tuple[Variant, ...] = tuple(
    (scales, scoring) for scoring in ABLATION_SCORINGS for scales in SCALE_SETS
)
# Files of version 0.1 have nine variants; these are the indices of `VARIANTS` among them.
_NINE = (0, 4, 7, 5)


def variant_scores(item: Prediction) -> list[float]:
    """Return the scores of a row under every variant, in the order of `VARIANTS`.

    Args:
        item: a prediction of the method `ablation` with a score.
    """
    if "variants" in item.details:  # packed results hold the scores instead of the maxima
        stored = [float(value) for value in item.details["variants"]]
        return [stored[at] for at in _NINE] if len(stored) > len(VARIANTS) else stored
    maxima = item.details["scales"]
    return [score_from_maxima(maxima, scoring, SCALE_SETS[scales]) for scales, scoring in VARIANTS]


def extractor_of(results: Results) -> str:
    """Return the name of the extractor of an ablation."""
    return str(results.header.method["extractor"]["name"])


def verifier_of(results: Results) -> str:
    """Return the name of the verifier of an ablation."""
    return str(results.header.method["verifier"]["name"])


def ablation_scores(
    results: Sequence[Results], extractor: str, verifier: str
) -> dict[Variant, Mapping[str, Mapping[str, float]]]:
    """Return the scores of each variant by dataset and row.

    Args:
        results: the results of the method `ablation`.
        extractor, verifier: the names of the models to select.
    """
    found: dict[Variant, dict[str, Mapping[str, float]]] = {variant: {} for variant in VARIANTS}
    for one in results:
        if (extractor_of(one), verifier_of(one)) != (extractor, verifier):
            continue
        rows = {item.id: variant_scores(item) for item in one.predictions if item.score is not None}
        for at, variant in enumerate(VARIANTS):
            found[variant][one.header.dataset] = {name: row[at] for name, row in rows.items()}
    return {**found}
