"""The rows of the paper and of accuracy, from the stored predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from benchmarks.peers import APART, PAPER_METHODS
from benchmarks.scoreboard.rows import VERIFIERS, Row, results, sampled
from benchmarks.store import RESULTS
from halldetect.verification.cascade import UNSURE_FROM, UNSURE_TO
from halldetect_bench.packed import read_packed
from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.evidence import model_of
from halldetect_bench.stats.resampling import Rows, figure, figures, mean, rows_of
from halldetect_bench.stats.selection import read_settings, select

if TYPE_CHECKING:
    from halldetect_bench.stats.resampling import Values

    Metrics = Mapping[str, Values]

PAPER_SETS = {"qags-cnndm": "QAGS", "pubmedqa": "PubMedQA", "tofueval": "TofuEval",
              "falsesum": "FalseSum"}  # fmt: skip
PAPER_METRICS = {"F1": "F1", "precision": "P", "recall": "R"}
SETS = {
    "qags-cnndm": "QAGS", "summeval": "SummEval", "xsumfaith": "XSumFaith",
    "summedits": "SummEdits", "faithbench": "FaithBench", "defacto-test": "DeFacto",
    "storysumm": "StorySumm", "dialsummeval": "DialSummEval", "wice": "WiCE",
    "pubmedqa": "PubMedQA", "bump": "BUMP", "ragtruth-selection-qa": "RAGTruth, questions",
    "ragtruth-selection-summary": "RAGTruth, summaries",
    "ragtruth-selection-data2txt": "RAGTruth, records",
    "clearfacts": "ClearFacts without FactCheck-GPT", "memerag-en": "MEMERAG, English",
}  # fmt: skip
LANGUAGES = tuple(f"memerag-{language}" for language in ("en", "de", "es", "fr", "hi"))
# The names of the metrics in an id, and their columns.
METRICS = {
    "AUROC": ("auroc", "AUROC"),
    "balanced accuracy": ("balanced", "balanced"),
    "recall": ("found", "found / false alarms"),
    "false alarms": ("false_alarms", "found / false alarms"),
}
# Rows of this kind were trained on, all but one, so none of them counts.
TRAINED_ON = {"clearfacts": "FactCheck-GPT"}
# Names in peers.json that differ from those of the datasets.
PEERS = {"ragtruth-selection-data2txt": "ragtruth"}


@dataclass(frozen=True, slots=True)
class Method:
    """A method's predictions for a dataset, with the name of its verifier or none."""

    name: str
    verifier: str
    predictions: Mapping[str, Prediction]
    scores: Mapping[str, float]


@cache
def methods(folder: str, dataset: str) -> tuple[Method, ...]:
    """Return the stored methods of a dataset; beyond the sets of the paper the detector alone."""
    wanted = "" if dataset in PAPER_SETS else "halldetect"
    results = read_packed(RESULTS / folder / dataset, wanted)
    found = []
    for one in select(results, read_settings(RESULTS / folder)).kept:
        kind, described = TRAINED_ON.get(dataset), one.header.method
        known = {
            item.id: item for item in one.predictions
            if item.score is not None and (kind is None or item.kind != kind)
        }  # fmt: skip
        scores = {id: item.score or 0.0 for id, item in known.items()}
        verifier = model_of(described, "verifier") or ""
        found.append(Method(described["name"], verifier, known, scores))
    return tuple(found)


def ours(folder: str, dataset: str) -> dict[str, Method]:
    """Return the detector's predictions by verifier, on the rows that all scored.

    Those of `auto` follow from its rule.
    """
    found = {one.verifier: one for one in methods(folder, dataset) if one.name == "halldetect"}
    scores = {name: one.scores for name, one in found.items()}
    if {"base", "large"} <= found.keys():
        both = scores["base"].keys() & scores["large"].keys()
        scores = {name: {id: one[id] for id in both} for name, one in scores.items()}
        scores["auto"] = {
            id: scores["large"][id] if UNSURE_FROM <= 1 - score <= UNSURE_TO else score
            for id, score in scores["base"].items()
        }  # fmt: skip
        found["auto"] = found["base"]
    return {
        name: Method("halldetect", name, found[name].predictions, scores[name])
        for name in VERIFIERS if name in found
    }  # fmt: skip


def values(dataset: str, one: Method, samples: int) -> Metrics:
    """Return every metric of a method on all samples of the documents."""
    drawn = _drawn(dataset, tuple(one.predictions[id] for id in sorted(one.scores)), samples)
    found = figures(drawn, one.scores)
    return found | {"false alarms": found["recall"] + 1 - 2 * found["balanced accuracy"]}


def _drawn(dataset: str, predictions: tuple[Prediction, ...], samples: int) -> Rows:
    """Return rows with samples of their documents, the same for all methods with these rows."""
    key = (dataset, samples, tuple(item.row for item in predictions))
    if key not in _known:
        _known[key] = rows_of(dataset, predictions, samples)
    return _known[key]


_known: dict[tuple[str, int, tuple[str, ...]], Rows] = {}


def best_elsewhere(dataset: str, metric: str) -> str:
    """Return the highest figure of others in peers.json, with what it was measured on."""
    name = PEERS.get(dataset, dataset)
    for one in results("peers.json")["sets"]:
        if (one["name"], one["metric"]) == (name, metric) and one["peers"]:
            top = max(one["peers"], key=lambda peer: float(peer["value"]))
            caveat = f"{top['rows']}. {one.get('note', '')}".rstrip(". ")
            return f"{metric} {top['value']:.3f}, {top['peer']} ({caveat})"
    return ""


def published(dataset: str) -> str:
    """Return the best F1 that the paper states for its own method on a dataset."""
    lines = [
        (one[dataset][0], one["method"]) for one in results("peers.json")["paper"]
        if one["of"] == "published" and one["method"].startswith("HallDetect")
    ]  # fmt: skip
    return "F1 {:.3f}, {} (the paper, with its own models and rows)".format(*max(lines))


def paper(samples: int) -> Iterator[Row]:
    """Yield the rows of the paper: its sets that are here, the detector, its methods."""
    for dataset, title in PAPER_SETS.items():
        every = [("bench", one) for one in ours("bench", dataset).values()]
        for folder in (*reversed(APART), "bench"):
            every += [(folder, one) for one in methods(folder, dataset)
                      if one.name in PAPER_METHODS and one.name != "halldetect"]  # fmt: skip
        for folder, one in every:
            shown = values(dataset, one, samples)
            default = one.name == "halldetect"
            what = ", ".join(filter(None, ["default" if default else f"`{one.name}`",
                                           one.verifier]))  # fmt: skip
            id = f"paper.{dataset}.{'-'.join(filter(None, [one.name, one.verifier]))}"
            for metric, column in PAPER_METRICS.items():
                best = published(dataset) if default and metric == "F1" else ""
                yield from sampled(f"{id}.{metric}", what, f"{title} {column}",
                                   figure(shown[metric]), folder, one.verifier, best)  # fmt: skip


def accuracy(samples: int) -> Iterator[Row]:
    """Yield the rows of the default method: the mean of the tested sets, then every set."""
    development = read_settings(RESULTS / "bench").development
    means: dict[str, list[Metrics]] = {}
    found: list[Row] = []
    for dataset, title in SETS.items():
        folder = "bench" if (RESULTS / "bench" / dataset).exists() else "rag"
        for verifier, one in ours(folder, dataset).items():
            shown = values(dataset, one, samples)
            found += line(dataset, title, verifier, shown, folder)
            if folder == "bench" and dataset not in development:
                means.setdefault(verifier, []).append(shown)
    for verifier, parts in means.items():
        yield from line("mean", f"mean of {len(parts)} sets", verifier, averaged(parts), "bench")
    yield from found
    parts = [values(name, ours("rag", name)["large"], samples) for name in LANGUAGES]
    yield from line("memerag", "MEMERAG, five languages", "large", averaged(parts), "rag")


def averaged(parts: list[Metrics]) -> Metrics:
    """Return the means of metrics over datasets."""
    return {metric: mean([one[metric] for one in parts]) for metric in METRICS}


def line(dataset: str, title: str, verifier: str, shown: Metrics, folder: str) -> Iterator[Row]:
    """Yield the rows of one verifier on one dataset."""
    for metric, (name, column) in METRICS.items():
        yield from sampled(
            f"accuracy.{dataset}.{verifier}.{name}", title, f"`{verifier}` {column}",
            figure(shown[metric]), folder, verifier, best_elsewhere(dataset, metric),
        )  # fmt: skip
