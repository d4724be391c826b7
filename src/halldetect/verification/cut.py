"""A threshold fitted to labelled responses, with a bound on false alarms.

If the labelled faithful responses and the next one come from the same distribution, the next one
is flagged with a probability of at most `risk` (split conformal prediction). The bound holds for
the verifier that gave the scores, so the file of a cut names it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halldetect.errors import ConfigurationError, InputError

SUFFIX = ".json"
# Scores have six decimals, so this is the next score above.
STEP = 1e-6


@dataclass(frozen=True, slots=True)
class Cut:
    """A fitted threshold, and the labelled responses that it was fitted to."""

    threshold: float
    risk: float  # the greatest share of faithful responses that may be flagged
    faithful: int  # labelled responses
    hallucinated: int
    found: int  # hallucinated responses that are flagged
    verifier: dict[str, str]  # its name and digests

    @property
    def note(self) -> str:
        """Return the note for reports that use the cut."""
        return (
            f"threshold {self.threshold:g}: at most {self.risk:.3g} of faithful responses are "
            f"flagged, fitted on {self.faithful} labelled faithful responses"
        )

    @property
    def json(self) -> str:
        """Return the text of its file."""
        return json.dumps(asdict(self), indent=2) + "\n"


def fit_cut(
    faithful: Sequence[float],
    hallucinated: Sequence[float],
    risk: float,
    verifier: Mapping[str, Any],
) -> Cut:
    """Return the least threshold that keeps the risk, from the scores of labelled responses.

    Raises InputError if the labels are too few for the risk, or the scores too high.
    """
    if not 0.0 < risk < 1.0:
        raise InputError(f"the risk must lie between 0 and 1, not {risk}")
    count = len(faithful)
    place = math.ceil((count + 1) * (1.0 - risk) - 1e-9)
    if place > count:
        needed = math.ceil((1.0 - risk) / risk - 1e-9)
        raise InputError(
            f"a risk of {risk:g} needs at least {needed} labelled faithful responses, not {count}"
        )
    threshold = round(sorted(faithful)[place - 1] + STEP, 6)
    if threshold > 1.0:
        raise InputError(
            f"{risk:g} of the faithful responses or more have the worst possible score: allow a "
            "greater risk, or check their labels"
        )
    found = sum(score >= threshold for score in hallucinated)
    return Cut(threshold, risk, count, len(hallucinated), found, _identity(verifier))


def read_cut(path: str, verifier: Mapping[str, Any]) -> Cut:
    """Return the cut in a file that `halldetect calibrate` wrote.

    Raises ConfigurationError if it cannot be read, or was not made with this verifier.
    """
    try:
        cut = Cut(**json.loads(Path(path).read_text(encoding="utf-8")))
        valid = 0.0 <= cut.threshold <= 1.0 and isinstance(cut.verifier, dict)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path!r}: {error.strerror}") from None
    except (ValueError, TypeError):
        valid = False
    if not valid:
        raise ConfigurationError(f"{path!r} is not a file that halldetect calibrate wrote")
    if cut.verifier != _identity(verifier):
        raise ConfigurationError(
            f"the threshold of {path!r} was fitted with other weights than those of "
            f"{verifier.get('name')}: run halldetect calibrate again"
        )
    return cut


def _identity(verifier: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(verifier[key]) for key in verifier if key == "name" or "digest" in key}
