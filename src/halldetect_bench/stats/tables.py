"""The tables of the report, as values: means, losses, ablations, differences, kinds of error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from halldetect_bench.methods.ablation import VARIANTS, extractor_of, verifier_of
from halldetect_bench.stats.answers import Answer, answers
from halldetect_bench.stats.cost import MeanCost, Timed, mean_cost, timed
from halldetect_bench.stats.evidence import Compared, Evidence
from halldetect_bench.stats.growth import Bin, growth
from halldetect_bench.stats.resampling import THRESHOLD, Figure


@dataclass(frozen=True, slots=True)
class Loss:
    """A dataset on which another method is significantly better than the reference."""

    dataset: str
    method: str
    auroc: Figure


@dataclass(frozen=True, slots=True)
class AblationLine:
    """A variant of HallDetect: mean AUROC and balanced accuracy over its datasets."""

    extractor: str
    verifier: str
    scales: str
    scoring: str
    rows: int
    datasets: int
    auroc: Figure
    balanced_accuracy: Figure


@dataclass(frozen=True, slots=True)
class KindRecall:
    """The share of a kind of error that the reference flags."""

    dataset: str
    kind: str
    rows: int
    recall: float


class Tables:
    """The data of a report, computed on first use."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    @cached_property
    def answers(self) -> list[Answer]:
        """The questions with their answers."""
        return answers(self.evidence)

    @cached_property
    def timed(self) -> list[Timed]:
        """The methods that were timed alone."""
        return timed(self.evidence)

    @cached_property
    def growth(self) -> list[Bin]:
        """Accuracy and work by size."""
        return growth(self.evidence)

    @cached_property
    def comparisons(self) -> dict[str, Compared]:
        """The difference of every method to the reference, by label."""
        evidence = self.evidence
        found = {}
        for method in evidence.methods:
            if method != evidence.reference:
                compared = evidence.compare(
                    evidence.scores(evidence.reference), evidence.scores(method)
                )
                if compared is not None:
                    found[method] = compared
        return found

    @cached_property
    def losses(self) -> list[Loss]:
        """The datasets on which another method is better, the greatest differences first."""
        found = [
            Loss(dataset, method, one["AUROC"])
            for method, compared in self.comparisons.items()
            for dataset, one in compared.by_dataset.items()
            if (one["AUROC"].low or 0.0) > 0
        ]
        return sorted(found, key=lambda one: (-(one.auroc.value or 0.0), one.dataset, one.method))

    @cached_property
    def costs(self) -> dict[str, MeanCost]:
        """The mean cost of every method on all rows that it has."""
        cells = self.evidence.cells
        return {
            method: mean_cost(
                [item for key, one in cells.items() if key[1] == method for item in one.values()]
            )
            for method in self.evidence.methods
        }

    @cached_property
    def ablations(self) -> list[AblationLine]:
        """Every variant of every ablation, on the rows of that ablation."""
        evidence = self.evidence
        lines = []
        pairs = {(extractor_of(one), verifier_of(one)) for one in evidence.ablations}
        for extractor, verifier in sorted(pairs):
            scores = evidence.ablation(extractor, verifier)
            for scales, scoring in VARIANTS:
                means = evidence.means_of(scores[scales, scoring])
                lines.append(
                    AblationLine(
                        extractor,
                        verifier,
                        scales,
                        scoring,
                        means.rows,
                        len(means.by_dataset),
                        means.means["AUROC"],
                        means.means["balanced accuracy"],
                    )
                )
        return lines

    @cached_property
    def kinds(self) -> list[KindRecall]:
        """The recall of the reference by kind of error, if rows have kinds."""
        found: dict[tuple[str, str], list[bool]] = {}
        for (dataset, method), cell in self.evidence.cells.items():
            if method == self.evidence.reference:
                for item in cell.values():
                    if item.gold and item.kind is not None and item.score is not None:
                        flagged = item.score >= THRESHOLD
                        found.setdefault((dataset, item.kind), []).append(flagged)
        return [
            KindRecall(dataset, kind, len(hits), sum(hits) / len(hits))
            for (dataset, kind), hits in sorted(found.items())
        ]
