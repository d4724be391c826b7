"""The options of a check, in a single list.

A field of `Configuration` has everything that command line, service and client need to offer the
option (see `Option`). A new option needs a field here and the same name in `Settings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypedDict

from halldetect.errors import ConfigurationError, name_advice
from halldetect.report import ErrorKind
from halldetect.scoring import OPERATING_POINTS
from halldetect.verification.cut import SUFFIX
from halldetect.verification.presets import DEFAULT, PAPER

# Larger texts take hours on an ordinary machine, so they are refused.
MAX_SOURCE = 1_000_000
MAX_RESPONSE = 200_000
# The paper's extractors have 7 to 9 billion parameters; this one measures best of those that an
# ordinary machine runs.
PAPER_EXTRACTOR = "qwen2.5-coder-0.5b"
ON_UNCHECKED = ("report", "fail")
DEVICES = ("auto", "cpu", "cuda", "mps")
_A_THRESHOLD = f"a number, one of {', '.join(OPERATING_POINTS)}, or a {SUFFIX} file"
# Support and its absence have equal weight.
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Option:
    """An option as a command line, a service or a client offers it."""

    name: str
    default: Any
    help: str  # without the default
    metavar: str | None = None
    parse: Callable[[str], Any] = str  # raises ValueError with an explanation
    choices: tuple[str, ...] = ()  # empty if any value is allowed

    @property
    def flag(self) -> str | None:
        """Return the flag on the command line, which has its own one for the paper's method."""
        return None if self.name == "paper" else f"--{self.name.replace('_', '-')}"

    @property
    def default_text(self) -> str | None:
        """Return the default as written on the command line, or None."""
        return None if self.default is None or self.flag is None else str(self.default)


def _option(
    default: Any, help: str, metavar: str | None = None, hash: bool | None = None, **about: Any
) -> Any:
    """Declare a field of `Configuration`; the arguments are those of `Option`."""
    return field(default=default, hash=hash, metadata={"help": help, "metavar": metavar, **about})


def parse_threshold(text: str) -> float | str:
    """Return a number, the name of an operating point, or the path of a fitted threshold."""
    if _is_named(text):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not {_A_THRESHOLD}") from None


def parse_error_types(text: str) -> dict[str, str]:
    """Return the labels of "number=E1,date=E2" by kind of error."""
    pairs = (part.partition("=") for part in re.split(",(?=[^,=]*=)", text))
    return {kind.strip(): label.strip() for kind, _, label in pairs}


class Settings(TypedDict, total=False):
    """The optional fields of `Configuration` that name no model and no index."""

    device: str
    fallback: str | None
    threshold: float | str
    seed: int
    threads: int | None
    max_source: int
    max_response: int
    on_unchecked: str
    error_types: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The options of a check as plain values, enough for `Detector.from_provenance`.

    The help of a field explains it. A model that the caller passed in as an object is recorded as
    "object:TYPE" and cannot be rebuilt from here. A threshold may also be the path of a file that
    `halldetect calibrate` wrote. The device "auto" is a GPU if PyTorch finds one.
    """

    verifier: str | None = _option(
        None,
        "judges the claims; see the list of verifiers (default: the one in the package)",
        "NAME",
    )
    device: str = _option("auto", "where large and transformers models compute", choices=DEVICES)
    fallback: str | None = _option(
        None,
        "the verifier to use if the one asked for cannot be loaded (default: an error)",
        "NAME",
    )
    threshold: float | str = _option(
        DEFAULT_THRESHOLD,
        "hallucinated at this score or above: a number, a point fitted for the verifier (recall, "
        "balanced, precision), or a file of `calibrate`",
        "T",
        parse=parse_threshold,
    )
    threads: int | None = _option(
        None, "threads per model (default: as many as there are cores)", "N", parse=int
    )
    knowledge: str | None = _option(
        None, "retrieve evidence for each claim from this index (see index build)", "INDEX"
    )
    max_source: int = _option(MAX_SOURCE, "refuse a source of more characters", "N", parse=int)
    max_response: int = _option(
        MAX_RESPONSE, "refuse a response of more characters", "N", parse=int
    )
    on_unchecked: str = _option(
        "report",
        "if a part that may assert something was not judged: report it, or fail as uncheckable",
        choices=ON_UNCHECKED,
    )
    error_types: Mapping[str, str] | None = _option(
        None,
        "your labels for kinds of error (docs/claims.md): number=LABEL,date=LABEL",
        "KIND=LABEL,...",
        parse=parse_error_types,
        hash=False,
    )
    paper: bool = _option(False, "use the paper's method")
    extractor: str | None = _option(
        None,
        "the language model that writes the claims, with --paper; see the list of extractors",
        "NAME",
    )
    seed: int = _option(0, "seed of the extractor", "N", parse=int)

    def __post_init__(self) -> None:
        self._check_threshold()
        for name, known in (("device", DEVICES), ("on_unchecked", ON_UNCHECKED)):
            value = getattr(self, name)
            if value not in known:
                raise ConfigurationError(f"unknown {name} {value!r}: use one of {', '.join(known)}")
        self._check_error_types()
        if type(self.seed) is not int or not 0 <= self.seed < 2**32:
            raise ConfigurationError(f"seed must be a whole number below 2^32, not {self.seed}")
        for name in ("threads", "max_source", "max_response"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigurationError(f"{name} must be a whole number from 1 up, not {value}")
        if self.extractor is not None and not self.paper:
            raise ConfigurationError("an extractor is used by the paper's method only: add --paper")

    def _check_error_types(self) -> None:
        given: Any = {} if self.error_types is None else self.error_types
        for kind, label in given.items() if isinstance(given, Mapping) else [(given, None)]:
            if kind not in [*ErrorKind] or not isinstance(label, str) or not label.strip():
                raise ConfigurationError(
                    f"error_types cannot label {kind!r} as {label!r}; kinds: {', '.join(ErrorKind)}"
                )
        object.__setattr__(self, "error_types", dict(given) or None)

    def _check_threshold(self) -> None:
        if isinstance(self.threshold, str):
            if not _is_named(self.threshold):
                raise ConfigurationError(
                    f"threshold must be {_A_THRESHOLD}, not {self.threshold!r}"
                )
            if self.paper:
                raise ConfigurationError(
                    f"the threshold {self.threshold} was not fitted for the paper's score: give a "
                    "number"
                )
            return
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not (number and 0.0 <= self.threshold <= 1.0):
            raise ConfigurationError(f"threshold must lie between 0 and 1, not {self.threshold}")
        object.__setattr__(self, "threshold", float(self.threshold))

    @classmethod
    def for_paper(cls, **overrides: Any) -> Configuration:
        """Return the settings of the paper, with its models unless others are named.

        If the paper's verifier cannot be loaded, the one in the package replaces it, with a note
        in the report.
        """
        chosen: dict[str, Any] = {"extractor": PAPER_EXTRACTOR}
        if overrides.get("verifier") is None:
            chosen |= {"verifier": PAPER, "fallback": DEFAULT}
        given = {name: value for name, value in overrides.items() if value is not None}
        return cls().replaced(**{**chosen, **given, "paper": True})

    def replaced(self, **overrides: Any) -> Configuration:
        """Return this configuration with some fields changed."""
        values = self.to_dict()
        unknown = sorted(set(overrides) - set(values))
        if unknown:
            raise TypeError(f"unknown option {unknown[0]}; {name_advice(unknown[0], [*values])}")
        return Configuration(**{**values, **overrides})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Configuration:
        """Return the configuration that a report records."""
        known = {item.name for item in fields(cls)}
        if set(values) != known:
            odd = ", ".join(sorted(set(values) ^ known))
            raise ConfigurationError(f"the report's configuration does not fit this version: {odd}")
        return cls(**values)


@cache
def options() -> tuple[Option, ...]:
    """Return every option of `Configuration`, in the order of its fields."""
    return tuple(
        Option(name=item.name, default=item.default, **item.metadata)
        for item in fields(Configuration)
    )


def _is_named(threshold: str) -> bool:
    return threshold in OPERATING_POINTS or threshold.endswith(SUFFIX)
