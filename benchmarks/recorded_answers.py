"""The verifier's recorded answers, and the outcome of every claim under a rule for its windows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halldetect.report import DECIMALS
from halldetect.scoring import Calibration
from halldetect.verification.planning import LENGTH_EXPONENT

Array = NDArray[Any]
STATES = ("supported", "unsupported", "contradicted")
# Bits of `sets`: a page, and the short windows by their size.
PAGE, SHORT = 1, {1: 1 << 16, 3: 1 << 17}
UNRANKED = 1 << 20


class Rule(NamedTuple):
    """The parameters of a rule."""

    sizes: tuple[int, ...]
    pages: int
    enough: float
    offset: float

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.sizes))}, {self.pages}, {self.enough}, {self.offset}"


def parse_rule(text: str) -> Rule:
    """Return the rule of a text such as "1 3, 3, 0.8, 0.2"."""
    sizes, pages, enough, offset = text.split(",")
    return Rule(tuple(map(int, sizes.split())), int(pages), float(enough), float(offset))


class Outcome(NamedTuple):
    """Support, contradiction and tokens of every claim."""

    support: Array
    contradiction: Array
    tokens: Array

    def states(self, calibration: Calibration) -> Array:
        """Return the index in `STATES` of each claim, as `Calibration.status` decides."""
        against = self.contradiction > np.maximum(calibration.contradicted_above, self.support)
        return np.where(self.support > calibration.supported_above, 0, np.where(against, 2, 1))


class Recorded:
    """Recorded answers, one npz file per kind of array.

    rows: `meta` (JSON: `datasets`, `rows` as [id, expected state]); by row `dataset`, `label`,
    `document`, and the numbers of `claims` and `windows`; by claim `claim_tokens` and the number of
    `claim_pairs`. windows: `tokens`, `sets`. By pair: `window` (its number in the row), `overlap`
    (the share of the claim's words in 65,535ths), `p_e`, `p_c`. Claims without pairs are left out.
    """

    def __init__(self, folder: Path, weight: float) -> None:
        """Read a folder; `weight` is that of the contradiction in the support."""
        rows, windows = (dict(np.load(folder / f"{name}.npz")) for name in ("rows", "windows"))
        names = {"pairs": "window", "overlap": "overlap", "p_e": "p_e", "p_c": "p_c"}
        number, overlap, p_e, p_c = (
            np.load(folder / f"{file}.npz")[name].astype(np.float64) for file, name in names.items()
        )
        meta = json.loads(rows["meta"].tobytes())
        self.dataset = np.array(meta["datasets"])[rows["dataset"]]
        self.label, self.document = rows["label"] == 1, rows["document"]
        self.expected = np.array([state or "" for _, state in meta["rows"]])
        counts = rows["claim_pairs"].astype(np.int64)
        self.row = np.repeat(np.arange(len(self.label)), rows["claims"])[counts > 0]
        self._claim = np.repeat(np.arange(len(self.row)), counts[counts > 0])
        first = np.concatenate([[0], np.cumsum(rows["windows"])])[self.row[self._claim]]
        window = first + number.astype(np.int64)
        self._tokens = windows["tokens"][window] + np.repeat(rows["claim_tokens"], counts) * 1.0
        self._against = p_c
        p_e, p_c = np.round(p_e, DECIMALS), np.round(p_c, DECIMALS)
        self._support = np.round(p_e * (1.0 - weight * p_c), DECIMALS)
        sets = windows["sets"][window]
        by_length = overlap / np.maximum(self._tokens, 1) ** LENGTH_EXPONENT
        self._page = self._ranks(sets & PAGE > 0, overlap)
        self._short = {size: self._ranks(sets & bit > 0, by_length) for size, bit in SHORT.items()}

    def _ranks(self, chosen: Array, value: Array) -> Array:
        """Return the rank of each chosen pair within its claim; `UNRANKED` elsewhere."""
        places = np.flatnonzero(chosen)
        places = places[np.lexsort((-value[places], self._claim[places]))]
        claim = self._claim[places]
        ranks = np.full(len(chosen), UNRANKED)
        ranks[places] = np.arange(len(places)) - np.searchsorted(claim, claim)
        return ranks

    def _greatest(self, values: Array, chosen: Array) -> Array:
        """Return the greatest value of the chosen pairs of every claim, or -1."""
        found = np.full(len(self.row), -1.0)
        np.maximum.at(found, self._claim[chosen], values[chosen])
        return found

    def _read(self, chosen: Array) -> Array:
        return np.bincount(self._claim[chosen], self._tokens[chosen], len(self.row))

    def judge(self, rule: Rule) -> Outcome:
        """Return the outcome of every claim under a rule: window by window until one is enough."""
        short = [
            self._short[size] == rule.sizes[:at].count(size) for at, size in enumerate(rule.sizes)
        ]
        pages = [self._page == rank for rank in range(rule.pages)]
        support, said, long = (np.full(len(self.row), -1.0) for _ in range(3))
        tokens = np.zeros(len(self.row))
        seen = np.zeros(len(self._claim), bool)
        for number, chosen in enumerate([*short, *pages]):
            going = support <= rule.enough
            against = said if number < len(short) else long
            for total, values in ((support, self._support), (against, self._against)):
                total[going] = np.maximum(total, self._greatest(values, chosen))[going]
            tokens[going] += self._read(chosen & ~seen)[going]
            seen |= chosen
        if rule.offset:
            inside = np.clip(support, 1e-6, 1 - 1e-6)
            support = 1 / (1 + np.exp(-(np.log(inside / (1 - inside)) + rule.offset)))
        both = np.where(long < 0, said, np.where(said < 0, long, (said + long) / 2))
        return Outcome(support, both, tokens)
