"""The two kinds of model a detector works with, as protocols: any object that fits will do.

An extractor proposes claims (Phase I), a verifier judges claims against windows (Phase III).
`docs/extending.md` shows how to write one. `Models` is what the steps of a check need of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from halldetect.report import Probabilities

if TYPE_CHECKING:
    from halldetect.claims.extraction import Draft
    from halldetect.config import Configuration
    from halldetect.knowledge.passages import Knowledge
    from halldetect.scoring import Calibration


class Extractor(Protocol):
    """Turns a block of text into proposed claims."""

    @property
    def description(self) -> dict[str, Any]:
        """What the report records: name, model digest, prompt digest, settings.

        Plain JSON values. `name` must be there; every key that contains "digest" is compared
        when a report is replayed.
        """
        ...

    def draft(self, block: str, limit: int) -> Draft:
        """Propose claims for a block of the response.

        Args:
            block: a few sentences, one per line (without the guard: the whole response).
            limit: the greatest number of claims that are taken.

        Raises:
            ExtractionError: on failure.
        """
        ...


class Verifier(Protocol):
    """Says how a premise (a window of the source) bears on a hypothesis (a claim).

    `judge` must give a pair the same probabilities whatever the other pairs of the call are.
    A verifier may also have `pairs_at_once`, the number of pairs it wants per call, and
    `reads_whole_sources`: True if it reads a premise once for all hypotheses of a call. It is
    then asked about whole sources, and about a few short windows for the evidence.
    """

    @property
    def description(self) -> dict[str, Any]:
        """What the report records: name, digests, settings.

        Plain JSON values. `name` must be there. `languages: ["en"]` has texts in other languages
        refused; `calibration` holds the parameters of `halldetect.scoring.Calibration`,
        `operating_points` the numbers of the thresholds in `scoring.OPERATING_POINTS`.
        """
        ...

    @property
    def max_tokens(self) -> int:
        """The longest premise and hypothesis together, special tokens not counted."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special tokens not counted."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The probabilities of each (premise, hypothesis), in the order given.

        No pair has more than `max_tokens` tokens. Raises ModelError on failure.
        """
        ...


@runtime_checkable
class TokenVerifier(Verifier, Protocol):
    """A verifier that also takes texts as tokens, so that no text is tokenized twice."""

    @property
    def adds_up(self) -> bool:
        """Whether the tokens of a text are those of its parts between plain spaces.

        If not, nothing else of this protocol is used.
        """
        ...

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, special tokens left out."""
        ...

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """What `judge` gives for the texts with these tokens, special tokens left out."""
        ...


class Models(Protocol):
    """The models of a check and their options; `halldetect.Detector` has them.

    A model is loaded when it is first asked for.
    """

    @property
    def configuration(self) -> Configuration:
        """The options."""
        ...

    @property
    def extractor(self) -> Extractor:
        """Proposes claims."""
        ...

    @property
    def verifier(self) -> Verifier:
        """Judges claims."""
        ...

    @property
    def calibration(self) -> Calibration:
        """The parameters of the score."""
        ...

    @property
    def threshold(self) -> float:
        """Hallucinated at this score or above."""
        ...

    @property
    def second(self) -> Models | None:
        """The models for responses that this verifier is unsure of; None without a cascade."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What every report has to say about the models."""
        ...

    @property
    def knowledge(self) -> Knowledge | None:
        """Finds evidence; None where only the source given is read."""
        ...
