"""The options of a check that change its outcome, as the report records them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from halldetect.errors import ConfigurationError
from halldetect.scoring import SCORINGS
from halldetect.windows.scales import GRANULARITIES

# Beyond these sizes a check on an ordinary machine takes hours: say so instead of starting.
MAX_SOURCE = 1_000_000
MAX_RESPONSE = 200_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """Plain values only: what `Detector.from_provenance` needs to build the same detector.

    extractor, verifier  names; None is the embedded verifier. An object passed in by the
                         caller is recorded as "object:TYPE" and cannot be rebuilt from here
    guard                keep claims faithful to the response, whatever the extractor says
    truncate             cut windows the verifier cannot read whole, as the paper does,
                         instead of judging all their parts
    exact                judge every pair; without it, those that can change the outcome (see
                         `planner`). The scoring "fed" needs, and judges, every pair anyway
    max_source,
    max_response         characters beyond which a check is refused
    """

    extractor: str = "auto"
    verifier: str | None = None
    scoring: str = "calibrated"
    threshold: float = 0.5
    granularities: tuple[int, ...] = GRANULARITIES
    guard: bool = True
    truncate: bool = False
    exact: bool = False
    seed: int = 0
    threads: int | None = None
    max_source: int = MAX_SOURCE
    max_response: int = MAX_RESPONSE

    def __post_init__(self) -> None:
        if self.scoring not in SCORINGS:
            raise ConfigurationError(
                f"unknown scoring {self.scoring!r}: use {' or '.join(SCORINGS)}"
            )
        if not (_is_number(self.threshold) and 0.0 <= self.threshold <= 1.0):
            raise ConfigurationError(f"threshold must lie between 0 and 1, not {self.threshold}")
        scales = self.granularities
        if not scales or any(not _is_whole(m) or m < 1 for m in scales):
            raise ConfigurationError(f"granularities must be whole numbers from 1 up, not {scales}")
        if not _is_whole(self.seed) or not 0 <= self.seed < 2**32:
            raise ConfigurationError(f"seed must be a whole number below 2^32, not {self.seed}")
        for name in ("threads", "max_source", "max_response"):
            value = getattr(self, name)
            if value is not None and (not _is_whole(value) or value < 1):
                raise ConfigurationError(f"{name} must be a whole number from 1 up, not {value}")
        object.__setattr__(self, "threshold", float(self.threshold))
        object.__setattr__(self, "granularities", tuple(sorted(set(scales))))

    def to_dict(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "granularities": list(self.granularities)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Configuration:
        known = {field.name for field in fields(cls)}
        if set(values) != known:
            odd = ", ".join(sorted(set(values) ^ known))
            raise ConfigurationError(f"the report's configuration does not fit this version: {odd}")
        return cls(**{**values, "granularities": tuple(values["granularities"])})


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
