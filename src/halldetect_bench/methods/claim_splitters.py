"""The ways in which the ablation splits responses into claims.

`whole` (the response is one claim), an extractor, groups of neighbouring claims, or a language
model that gets the prompt of the GGUF extractor.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from halldetect.claims import Claim
from halldetect.claims.extraction import Draft, Extraction, extract_claims
from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.errors import ExtractionError
from halldetect.protocols import Extractor
from halldetect.reading.document import Span
from halldetect.reading.response import read_response
from halldetect_bench.models.llm import BatchLlm, Llm, TooLong
from halldetect_bench.models.question_batches import run_together

# A list of claims that copies its text is about as long as the text, and a word is seldom more
# than two tokens.
_TOKENS_PER_WORD = 4
_EXTRA_TOKENS = 48


class ClaimSplitter(Protocol):
    """A way to split many responses into claims."""

    @property
    def description(self) -> dict[str, Any]:
        """Name and settings; part of the method's description."""
        ...

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        """The claims of each response, in order.

        responses: the texts to split.
        """
        ...


class WholeResponse:
    """No decomposition: the response is one claim."""

    description = {"name": "whole"}  # noqa: RUF012

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        """One claim per response; none where the response is blank.

        responses: the texts to split.
        """
        return [Extraction(_one_claim(text)) for text in responses]


def _one_claim(text: str) -> tuple[Claim, ...]:
    start = len(text) - len(text.lstrip())
    clean = text.strip()
    return (Claim(clean, Span(start, start + len(clean))),) if clean else ()


@dataclass(frozen=True, slots=True)
class ExtractorSplitter:
    """The claims of an extractor, checked by the guard as in the detector."""

    extractor: Extractor

    @property
    def description(self) -> dict[str, Any]:
        """The extractor's description."""
        return self.extractor.description

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        """Extract the claims of one response after the other.

        responses: the texts to split.
        """
        return [extract_claims(read_response(text), self.extractor) for text in responses]


@dataclass(frozen=True, slots=True)
class GroupedClaims:
    """`size` neighbouring claims of another splitter are judged as one, for fewer pairs."""

    splitter: ClaimSplitter
    size: int

    @property
    def description(self) -> dict[str, Any]:
        """The inner splitter's description with the group size in its name."""
        inner = self.splitter.description
        return {**inner, "name": f"{inner['name']}, groups of {self.size}"}

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        """Split with the inner splitter, then join neighbours.

        responses: the texts to split.
        """
        return [
            replace(found, claims=tuple(map(_joined, self._groups(found.claims))))
            for found in self.splitter.split(responses)
        ]

    def _groups(self, claims: Sequence[Claim]) -> list[Sequence[Claim]]:
        return [claims[at : at + self.size] for at in range(0, len(claims), self.size)]


def _joined(claims: Sequence[Claim]) -> Claim:
    if len(claims) == 1:
        return claims[0]
    text = " ".join(claim.text for claim in claims)
    return Claim(text, None, "several claims are judged as one")


@dataclass(frozen=True, slots=True)
class LlmSplitter:
    """The claims of a language model as it writes them; in batches where it takes them.

    Behind the guard they would be parts of sentences, and sentences would be measured.
    """

    llm: Llm
    seed: int = 0

    @property
    def description(self) -> dict[str, Any]:
        """The description of the extractor that asks the model."""
        return LlmExtractor(self.llm, seed=self.seed).description

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        """Ask the model for the claims of all responses.

        responses: the texts to split.
        """

        def extract(text: str, llm: Llm) -> Extraction:
            extractor = LlmExtractor(llm, seed=self.seed)
            made = extract_claims(read_response(text), extractor, guard=False)
            return replace(made, claims=tuple(c for c in made.claims if c.problem is None))

        if isinstance(self.llm, BatchLlm):
            return run_together(self.llm, responses, extract)
        return [extract(text, self.llm) for text in responses]


class LlmExtractor:
    """An extractor that asks any language model of the evaluation."""

    def __init__(self, llm: Llm, *, seed: int = 0) -> None:
        """llm: the model to ask. seed: of its answers."""
        self._llm = llm
        self._seed = seed

    @property
    def description(self) -> dict[str, Any]:
        """The model's description, the prompt's digest and the settings."""
        model = self._llm.description
        return {
            "name": model["name"],
            **{f"model_{key}": value for key, value in model.items() if key != "name"},
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        """Propose the claims of a block.

        block: a part of a response. limit: the greatest number of claims.
        """
        text = prompt.prepare(block)
        if not text or limit < 1:
            return Draft(())
        room = min(MAX_NEW_TOKENS, _TOKENS_PER_WORD * len(text.split()) + _EXTRA_TOKENS)
        try:
            reply = self._llm.ask(
                prompt.messages(text, limit),
                max_tokens=room,
                temperature=TEMPERATURE,
                seed=self._seed,
                stop=STOP,
            )
        except TooLong as error:
            raise ExtractionError(str(error)) from error
        # An incomplete last line may say something the model did not mean.
        lines = reply.text if reply.finished else reply.text.rpartition("\n")[0]
        return Draft(prompt.parse(lines, limit), 1, reply.tokens_in, reply.tokens_out)


class BatchedExtractor(LlmExtractor):
    """Asks a language model about many responses at once, and keeps its answers."""

    def __init__(self, llm: Llm, *, seed: int = 0, guard: bool = False) -> None:
        """llm: the model to ask. seed: of its answers.
        guard: whether the detector checks the claims; it then asks about parts of a response.
        """
        super().__init__(llm, seed=seed)
        self._guard = guard
        self._known: dict[tuple[str, int], Draft] = {}

    def prepare(self, responses: Sequence[str]) -> None:
        """Ask about all responses; `draft` then has the answers.

        responses: the texts to split.
        """
        if isinstance(self._llm, BatchLlm):
            run_together(self._llm, list(dict.fromkeys(responses)), self._ask)

    def _ask(self, response: str, llm: Llm) -> None:
        # What cannot be extracted is found out again, and reported, when it is asked for.
        with suppress(ExtractionError):
            asking = KeepingExtractor(LlmExtractor(llm, seed=self._seed), self._known)
            extract_claims(read_response(response), asking, guard=self._guard)

    def draft(self, block: str, limit: int) -> Draft:
        """The claims of a text, asked for now unless `prepare` has.

        block: the text. limit: the greatest number of claims.
        """
        known = self._known.get((block, limit))
        return super().draft(block, limit) if known is None else known


@dataclass(frozen=True, slots=True)
class KeepingExtractor:
    """An extractor whose answers are kept.

    extractor: answers. answers: gets each answer, by the text and the limit.
    """

    extractor: Extractor
    answers: dict[tuple[str, int], Draft]

    @property
    def description(self) -> dict[str, Any]:
        """The extractor's description."""
        return self.extractor.description

    def draft(self, block: str, limit: int) -> Draft:
        """The claims of a text.

        block: the text. limit: the greatest number of claims.
        """
        found = self.answers[block, limit] = self.extractor.draft(block, limit)
        return found
