"""The tables of the report, as values: comparisons, losses, sizes, kinds of error."""

from __future__ import annotations

from functools import cached_property

from halldetect_bench.stats.answers import Answer, answers
from halldetect_bench.stats.cost import MeanCost, Timed, mean_cost, timed
from halldetect_bench.stats.evidence import Compared, Evidence
from halldetect_bench.stats.growth import growth
from halldetect_bench.stats.resampling import COMPARED, THRESHOLD, Figure

Cell = str | int | float | Figure | None
# The titles of tables.
SIZES = ("by", "dataset", "size", "rows", "AUROC", "pairs", "verifier tokens")
KINDS = ("dataset", "kind", "rows", "recall")


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
    def comparisons(self) -> dict[str, Compared]:
        """The difference of every method to the reference, by label."""
        evidence = self.evidence
        return {
            method: compared
            for method in evidence.methods
            if method != evidence.reference
            and (
                compared := evidence.compare(
                    evidence.scores[evidence.reference], evidence.scores[method]
                )
            )
        }

    @cached_property
    def differences(self) -> list[list[Cell]]:
        """The differences to the reference, means first, by method and dataset."""
        return [
            [method, dataset, *(one[name] for name in COMPARED)]
            for method, compared in self.comparisons.items()
            for dataset, one in {"mean": compared.means, **compared.by_dataset}.items()
        ]

    @cached_property
    def losses(self) -> list[tuple[str, str, Figure]]:
        """The datasets on which another method is better, with its gain, the greatest first."""
        found = [
            (dataset, method, one["AUROC"])
            for method, compared in self.comparisons.items()
            for dataset, one in compared.by_dataset.items()
            if (one["AUROC"].low or 0.0) > 0
        ]
        return sorted(found, key=lambda one: (-(one[2].value or 0.0), *one[:2]))

    @cached_property
    def costs(self) -> dict[str, MeanCost]:
        """The mean cost of every method on the rows of the means."""
        cells, scope = self.evidence.cells, self.evidence.on_shared_rows
        return {
            method: mean_cost(
                [
                    cells[name, method][row]
                    for name in scope.shared
                    if (name, method) in cells
                    for row in scope.rows[name].ids
                ]
            )
            for method in self.evidence.methods
        }

    @cached_property
    def sizes(self) -> list[list[Cell]]:
        """Accuracy and work by size, with the columns SIZES."""
        return [
            [one.by, one.dataset, one.range, one.rows, one.auroc, one.pairs, one.tokens]
            for one in growth(self.evidence)
        ]

    @cached_property
    def kinds(self) -> list[list[Cell]]:
        """The recall of the reference by kind of error, if rows have kinds, as in KINDS."""
        found: dict[tuple[str, str], list[bool]] = {}
        for (dataset, method), cell in self.evidence.cells.items():
            if method == self.evidence.reference:
                for item in cell.values():
                    if item.gold and item.kind is not None and item.score is not None:
                        flagged = item.score >= THRESHOLD
                        found.setdefault((dataset, item.kind), []).append(flagged)
        return [[*key, len(hits), sum(hits) / len(hits)] for key, hits in sorted(found.items())]
