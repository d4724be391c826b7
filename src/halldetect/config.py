"""The options of a check: the only list of them.

`Configuration` has a field for every option, and the field carries all that the command line, the
service and the client need to offer it (see `Option`). A new option is a new field here, the same
name in `Settings`, and the code that acts on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import Any, TypedDict, Unpack

from halldetect.errors import ConfigurationError
from halldetect.scoring import OPERATING_POINTS, SCORINGS
from halldetect.verification.presets import DEFAULT
from halldetect.verification.scales import GRANULARITIES

# Beyond these sizes a check on an ordinary machine takes hours: it is refused at once.
MAX_SOURCE = 1_000_000
MAX_RESPONSE = 200_000
# The paper's extractors have 7 to 9 billion parameters; this one is the best of ours that an
# ordinary machine runs.
PAPER_EXTRACTOR = "qwen2.5-coder-1.5b"
PAPER_VERIFIER = "deberta-v3-large"
DEVICES = ("auto", "cpu", "cuda", "mps")
# Where support and its absence weigh the same.
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Option:
    """An option as a command line, a service or a client offers it.

    name         the field of `Configuration`
    flag         on the command line; None where it is not offered there
    help         a line of help, without the default
    parse        from text to the value; raises ValueError, whose text says what is wrong
    default      of `Configuration`
    metavar      the value in a usage line
    choices      the values there are; empty where any will do
    sets         for a flag without a value: the value that it sets, else None
    per_request  whether one request to the service may set it
    paper        the value that the paper's settings fix; None where they fix none
    """

    name: str
    flag: str | None
    help: str
    parse: Callable[[str], Any]
    default: Any
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    sets: bool | None = None
    per_request: bool = False
    paper: Any = None

    @property
    def default_text(self) -> str | None:
        """The default as one would write it on the command line; None where that says nothing."""
        if self.default is None or self.sets is not None:
            return None
        if isinstance(self.default, tuple):
            return ",".join(map(str, self.default))
        return str(self.default)


def _option(
    default: Any,
    help: str,
    *,
    flag: str | None,
    parse: Callable[[str], Any] = str,
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
    sets: bool | None = None,
    per_request: bool = False,
    paper: Any = None,
) -> Any:
    """A field of `Configuration`; the arguments are those of `Option`."""
    metadata = {
        "help": help,
        "flag": flag,
        "parse": parse,
        "metavar": metavar,
        "choices": choices,
        "sets": sets,
        "per_request": per_request,
        "paper": paper,
    }
    return field(default=default, metadata=metadata)


def parse_scales(text: str) -> tuple[int, ...]:
    """The numbers of a list such as "1,2,4"."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 1,2,4") from None


def parse_threshold(text: str) -> float | str:
    """A number, or the name of an operating point."""
    if text in OPERATING_POINTS:
        return text
    try:
        return float(text)
    except ValueError:
        names = ", ".join(OPERATING_POINTS)
        raise ValueError(f"{text!r} is neither a number nor one of {names}") from None


def parse_switch(text: str) -> bool:
    """The value of "true" or "false"."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.strip().lower() == "true"


class Settings(TypedDict, total=False):
    """The fields of `Configuration` that name no model and no index; each may be left out."""

    device: str
    fallback: str | None
    scoring: str
    threshold: float | str
    granularities: Sequence[int]
    guard: bool
    truncate: bool
    exact: bool
    seed: int
    threads: int | None
    max_source: int
    max_response: int


class Overrides(Settings, total=False):
    """The fields of `Configuration`, each of which may be left out."""

    extractor: str
    verifier: str | None
    knowledge: str | None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The options of a check, as plain values: `Detector.from_provenance` needs no more.

    extractor, verifier  names; None is the embedded verifier. An object that the caller passed
                         in is recorded as "object:TYPE" and cannot be rebuilt from here
    scoring              which score decides: "calibrated", or "fed", the paper's
    device               where `large` and transformers models compute: a name of `DEVICES`.
                         "auto" takes a GPU if PyTorch finds one; other verifiers use the CPU
    fallback             the verifier to use if the one that was asked for cannot be loaded; None:
                         that is an error
    threshold            hallucinated at this score or above; or a name of
                         `scoring.OPERATING_POINTS`, whose number the verifier brings
    granularities        into how many groups the sentences of a document are cut, per scale
    guard                keep claims faithful to the response, whatever the extractor says
    truncate             cut windows the verifier cannot read whole, as the paper does,
                         instead of judging all their parts
    exact                judge every pair; without it, those that can change the outcome (see
                         `verification.schedule`). The scoring "fed" needs every pair anyway
    seed                 of a generative extractor
    threads              None: as many as there are cores
    knowledge            the path of an index that evidence is retrieved from; None: only the
                         source given is read
    max_source,
    max_response         characters beyond which a check is refused
    """

    extractor: str = _option(
        "auto",
        "what extracts the claims; see the list of extractors",
        flag="--extractor",
        metavar="NAME",
        per_request=True,
    )
    verifier: str | None = _option(
        None,
        "what judges them; see the list of verifiers (default: the one in the package)",
        flag="--verifier",
        metavar="NAME",
        per_request=True,
    )
    device: str = _option(
        "auto",
        "where large and transformers models compute",
        flag="--device",
        choices=DEVICES,
    )
    fallback: str | None = _option(
        None,
        "the verifier to use if the one asked for cannot be loaded (default: an error)",
        flag="--fallback",
        metavar="NAME",
    )
    scoring: str = _option(
        "calibrated",
        "which score decides, ours or the paper's",
        flag="--scoring",
        choices=tuple(SCORINGS),
        per_request=True,
        paper="fed",
    )
    threshold: float | str = _option(
        DEFAULT_THRESHOLD,
        "hallucinated at this score or above: a number, or recall, balanced or precision, whose "
        "numbers were fitted for the verifier",
        flag="--threshold",
        parse=parse_threshold,
        metavar="T",
        per_request=True,
        paper=0.5,
    )
    granularities: tuple[int, ...] = _option(
        GRANULARITIES,
        "into how many groups the source is cut",
        flag="--granularities",
        parse=parse_scales,
        metavar="M,M,...",
    )
    guard: bool = _option(
        True,
        "take the claims of the extractor as they are",
        flag="--no-guard",
        parse=parse_switch,
        sets=False,
        paper=False,
    )
    truncate: bool = _option(
        False,
        "cut off windows that are too long instead of judging all their parts",
        flag=None,
        parse=parse_switch,
        sets=True,
        paper=True,
    )
    exact: bool = _option(
        False,
        "judge every pair of claim and window, needed or not",
        flag="--exact",
        parse=parse_switch,
        sets=True,
        per_request=True,
        paper=True,
    )
    seed: int = _option(0, "seed of the extractor", flag="--seed", parse=int, metavar="N")
    threads: int | None = _option(
        None,
        "threads per model (default: as many as there are cores)",
        flag="--threads",
        parse=int,
        metavar="N",
    )
    knowledge: str | None = _option(
        None,
        "an index (see index build), a file or postgresql://..., that evidence for each claim is "
        "retrieved from",
        flag="--knowledge",
        metavar="INDEX",
    )
    max_source: int = _option(
        MAX_SOURCE,
        "refuse a source of more characters",
        flag="--max-source",
        parse=int,
        metavar="N",
    )
    max_response: int = _option(
        MAX_RESPONSE,
        "refuse a response of more characters",
        flag="--max-response",
        parse=int,
        metavar="N",
    )

    def __post_init__(self) -> None:
        if self.scoring not in SCORINGS:
            raise ConfigurationError(
                f"unknown scoring {self.scoring!r}: use {' or '.join(SCORINGS)}"
            )
        self._check_threshold()
        if self.device not in DEVICES:
            raise ConfigurationError(
                f"unknown device {self.device!r}: use one of {', '.join(DEVICES)}"
            )
        scales = self.granularities
        if not scales or any(not _is_whole(m) or m < 1 for m in scales):
            raise ConfigurationError(f"granularities must be whole numbers from 1 up, not {scales}")
        if not _is_whole(self.seed) or not 0 <= self.seed < 2**32:
            raise ConfigurationError(f"seed must be a whole number below 2^32, not {self.seed}")
        for name in ("threads", "max_source", "max_response"):
            value = getattr(self, name)
            if value is not None and (not _is_whole(value) or value < 1):
                raise ConfigurationError(f"{name} must be a whole number from 1 up, not {value}")
        object.__setattr__(self, "granularities", tuple(sorted(set(scales))))

    def _check_threshold(self) -> None:
        if isinstance(self.threshold, str):
            names = ", ".join(OPERATING_POINTS)
            if self.threshold not in OPERATING_POINTS:
                raise ConfigurationError(
                    f"threshold must be a number or one of {names}, not {self.threshold!r}"
                )
            if self.scoring != "calibrated":
                raise ConfigurationError(
                    f"the threshold {self.threshold} was fitted for the scoring calibrated, not "
                    f"for {self.scoring}: give a number"
                )
            return
        if not (_is_number(self.threshold) and 0.0 <= self.threshold <= 1.0):
            raise ConfigurationError(f"threshold must lie between 0 and 1, not {self.threshold}")
        object.__setattr__(self, "threshold", float(self.threshold))

    @classmethod
    def paper(cls, **overrides: Unpack[Overrides]) -> Configuration:
        """The paper's settings: no guard, truncation, every pair, FED at 0.5.

        The claims are written by a language model (the paper's three have names too), and judged
        by the paper's verifier or, where it cannot be loaded, by the one in the package, with a
        note in the report. Both, and all that the paper leaves open, may be overridden. Raises
        ConfigurationError for an option that the paper fixes.
        """
        fixed = {option.name: option.paper for option in options() if option.paper is not None}
        for name, value in overrides.items():
            if name in fixed and value != fixed[name]:
                raise ConfigurationError(f"the paper's settings fix {name}: leave it out")
        chosen: Overrides = {"extractor": PAPER_EXTRACTOR}
        if overrides.get("verifier") is None:
            chosen |= {"verifier": PAPER_VERIFIER, "fallback": DEFAULT}
        given = {name: value for name, value in overrides.items() if value is not None}
        return cls().replaced(**{**chosen, **given, **fixed})

    def replaced(self, **overrides: Unpack[Overrides]) -> Configuration:
        """This configuration with some fields set otherwise."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        unknown = sorted(set(overrides) - set(values))
        if unknown:
            raise TypeError(f"there is no option {', '.join(unknown)}")
        values.update(overrides)
        return Configuration(**{**values, "granularities": tuple(values["granularities"])})

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**plain, "granularities": list(self.granularities)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Configuration:
        """The configuration that a report records."""
        known = {item.name for item in fields(cls)}
        if set(values) != known:
            odd = ", ".join(sorted(set(values) ^ known))
            raise ConfigurationError(f"the report's configuration does not fit this version: {odd}")
        return cls(**{**values, "granularities": tuple(values["granularities"])})


@cache
def options() -> tuple[Option, ...]:
    """Every option of `Configuration`, in the order of its fields."""
    return tuple(
        Option(name=item.name, default=_default(item), **item.metadata)
        for item in fields(Configuration)
    )


def _default(item: Field[Any]) -> Any:
    assert item.default is not MISSING
    return item.default


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
