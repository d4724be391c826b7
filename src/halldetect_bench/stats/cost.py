"""The cost of a response: counted work, and seconds and joules of rows that were scored alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from halldetect_bench.predictions import Header, Prediction
from halldetect_bench.stats.evidence import Evidence, model_of
from halldetect_bench.stats.method_labels import model_name

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
    """A method on one machine, which the name of a folder gives."""

    machine: str
    dataset: str
    method: str
    cost: MeanCost


def timed(evidence: Evidence) -> list[Timed]:
    """Return every method of every machine, the chunked one first."""
    found = []
    for machine, every in evidence.latency.items():
        for dataset in dict.fromkeys(one.header.dataset for one in every):
            results = [one for one in every if one.header.dataset == dataset]
            results.sort(key=lambda one: (not _is_default(one.header), short_label(one.header)))
            # All methods on the rows that each of them has.
            ids = set.intersection(*({item.id for item in one.predictions} for one in results))
            for one in results:
                cost = mean_cost([item for item in one.predictions if item.id in ids])
                found.append(Timed(machine, dataset, short_label(one.header), cost))
    return found


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


def _seconds(item: Prediction) -> float:
    return float(sum(item.cost.get("seconds", {}).values()))
