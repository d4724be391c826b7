"""Run the methods of stored results again, and compare the figures with the stored intervals.

The stored files record method, settings, models and rows. Methods that cannot be rebuilt, because a
model is missing, are listed with the reason. Scores may differ in the last digits on another
machine or runtime: a figure is reproduced if it lies in the interval of the stored one on the same
rows. On few rows that interval is wide, so nine in ten rows must also get the same verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.config import Configuration, options
from halldetect.errors import HallDetectError, InputError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Method
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.predictions import Header, Results, read, row_digest
from halldetect_bench.registry import METHODS, load_dataset
from halldetect_bench.runner import run, sample
from halldetect_bench.stats.evidence import model_of
from halldetect_bench.stats.method_labels import model_name
from halldetect_bench.stats.resampling import COMPARED, THRESHOLD, Figure, figure, figures, rows_of

MIN_SAME = 0.9


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A figure of a stored file on the repeated rows, and its new value or why there is none."""

    dataset: str
    method: str
    rows: int
    metric: str
    stored: Figure
    now: float | None
    reason: str | None = None

    @property
    def inside(self) -> bool:
        """True if the new figure lies in the stored interval, up to rounding."""
        if self.now is None or self.stored.low is None or self.stored.high is None:
            return self.reason is None and self.now == self.stored.value
        return self.stored.low - 1e-6 <= self.now <= self.stored.high + 1e-6


def reproduce(
    stored: Sequence[tuple[str, Results]],
    out: Path,
    *,
    data: Path | None = None,
    limit: int | None = None,
    batch: int = 1,
    device: str | None = None,
    notice: Callable[[str], None] = lambda line: None,
) -> list[Reproduced]:
    """Repeat stored results, given with the labels of their methods, dataset by dataset.

    A stopped run continues in the folder `out`. The other arguments are those of `bench reproduce`;
    `notice` is called with a line about each file.
    """
    found: list[Reproduced] = []
    methods: dict[str, Method | str] = {}
    for label, results in stored:
        header = results.header
        if header.digest not in methods:
            methods[header.digest] = _rebuilt(header, device, notice)
        method = methods[header.digest]
        if isinstance(method, str):
            found.append(
                Reproduced(header.dataset, label, 0, COMPARED[0], Figure(None), None, method)
            )
            continue
        notice(f"{header.dataset}, {label}")
        rows = _rows(results, data, limit)
        again = run(header.dataset, rows, method, out, batch=batch)
        found += _compared(label, results, again.path, rows)
    return found


def _rebuilt(header: Header, device: str | None, notice: Callable[[str], None]) -> Method | str:
    """Return the method of a stored file, or the reason why it cannot be built."""
    described = header.method
    name = described["name"]
    if name not in METHODS:
        return f"no method named {name!r} in this version"
    extractor, llm, embedder = (
        name and model_name(name)
        for name in (model_of(described, role) for role in ("extractor", "llm", "embedder"))
    )
    if name == "halldetect" and "prompt_digest" in (described.get("extractor") or {}):
        return f"the claims are those of {extractor}: only the method paper has an extractor now"
    try:
        models = RunModels(
            RunOptions(
                _configuration(described),
                extractor=extractor,
                llm=llm or (None if device is None else extractor),
                embedder=embedder,
                device=device,
                notice=notice,
            )
        )
        method = METHODS[name].build(models)
        # This loads the models: the description has their digests.
        return _other_weights(described, method.description) or method
    except HallDetectError as error:
        return str(error)


def _other_weights(stored: dict[str, Any], built: dict[str, Any]) -> str | None:
    """Return a message if the verifier's weights differ from those of the stored results."""
    before, now = (one.get("verifier") or {} for one in (stored, built))
    if before.get("digest") == now.get("digest"):
        return None
    return (
        f"the stored results are of other weights of {before.get('name')} "
        f"({str(before.get('digest'))[:8]}) than those here ({str(now.get('digest'))[:8]})"
    )


def _configuration(described: dict[str, Any]) -> Configuration:
    """Return the configuration in a file, with the verifier by name."""
    stated = described.get("configuration") or {}
    # The method `paper` sets the first two; the descriptions identify the models.
    left_out = {"paper", "extractor", "verifier", "threads", "device"}
    known = {option.name for option in options()} - left_out
    chosen = {name: value for name, value in stated.items() if name in known}
    verifier = model_of(described, "verifier")
    return Configuration(**chosen, verifier=None if verifier == "base" else verifier)


def _rows(results: Results, data: Path | None, limit: int | None) -> list[Row]:
    """Return the rows of a stored file, or raise InputError if the data have changed."""
    stored = {item.id: item.row for item in results.predictions}
    rows = [row for row in load_dataset(results.header.dataset, data).rows if row.id in stored]
    for row in rows:
        if row_digest(row) != stored[row.id]:
            raise InputError(
                f"{results.header.dataset}: row {row.id} is not the one that {results.header.path} "
                "was made with; another version of the dataset?"
            )
    if len(rows) < len(stored):
        raise InputError(
            f"{results.header.dataset}: {len(stored) - len(rows)} rows of {results.header.path} "
            "are not in the data"
        )
    return sample(rows, limit, 0)


def _compared(label: str, results: Results, path: Path, rows: Sequence[Row]) -> list[Reproduced]:
    wanted = {row.id for row in rows}
    now = {item.id: item.score for item in read(path).predictions if item.score is not None}
    before = {item.id: item.score for item in results.predictions if item.score is not None}
    both = [
        item
        for item in results.predictions
        if item.id in wanted and item.id in now and item.id in before and item.gold is not None
    ]
    if not both:
        return []
    dataset = results.header.dataset
    sampled = rows_of(dataset, both)
    old, new = figures(sampled, before), figures(sampled, now)
    found = {name: (figure(old[name]), figure(new[name]).value) for name in COMPARED}
    same = [(now[item.id] < THRESHOLD) == (before[item.id] < THRESHOLD) for item in both]
    found["same verdicts"] = Figure(1.0, MIN_SAME, 1.0), sum(same) / len(same)
    return [Reproduced(dataset, label, len(both), name, *pair) for name, pair in found.items()]
