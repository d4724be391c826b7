"""The cost of a response: counted work, and seconds and joules of rows that were scored alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from halldetect_bench.predictions import Header, Prediction, Results
from halldetect_bench.stats.evidence import Evidence, model_of
from halldetect_bench.stats.method_labels import model_name
from halldetect_bench.stats.resampling import SEED, Figure

COUNTED = {
    "generative passes": "generative_passes",
    "tokens in": "extractor_tokens_in",
    "tokens out": "extractor_tokens_out",
    "pairs": "pairs_judged",
    "verifier tokens": "verifier_tokens",
}
# Marks estimated energy; the report shows only measured energy.
MODELLED = "(model)"
# A GPU updates its energy counter about every tenth of a second: shorter runs show no energy.
MIN_SECONDS = 1.0
CHUNKED = "halldetect"
# The alternatives to chunked verification: one call that reads everything.
ONE_CALL = ("nli-only", "one-prompt", "long-context", "llm-cot")


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Means over rows, answered or not.

    `counted` has the work by a name of `COUNTED`, and `energy` is the origin of the joules.
    """

    rows: int
    counted: dict[str, float]
    seconds: float | None
    joules: float | None
    energy: str | None

    def without_time(self) -> MeanCost:
        """Return only the counted work: rows of a batch share time and energy."""
        return replace(self, seconds=None, joules=None, energy=None)

    @property
    def tokens(self) -> float:
        """All tokens that language models and verifiers read or wrote."""
        return sum(self.counted[name] for name in ("tokens in", "tokens out", "verifier tokens"))


def mean_cost(predictions: Sequence[Prediction]) -> MeanCost:
    """Return the mean cost of a response over at least one prediction."""
    timed = list(map(_seconds, predictions))
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


@dataclass(frozen=True, slots=True)
class Timed:
    """A method on one machine, which the name of a folder gives.

    `times` is the time relative to chunked verification with `base`, on the same rows.
    """

    machine: str
    dataset: str
    method: str
    header: Header
    cost: MeanCost
    times: Figure


def timed(evidence: Evidence) -> list[Timed]:
    """Return every method of every machine, the chunked one first."""
    found = []
    for machine, every in evidence.latency.items():
        for dataset in dict.fromkeys(one.header.dataset for one in every):
            results = [one for one in every if one.header.dataset == dataset]
            base = next((one for one in results if _is_default(one.header)), None)
            results.sort(key=lambda one: (one is not base, short_label(one.header)))
            # All methods on the rows that each of them has.
            ids = set.intersection(*({item.id for item in one.predictions} for one in results))
            for one in results:
                times = Figure(None) if base is None or one is base else _times(base, one)
                cost = mean_cost([item for item in one.predictions if item.id in ids])
                label = short_label(one.header)
                found.append(Timed(machine, dataset, label, one.header, cost, times))
    return found


def latency_sentences(evidence: Evidence) -> str:
    """Compare chunked verification with the other methods, for each machine."""
    parts = []
    every = timed(evidence)
    for machine, dataset in dict.fromkeys((one.machine, one.dataset) for one in every):
        here = [one for one in every if (one.machine, one.dataset) == (machine, dataset)]
        others = [one for one in here if one.times.value is not None]
        if not others:
            continue
        base = next(one for one in here if one.times.value is None)
        shown = [
            one for one in others if one.header.method["name"] in ONE_CALL or _is_short(one.header)
        ]
        compared = ", ".join(
            f"{one.method} {one.times.value:.2f} ({one.times.low:.2f} to {one.times.high:.2f})"
            for one in shown or others
        )
        parts.append(
            f"`{machine}`, {base.cost.rows} rows of {dataset}: {base.method} takes "
            f"{base.cost.seconds:.3f} s and {base.cost.tokens:,.0f} tokens; as multiples of that "
            f"time, {compared}."
        )
    return " ".join(parts)


def short_label(header: Header) -> str:
    """Return the method with the models it runs on."""
    models = (model_of(header.method, role) for role in ("verifier", "llm"))
    label = " ".join([header.method["name"], *(model_name(name) for name in models if name)])
    if _is_drafted(header):
        label += f", claims of {model_name(header.method['extractor']['name'])}"
    return f"{label}, scores only" if _is_short(header) and not _is_drafted(header) else label


def _is_default(header: Header) -> bool:
    """Return True if this is the default detector, explanations included."""
    verifier = model_of(header.method, "verifier")
    chunked = header.method["name"] == CHUNKED and verifier != "large"
    return chunked and not _is_drafted(header) and not _is_short(header)


def _is_drafted(header: Header) -> bool:
    """Return True if a language model splits the response."""
    return "prompt_digest" in (header.method.get("extractor") or {})


def _is_short(header: Header) -> bool:
    """Return True if the detector skips the explanations of its verdict."""
    return header.method.get("explanations") is False


def _times(base: Results, other: Results) -> Figure:
    """Return the ratio of the mean seconds on shared rows, with its interval over rows."""
    ours = {item.id: _seconds(item) for item in base.predictions}
    pairs = np.array(
        [(ours[item.id], _seconds(item)) for item in other.predictions if item.id in ours]
    )
    if not len(pairs) or not pairs[:, 0].sum() or not pairs[:, 1].sum():
        return Figure(None)
    rng = np.random.default_rng(SEED)
    drawn = pairs[rng.integers(0, len(pairs), size=(1000, len(pairs)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 1] / drawn[:, 0], [0.025, 0.975])
    total = pairs.sum(axis=0)
    return Figure(float(total[1] / total[0]), float(low), float(high))


def _seconds(item: Prediction) -> float:
    return float(sum(item.cost.get("seconds", {}).values()))
