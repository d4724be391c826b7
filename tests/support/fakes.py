"""A small real extractor and verifier: plain functions of the words, no model, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from halldetect.detector import default_detector
from halldetect.protocols import Draft, Traits
from halldetect.reading.sentences import sentences
from halldetect.report import Probabilities

if TYPE_CHECKING:
    import pytest

_WORD = re.compile(r"\w+")
_NEGATIONS = frozenset("no not never none nobody nothing without".split())


class SentenceExtractor:
    """Proposes each sentence of a block as a claim, up to the limit."""

    def __init__(self) -> None:
        self.blocks: list[str] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "fake-sentences", "digest": "0" * 8}

    def draft(self, block: str, limit: int) -> Draft:
        self.blocks.append(block)
        texts = [span.cut(block) for span in sentences(block)]
        return Draft(
            claims=tuple(texts[:limit]),
            generative_passes=1,
            tokens_in=len(_WORD.findall(block)),
            tokens_out=sum(len(_WORD.findall(text)) for text in texts),
        )


class ListingExtractor:
    """Proposes a numbered list of the sentences, every second with its words in another order,
    and at the end a claim that no text makes."""

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "fake-listing", "digest": "2" * 8}

    def draft(self, block: str, limit: int) -> Draft:
        lines: list[str] = []
        for number, span in enumerate(sentences(block), 1):
            words = span.cut(block).split()
            text = " ".join(words if number % 2 else words[2:] + words[:2])
            lines.append(f"{number}. {text}")
        lines = [*lines[: max(limit - 1, 1)], "Nobody mentioned unicorns anywhere."]
        return Draft(tuple(lines), 1, len(block), sum(map(len, lines)))


class OverlapVerifier(Traits):
    """Entailed as far as the window has the claim's words; contradicted where it has most of
    them but another number or another number of negations.

    The little that is left goes to windows that share little with the claim, so that the window
    with the greatest P(E) and the one with the greatest P(C) differ where there are two.
    """

    def __init__(self, max_tokens: int = 200, *, two_way: bool = False) -> None:
        self._max_tokens = max_tokens
        self._two_way = two_way
        self.calls: list[list[tuple[str, str]]] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "fake-overlap", "digest": "1" * 8, "max_tokens": self._max_tokens}

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.append(list(pairs))
        return [self._judge(premise, hypothesis) for premise, hypothesis in pairs]

    def _judge(self, premise: str, hypothesis: str) -> Probabilities:
        window, claim = _words(premise), _words(hypothesis)
        assert len(_WORD.findall(premise)) + len(_WORD.findall(hypothesis)) <= self._max_tokens
        shared = len(window & claim) / max(1, len(claim))
        numbers = {word for word in claim if word.isdigit()}
        differs = not numbers <= window or bool(_NEGATIONS & window) != bool(_NEGATIONS & claim)
        contradiction = 0.98 * shared if differs and shared >= 0.5 else 0.01 * (1.0 - shared)
        entailment = 0.005 * (1.0 - shared) if differs else 0.98 * shared**2
        if self._two_way:
            return Probabilities(entailment, 1.0 - entailment, None)
        return Probabilities(entailment, 1.0 - entailment - contradiction, contradiction)


def use_overlap_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every detector judge with `OverlapVerifier`: all is real but the weights.

    The detector that `halldetect.check` keeps is another one meanwhile.
    """
    monkeypatch.setattr("halldetect.detector.default_detector", cache(default_detector.__wrapped__))
    monkeypatch.setattr(
        "halldetect.models.verifiers.load_verifier", lambda *_, **__: OverlapVerifier()
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
