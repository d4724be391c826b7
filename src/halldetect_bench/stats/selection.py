"""The selection of result files, so that no table mixes weights, data or samples.

A folder of results may hold `settings.toml`:

    title = "..."            # the title of the report
    notes = ["..."]          # paragraphs at the start of the report
    min_rows = 200           # files with fewer rows are left out, unless the set has no more
    development = ["..."]    # datasets by which something was chosen; means leave them out
    [weights]                # the digests of the reported weights, by verifier
    base = ["..."]
    [shipped]                # the digests of newer, shipped weights, by verifier
    base = "..."
    [trained_on]             # the related training data of the verifiers, by dataset
    wice = "its train split"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.predictions import Header, Results

SETTINGS = "settings.toml"
# A method with a greater share of unanswered rows would shrink the shared rows of all.
MIN_ANSWERED = 0.9


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of `settings.toml`; every part is optional."""

    title: str = "Results"
    notes: tuple[str, ...] = ()
    min_rows: int = 1
    development: Sequence[str] = ()
    weights: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shipped: Mapping[str, str] = field(default_factory=dict)
    trained_on: Mapping[str, str] = field(default_factory=dict)

    @property
    def newer(self) -> dict[str, str]:
        """The digests of shipped weights that are not the reported ones, by verifier."""
        known = self.weights
        return {name: one for name, one in self.shipped.items() if one not in known.get(name, one)}


@dataclass(frozen=True, slots=True)
class Selection:
    """The results in the tables, and (file, reason) for those left out."""

    kept: tuple[Results, ...]
    left_out: tuple[tuple[str, str], ...]


def read_settings(folder: Path) -> Settings:
    """Return the settings of a folder of results, or the defaults."""
    path = folder / SETTINGS
    if not path.is_file():
        return Settings()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return Settings(**{**found, "notes": tuple(found.get("notes", ()))})
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be used: {error}") from error


def select(results: Sequence[Results], settings: Settings) -> Selection:
    """Return the results of the weights that the settings name, with enough rows.

    Raises InputError if files disagree about a row, or about the weights of a verifier that the
    settings do not name.
    """
    _check_rows(results)
    sizes: dict[str, int] = {}
    for one in results:
        name = one.header.dataset
        sizes[name] = max(sizes.get(name, 0), len(one.predictions))
    kept, left_out = [], []
    for one in results:
        reason = _reason(one, settings, sizes[one.header.dataset])
        if reason is None:
            kept.append(one)
        else:
            left_out.append((str(one.header.path), reason))
    _check_weights(kept)
    return Selection(tuple(kept), tuple(left_out))


def weights_of(header: Header) -> dict[str, frozenset[str]]:
    """Return the digests of the verifiers of a file, by name."""
    verifier = header.method.get("verifier")
    if not isinstance(verifier, dict):
        return {}
    digests = frozenset(
        value
        for key, value in verifier.items()
        if "digest" in key and "tokenizer" not in key and isinstance(value, str)
    )
    return {str(verifier.get("name")): digests}


def _reason(one: Results, settings: Settings, size: int) -> str | None:
    """Return the reason to leave a file out, or None."""
    for name, digests in weights_of(one.header).items():
        if name in settings.weights and not digests & set(settings.weights[name]):
            return f"other weights of {name}"
        if settings.weights and name not in settings.weights:
            return f"the verifier {name}, which is not what this report is about"
    rows = len(one.predictions)
    if rows < min(settings.min_rows, size):
        return f"fewer than {min(settings.min_rows, size)} rows ({rows})"
    drawn = one.header.sample.get("rows", rows)
    if rows < drawn:
        return f"incomplete ({rows} of {drawn} rows)"
    answered = sum(item.score is not None for item in one.predictions)
    if answered < MIN_ANSWERED * rows:
        return f"too few rows answered ({answered} of {rows})"
    return None


def _check_weights(results: Sequence[Results]) -> None:
    """Refuse two sets of weights under one name."""
    seen: dict[str, tuple[frozenset[str], Path]] = {}
    for one in results:
        for name, digests in weights_of(one.header).items():
            before, path = seen.setdefault(name, (digests, one.header.path))
            if before and digests and not before & digests:
                raise InputError(
                    f"{path} and {one.header.path} were made with different weights of {name!r}: "
                    f"name the digests to report under [weights] in {SETTINGS}, or keep one of "
                    "them"
                )


def _check_rows(results: Sequence[Results]) -> None:
    """Refuse two versions of one row."""
    seen: dict[tuple[str, str], tuple[str, Path]] = {}
    for one in results:
        dataset, here = one.header.dataset, one.header.path
        for item in one.predictions:
            before, path = seen.setdefault((dataset, item.id), (item.row, here))
            if before != item.row:
                raise InputError(
                    f"{path} and {here} were made with different data: row {item.id} differs; "
                    "keep one of them"
                )
