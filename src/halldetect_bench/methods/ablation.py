"""The ablation: decomposition, windows and scoring, from one judgement of every pair.

The claims of a response are its sentences, or those of an extractor. Each is judged once against
every window of the paper's scales. The maxima of P(E), P(C) and support for each claim and scale
give the score on the whole source or on all scales, by FED or by support (`score_from_maxima`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from halldetect.errors import ExtractionError
from halldetect.inputs import clean_pair, read_texts
from halldetect.paper.contrast import judge_claims
from halldetect.paper.extract import Extraction, extract_claims
from halldetect.paper.fed import fed
from halldetect.paper.windows import GRANULARITIES, source_windows
from halldetect.protocols import Draft, Extractor, Verifier
from halldetect.reading.claims import read_claims
from halldetect.reading.document import Document
from halldetect.report import Cost, rounded
from halldetect.scoring import Calibration, contradiction_of
from halldetect.verification.judging import Judgement
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, pair_of
from halldetect_bench.predictions import Prediction, Results

# Of one claim, by scale: the maxima of P(E), P(C) and support over its windows.
ScaleMaxima = dict[str, list[float]]

SENTENCES = "sentences"
SCALE_SETS: dict[str, tuple[int, ...]] = {"1": (1,), "all": GRANULARITIES}
ABLATION_SCORINGS = ("support", "fed")
# A set of scales and a scoring.
Variant = tuple[str, str]
VARIANTS: tuple[Variant, ...] = tuple(
    (scales, scoring) for scoring in ABLATION_SCORINGS for scales in SCALE_SETS
)
# Files of version 0.1 have nine variants; these are the indices of `VARIANTS` among them.
_NINE = (0, 4, 7, 5)


def score_from_maxima(claims: Sequence[ScaleMaxima], scoring: str, scales: Sequence[int]) -> float:
    """Return the hallucination score of a response from the maxima of its claims on some scales.

    The scoring is `fed` (the paper's score) or `support` (1 - the least support, as the product).
    """
    best = [_maxima([seen[str(m)] for m in scales if str(m) in seen]) for seen in claims]
    if scoring == "fed":
        return fed([entailment - contradiction for entailment, contradiction, _ in best])
    return 1 - min(support for _, _, support in best)


def _maxima(scales: Sequence[Sequence[float]]) -> list[float]:
    return [max(values) for values in zip(*scales, strict=True)]


class Ablation:
    """Judges every claim against every window, with the maxima of each scale in the details."""

    name = "ablation"

    def __init__(self, extractor: Extractor | None, verifier: Verifier) -> None:
        self.extractor = extractor  # None takes the sentences, as the product does
        self.verifier = verifier
        self.calibration = Calibration.from_mapping(verifier.description.get("calibration") or {})

    @property
    def description(self) -> dict[str, Any]:
        """Return the name of the method and the descriptions of the models."""
        extractor = {"name": SENTENCES} if self.extractor is None else self.extractor.description
        return {"name": self.name, "extractor": extractor, "verifier": self.verifier.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Return an answer for each row."""
        return list(map(self._score, rows))

    def _score(self, row: Row) -> Scored:
        started = perf_counter()
        texts = read_texts(clean_pair(pair_of(row)))
        try:
            found = self._extract(texts.response)
        except ExtractionError as error:
            return Scored(None, str(error))
        extracted = perf_counter()
        judged = judge_claims(found.claims, source_windows(texts.documents), self.verifier)
        cost = Cost(
            generative_passes=found.draft.generative_passes,
            extractor_tokens_in=found.draft.tokens_in,
            extractor_tokens_out=found.draft.tokens_out,
            pairs_judged=sum(len(item.windows) for item in judged),
            verifier_tokens=sum(item.tokens for item in judged),
            seconds={"extract": extracted - started, "verify": perf_counter() - extracted},
        )
        read = [
            (claim.text, self._scale_maxima(item))
            for claim, item in zip(found.claims, judged, strict=True)
            if item.windows
        ]
        if not read:
            unread = next((item.reason for item in judged if item.reason), None)
            return Scored(None, unread or "the response has no claim", cost=cost)
        maxima = [seen for _, seen in read]
        return Scored(
            score_from_maxima(maxima, "support", GRANULARITIES),
            claims=tuple(
                (text, score_from_maxima([seen], "support", GRANULARITIES)) for text, seen in read
            ),
            cost=cost,
            details={"scales": maxima},
        )

    def _extract(self, response: Document) -> Extraction:
        if self.extractor is None:
            return Extraction(read_claims(response), Draft(()))
        return extract_claims(response, self.extractor)

    def _scale_maxima(self, judged: Judgement) -> ScaleMaxima:
        maxima: ScaleMaxima = {}
        for window, answer in zip(judged.windows, judged.probabilities, strict=True):
            support = self.calibration.window_support(answer)
            values = (answer.entailment, contradiction_of(answer), support)
            for scale in window.scales:
                before = maxima.get(str(scale), [0.0, 0.0, 0.0])
                maxima[str(scale)] = [
                    max(old, rounded(new)) for old, new in zip(before, values, strict=True)
                ]
        return maxima


def variant_scores(item: Prediction) -> list[float]:
    """Return the scores of a row of the ablation under every variant, as in `VARIANTS`."""
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
    """Return the scores of each variant by dataset and row, of ablations with these models."""
    found: dict[Variant, dict[str, Mapping[str, float]]] = {variant: {} for variant in VARIANTS}
    for one in results:
        if (extractor_of(one), verifier_of(one)) != (extractor, verifier):
            continue
        rows = {item.id: variant_scores(item) for item in one.predictions if item.score is not None}
        for at, variant in enumerate(VARIANTS):
            found[variant][one.header.dataset] = {name: row[at] for name, row in rows.items()}
    return {**found}
