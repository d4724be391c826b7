"""The interfaces of a check: protocols of models, and events for callers.

Any object that fits a protocol works; `docs/extending.md` shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from halldetect.reading.claims import Claim
from halldetect.report import ClaimReport, Probabilities, WrongWords

# Receives the phase, the amount done and the total: "fetch" and "convert" of a model in bytes,
# "extract" in responses, "verify", "explain" and "proof" in tokens. Totals are estimates.
Progress = Callable[[str, int, int], None]


class Traits(Protocol):
    """What a verifier may declare; a class that derives from this one has the defaults.

    Attributes:
        pairs_at_once: The number of pairs it wants per call; 0 for about a second of work.
        reads_whole_sources: True if it reads a premise once for all hypotheses of a call. It is
            then asked about whole sources first, and about short windows only for the evidence.
    """

    pairs_at_once: int = 0
    reads_whole_sources: bool = False

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that the model cannot read: no claim with one is judged."""
        return []


@runtime_checkable
class Verifier(Traits, Protocol):
    """Judges a claim (hypothesis) against a window of the source (premise).

    `judge` must give a pair the same probabilities in any call.
    """

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report: name, digests, settings, as plain JSON values.

        `name` is required. `languages: ["en"]` refuses texts in other languages, `calibration`
        holds the parameters of `halldetect.scoring.Calibration`, `operating_points` the numbers
        of the named thresholds. Keys that contain "digest" are compared on a replay.
        """
        ...

    @property
    def max_tokens(self) -> int:
        """Return the longest premise and hypothesis together, without special tokens."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the probabilities of each (premise, hypothesis), in the order given.

        No pair has more than `max_tokens` tokens. Raises ModelError on failure.
        """
        ...


class _WithDefaults(Traits):
    """A verifier of a caller, with the defaults of the traits that it does not declare."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        for name in ("pairs_at_once", "reads_whole_sources", "unknown_words"):
            if hasattr(plain, name):
                setattr(self, name, getattr(plain, name))

    @property
    def description(self) -> dict[str, Any]:
        described: dict[str, Any] = self._plain.description
        return described

    @property
    def max_tokens(self) -> int:
        return int(self._plain.max_tokens)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return list(self._plain.count_tokens(texts))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return list(self._plain.judge(pairs))


def with_defaults(verifier: Any) -> Verifier:
    """Return a verifier with all traits; other code may then read them without looking."""
    return verifier if isinstance(verifier, Verifier) else _WithDefaults(verifier)


# Returns the wrong words of a claim, given the texts of the documents. A claim with such words
# loses half of its support.
Rule = Callable[[ClaimReport, Sequence[str]], Iterable[WrongWords]]


@dataclass(frozen=True, slots=True)
class Draft:
    """The claims that an extractor proposes for a response, and the cost."""

    claims: tuple[str, ...]
    generative_passes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Extractor(Protocol):
    """Writes the claims of a response, for the paper's method."""

    @property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report, as for `Verifier`."""
        ...

    def draft(self, response: str, limit: int) -> Draft:
        """Propose at most `limit` claims. Raises ExtractionError on failure."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimsExtracted:
    """An event: the claims of one pair, by the index of the pair in the call."""

    pair: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ClaimSettled:
    """An event: a claim needs no more windows for now.

    A claim that is judged again is reported again. The last event agrees with the report.
    """

    pair: int
    index: int
    claim: ClaimReport


Event = ClaimsExtracted | ClaimSettled
Observe = Callable[[Event], None]
