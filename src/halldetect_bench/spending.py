"""What a response costs on average: passes, tokens, pairs, seconds, memory, energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect_bench.predictions import Prediction

COSTS = (
    "passes",
    "tokens in",
    "tokens out",
    "pairs",
    "pairs skipped",
    "verifier tokens",
    "seconds",
    "joules",
    "memory MiB",
    "GPU memory MiB",
)
_COUNTED = {
    "passes": "generative_passes",
    "tokens in": "extractor_tokens_in",
    "tokens out": "extractor_tokens_out",
    "pairs": "pairs_judged",
    "pairs skipped": "pairs_skipped",
    "verifier tokens": "verifier_tokens",
}


@dataclass(frozen=True, slots=True)
class Spent:
    """Means over all rows, answered or not; memory is the greatest. None: not measured.

    `energy` says what the joules were read from.
    """

    dataset: str
    method: str
    rows: int
    means: dict[str, float | None]
    energy: str | None


def spent(dataset: str, method: str, predictions: Sequence[Prediction]) -> Spent:
    rows = max(1, len(predictions))
    means: dict[str, float | None] = {
        name: sum(item.cost[key] for item in predictions) / rows for name, key in _COUNTED.items()
    }
    means["seconds"] = sum(sum(item.cost["seconds"].values()) for item in predictions) / rows
    measured = [item.resources for item in predictions if item.resources]
    joules = [one["joules"] for one in measured]
    means["joules"] = sum(joules) / len(joules) if joules else None
    for name, key in (("memory MiB", "memory_mib"), ("GPU memory MiB", "gpu_memory_mib")):
        peaks = [one[key] for one in measured if one[key] is not None]
        means[name] = max(peaks, default=None)
    sources = sorted({one["energy"] for one in measured})
    return Spent(dataset, method, len(predictions), means, "; ".join(sources) or None)
