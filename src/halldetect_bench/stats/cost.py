"""What a response costs: counted work of every run, seconds and joules of rows scored alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from halldetect_bench.predictions import Prediction

COUNTED = {
    "generative passes": "generative_passes",
    "tokens in": "extractor_tokens_in",
    "tokens out": "extractor_tokens_out",
    "pairs": "pairs_judged",
    "verifier tokens": "verifier_tokens",
}
# What the meter says of energy that no counter gave; the report gives only what was measured.
MODELLED = "(model)"
# A GPU's counter of energy moves in steps of a tenth of a second or so: shorter runs have none.
MIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Means over rows, answered or not.

    counted: by a name of `COUNTED`. seconds, joules: None where they were not measured.
    energy: what the joules were read from.
    """

    rows: int
    counted: dict[str, float]
    seconds: float | None
    joules: float | None
    energy: str | None

    def without_time(self) -> MeanCost:
        """The counted work only: rows of a batch share time and energy, which says nothing."""
        return replace(self, seconds=None, joules=None, energy=None)

    @property
    def tokens(self) -> float:
        """All tokens that a language model or a verifier read or wrote."""
        return sum(self.counted[name] for name in ("tokens in", "tokens out", "verifier tokens"))


def mean_cost(predictions: Sequence[Prediction]) -> MeanCost:
    """The mean cost of a response.

    predictions: at least one.
    """
    timed = [sum(item.cost.get("seconds", {}).values()) for item in predictions]
    measured = [
        item.resources
        for item in predictions
        if item.resources.get("joules") is not None and MODELLED not in item.resources["energy"]
    ]
    if sum(timed) < MIN_SECONDS:
        measured = []
    sources = sorted({str(item["energy"]) for item in measured})
    return MeanCost(
        len(predictions),
        {
            name: fmean(item.cost.get(key, 0) for item in predictions)
            for name, key in COUNTED.items()
        },
        fmean(timed) if any(timed) else None,
        fmean(item["joules"] for item in measured) if measured else None,
        ("; ".join(sources) or None) if measured else None,
    )
