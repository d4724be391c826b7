"""Results by method and dataset, and comparisons on the rows that methods share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from halldetect.config import Configuration
from halldetect.errors import ConfigurationError, InputError
from halldetect_bench.datasets.labelled_rows import is_training_data
from halldetect_bench.predictions import Header, Prediction, Results
from halldetect_bench.stats.method_labels import method_labels
from halldetect_bench.stats.resampling import (
    METRICS,
    SAMPLES,
    Figure,
    Rows,
    figure,
    figures,
    mean,
    rows_of,
)
from halldetect_bench.stats.selection import Settings, select

if TYPE_CHECKING:
    from halldetect_bench.stats.resampling import Values

# The scores of a method: by dataset, then by the id of the row.
Scores = Mapping[str, Mapping[str, float]]
# Options that do not change a score.
_INERT = ("threads", "device", "fallback", "max_source", "max_response", "knowledge")


@dataclass(frozen=True, slots=True)
class Scope:
    """Methods on the same rows of each dataset.

    `measured` has every metric of a dataset and method on all samples. The means are over the
    `shared` datasets: those of the reference, without the `development` ones.
    """

    methods: tuple[str, ...]
    rows: Mapping[str, Rows]
    measured: Mapping[tuple[str, str], Mapping[str, Values]]
    shared: tuple[str, ...]
    development: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of rows of a mean."""
        return sum(len(self.rows[name].ids) for name in self.shared)

    def cell(self, dataset: str, method: str, metric: str) -> Figure:
        """Return a metric, a name of `METRICS`, of one method on one dataset."""
        found = self.measured.get((dataset, method))
        return Figure(None) if found is None else figure(found[metric])

    def mean(self, method: str, metric: str, names: Sequence[str] | None = None) -> Figure:
        """Return the mean of a metric over datasets, by default shared; None if one is missing."""
        names = names or self.shared
        if not names or any((name, method) not in self.measured for name in names):
            return Figure(None)
        return figure(mean([self.measured[name, method][metric] for name in names]))


@dataclass(frozen=True, slots=True)
class Compared:
    """Figures by metric: `means` over `rows`, and those of each dataset."""

    rows: int
    means: Mapping[str, Figure]
    by_dataset: Mapping[str, Mapping[str, Figure]]


class Evidence:
    """The results in the tables, in order, and the files that were left out.

    `order` and `datasets` name methods and datasets in the order of the tables; others come last.
    All are compared with `reference`, the label or name of a method; by default the `halldetect`
    nearest to the default configuration, or else the first. `latency` has the results of rows that
    were scored one at a time, by the name of their folder.
    """

    def __init__(
        self,
        results: Sequence[Results],
        settings: Settings | None = None,
        *,
        order: Sequence[str] = (),
        datasets: Sequence[str] = (),
        reference: str | None = None,
        samples: int = SAMPLES,
        latency: Mapping[str, Sequence[Results]] | None = None,
    ) -> None:
        if samples < 1:
            raise ConfigurationError(f"--samples must be at least 1, not {samples}")
        self.settings = settings or Settings()
        self.samples = samples
        # Few rows are enough to time a method.
        timed = replace(self.settings, min_rows=1)
        self.latency = {name: select(found, timed).kept for name, found in (latency or {}).items()}
        chosen = select(results, self.settings)
        self.labels = method_labels(one.header for one in chosen.kept)
        rank = {name: at for at, name in enumerate(order)}
        plain = sorted(
            chosen.kept, key=lambda one: (rank.get(_name(one), len(rank)), self._label(one))
        )
        at = {name: place for place, name in enumerate(datasets)}
        names = {one.header.dataset for one in chosen.kept}
        self.datasets = tuple(sorted(names, key=lambda name: (at.get(name, len(at)), name)))
        self.left_out = chosen.left_out
        self.methods = tuple(dict.fromkeys(map(self._label, plain)))
        self._headers = [one.header for one in chosen.kept]
        self.headers = {self._label(one): one.header for one in plain}
        self.cells = {
            (one.header.dataset, self._label(one)): {item.id: item for item in one.predictions}
            for one in plain
        }
        self._rows: dict[str, dict[str, Prediction]] = {name: {} for name in self.datasets}
        for one in chosen.kept:
            self._rows[one.header.dataset].update({item.id: item for item in one.predictions})
        self.reference = self._reference(reference)
        self.scores: dict[str, dict[str, dict[str, float]]] = {label: {} for label in self.methods}
        for (name, label), cell in self.cells.items():
            known = {at: item.score for at, item in cell.items() if item.score is not None}
            self.scores[label][name] = known
        self._known_rows: dict[tuple[str, frozenset[str]], Rows] = {}
        self._known_figures: dict[tuple[int, int], tuple[dict[str, Values], object]] = {}

    def _label(self, one: Results) -> str:
        return self.labels[one.header.digest]

    def _reference(self, wanted: str | None) -> str:
        if not self.methods:
            return ""
        if wanted is not None:
            for label in self.methods:
                if wanted in (label, label.partition(" (")[0]):
                    return label
            raise ConfigurationError(
                f"no method {wanted!r} in the results; there are {'; '.join(self.methods)}"
            )
        ours = [
            label for label in self.methods if self.headers[label].method["name"] == "halldetect"
        ]
        return min(ours, key=lambda one: _distance(self.headers[one]), default=self.methods[0])

    @property
    def trained_on(self) -> dict[str, str]:
        """The datasets with related training data, and the names of that data."""
        stated = {one.dataset: one.trained_on for one in self._headers if one.trained_on}
        return {**stated, **self.settings.trained_on}

    def find(self, name: str, verifier: str | None) -> str | None:
        """Return the first method of a name with a verifier; None without one."""
        for label in self.methods:
            method = self.headers[label].method
            if verifier and method["name"] == name and model_of(method, "verifier") == verifier:
                return label
        return None

    @cached_property
    def on_shared_rows(self) -> Scope:
        """All methods, on the rows that all of them scored."""
        return self._scope(self.methods)

    @cached_property
    def on_all_rows(self) -> Scope:
        """The methods that have every row of every dataset of the reference."""
        wanted = [name for name, label in self.cells if label == self.reference]
        return self._scope(
            tuple(
                label
                for label in self.methods
                if all(len(self.cells.get((n, label), ())) == len(self._rows[n]) for n in wanted)
            )
        )

    def _scope(self, methods: tuple[str, ...]) -> Scope:
        rows: dict[str, Rows] = {}
        measured: dict[tuple[str, str], Mapping[str, Values]] = {}
        scores = self.scores
        for dataset in self.datasets:
            present = [label for label in methods if dataset in scores[label]]
            found = self._shared([scores[label][dataset] for label in present], dataset)
            if found is None:
                continue
            rows[dataset] = found
            for label in present:
                measured[dataset, label] = self._figures(found, scores[label][dataset])
        shared = tuple(
            name
            for name, found in rows.items()
            if (name, self.reference) in measured
            and 0 < found.hallucinated < len(found.ids)
            and not is_training_data(name)
        )
        chosen = tuple(name for name in shared if name in self.settings.development)
        others = tuple(name for name in shared if name not in chosen)
        # With development sets alone, they are what there is to show.
        return Scope(methods, rows, measured, others or chosen, chosen if others else ())

    def _shared(self, scores: Sequence[Mapping[str, float]], dataset: str) -> Rows | None:
        """Return the labelled rows that all methods have scored, or None."""
        if not scores:
            return None
        known = set.intersection(*(set(one) for one in scores))
        rows = [item for name, item in self._rows[dataset].items() if name in known]
        labelled = [item for item in rows if item.gold is not None]
        if not labelled:
            return None
        key = (dataset, frozenset(item.id for item in labelled))
        if key not in self._known_rows:
            self._known_rows[key] = rows_of(dataset, labelled, self.samples)
        return self._known_rows[key]

    def _figures(self, rows: Rows, scores: Mapping[str, float]) -> dict[str, Values]:
        """Return the figures of scores, cached by rows and scores."""
        key = (id(rows), id(scores))
        if key not in self._known_figures:
            # Keeping the scores ensures that no other object gets the same id().
            self._known_figures[key] = (figures(rows, scores), scores)
        return self._known_figures[key][0]

    def compare(self, *methods: Scores) -> Compared | None:
        """Return the figures of one method, or the second's minus the first's; None without rows.

        Two methods are compared on the rows that both scored, without sets that were trained on.
        Means leave development sets out.
        """
        found: dict[str, dict[str, Values]] = {}
        counts: dict[str, int] = {}
        for dataset in self.datasets:
            if is_training_data(dataset) or not all(dataset in scores for scores in methods):
                continue
            rows = self._shared([scores[dataset] for scores in methods], dataset)
            if rows is None or rows.hallucinated in (0, len(rows.ids)):
                continue
            *before, after = (self._figures(rows, scores[dataset]) for scores in methods)
            found[dataset] = {
                name: after[name] - before[0][name] if before else after[name] for name in METRICS
            }
            counts[dataset] = len(rows.ids)
        if not found:
            return None
        meant = [name for name in found if name not in self.settings.development] or [*found]
        return Compared(
            sum(counts[dataset] for dataset in meant),
            {name: figure(mean([found[one][name] for one in meant])) for name in METRICS},
            {
                dataset: {name: figure(values) for name, values in one.items()}
                for dataset, one in found.items()
            },
        )


def _name(one: Results) -> str:
    name = one.header.method.get("name")
    if not isinstance(name, str):
        raise InputError(f"{one.header.path}: the header names no method")
    return name


def model_of(method: Mapping[str, Any], role: str) -> str | None:
    """Return the name of the model that has a role in a method, or None."""
    name = (method.get(role) or {}).get("name")
    return None if name is None else str(name)


def _distance(header: Header) -> tuple[int, bool]:
    """Return the number of options that differ from the default configuration."""
    default = Configuration().to_dict()
    found = header.method.get("configuration", {})
    differing = sum(
        found.get(name, value) != value
        for name, value in default.items()
        if name not in (*_INERT, "verifier")
    )
    return differing, model_of(header.method, "verifier") != "base"
