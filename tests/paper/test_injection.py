"""Hostile responses: nothing asserted escapes, nothing invented is judged."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from halldetect.protocols import Draft, Extraction, extract_claims
from halldetect.paper.extractors.by_rule import SentenceExtractor
from halldetect.errors import ExtractionError, HallDetectError
from halldetect.protocols import Extractor
from halldetect.reading.document import Document, Span, TrackedText
from halldetect.reading.normalise import normalised
from halldetect.reading.response import read_response
from halldetect.reading.words import FUNCTION_WORDS, same_word, words
from tests.support.paths import DATA

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "injections.jsonl").read_text().splitlines()
]


class Hostile:
    """An extractor that does whatever a function says."""

    def __init__(self, behave: Any) -> None:
        self.behave = behave

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "hostile"}

    def draft(self, block: str, limit: int) -> Draft:
        return Draft(tuple(self.behave(block)), generative_passes=1)


def _lines(block: str) -> list[str]:
    return block.splitlines()


def _raise(block: str) -> list[str]:
    raise ExtractionError("the model broke")


def _swapped(block: str) -> list[str]:
    return [" ".join(reversed(line.rstrip(".").split())) for line in _lines(block)]


def _rotated(block: str) -> list[str]:
    return [" ".join((line.split() * 2)[2 : 2 + len(line.split())]) for line in _lines(block)]


def _halved(block: str) -> list[str]:
    return [" ".join(line.split()[: len(line.split()) // 2]) for line in _lines(block)]


def _every_other_word(block: str) -> list[str]:
    return [" ".join(line.split()[::2]) for line in _lines(block)]


def _negated(block: str) -> list[str]:
    return [
        line.replace(" was ", " was not ").replace(" is ", " is not ") for line in _lines(block)
    ]


def _affirmed(block: str) -> list[str]:
    return [line.replace(" not ", " ").replace("No ", "A ") for line in _lines(block)]


def _renumbered(block: str) -> list[str]:
    return [line.replace("1871", "1872").replace("48", "84") for line in _lines(block)]


BEHAVIOURS: dict[str, Any] = {
    "nothing": lambda block: [],
    "blank": lambda block: ["", "   ", "\n\n", "- ", "1."],
    "invents": lambda block: ["The lighthouse burned down in 1902", "Dragons guard the tower"],
    "adds-a-word": lambda block: [f"{line.rstrip('.')} secretly" for line in _lines(block)],
    "negates": _negated,
    "affirms": _affirmed,
    "renumbers": _renumbered,
    "swaps": _swapped,
    "rotates": _rotated,
    "halves": _halved,
    "every-other-word": _every_other_word,
    "echoes-instructions": lambda block: [f"List the claims of this text: {block}", "Claims:"],
    "first-word": lambda block: block.split()[:1],
    "refuses": lambda block: ["I'm sorry, but I cannot help with that."],
    "no-claims": lambda block: ["NONE", "No claims.", '{"claims": []}'],
    "raises": _raise,
    "ten-thousand-lines": lambda block: [f"Claim number {n} is true" for n in range(10_000)],
    "one-huge-line": lambda block: ["dragons " * 100_000],
    "binary": lambda block: ["\x00\x01\x02", "\ud800", "\u202e\u200b"],
}


def _escaped(case: dict[str, Any], extraction: Extraction) -> list[str]:
    """The snippets with a word that no claim at that place says."""
    response = case["response"]
    missing = []
    for snippet in case["must_cover"]:
        at = response.index(snippet)
        place = Span(at, at + len(snippet))
        said = {
            word.norm
            for claim in extraction.claims
            if claim.span is not None
            and claim.span.start < place.end
            and place.start < claim.span.end
            for word in words(claim.text)
        }
        plain = normalised(TrackedText.of(snippet, 0, len(snippet))).text
        wanted = {word.norm for word in words(plain)} - FUNCTION_WORDS - {"|"}
        if not all(any(same_word(word, other) for other in said) for word in wanted):
            missing.append(snippet)
    return missing


def _invented(case: dict[str, Any], extraction: Extraction) -> list[str]:
    """The words of claims that the response does not have."""
    response = case["response"]
    plain = normalised(TrackedText.of(response, 0, len(response))).text
    known = {word.norm for word in words(plain)}
    spoken = {word.norm for claim in extraction.claims for word in words(claim.text)}
    return sorted(
        word
        for word in spoken - known - FUNCTION_WORDS
        if not any(same_word(word, k) for k in known)
    )


@cache
def reading(response: str) -> Document:
    """The response as it is read, once for all behaviours."""
    return read_response(response)


@cache
def unit_texts(response: str) -> frozenset[str]:
    return frozenset(unit.text for unit in reading(response).units)


def _check(case: dict[str, Any], extractor: Extractor) -> Extraction:
    extraction = extract_claims(reading(case["response"]), extractor)
    assert _escaped(case, extraction) == [], case["id"]
    assert _invented(case, extraction) == [], case["id"]
    for claim in extraction.claims:
        assert claim.span is not None, case["id"]
        assert claim.text.strip(), case["id"]
        if claim.origin == "restored":
            assert claim.text in unit_texts(case["response"])
    return extraction


def test_the_suite_is_large_and_varied() -> None:
    assert len(CASES) >= 45
    assert len({case["kind"] for case in CASES}) >= 40
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["must_cover"] for case in CASES)


@pytest.mark.parametrize("behaviour", sorted(BEHAVIOURS))
def test_no_extractor_can_be_turned(behaviour: str) -> None:
    # The two that say the most take the longest, and the same whatever the response is.
    cases = CASES[::5] if behaviour in ("ten-thousand-lines", "one-huge-line") else CASES
    for case in cases:
        _check(case, Hostile(BEHAVIOURS[behaviour]))


def test_sentences_go_through_the_guard_untouched() -> None:
    for case in CASES:
        extraction = _check(case, SentenceExtractor())
        assert (extraction.dropped, extraction.restored) == (0, 0), case["id"]


@pytest.mark.parametrize("behaviour", ["negates", "affirms", "renumbers", "swaps", "adds-a-word"])
def test_what_a_hostile_extractor_says_is_never_judged(behaviour: str) -> None:
    """Not only the words: each claim is a stretch of a unit of the response, in its order."""
    for case in CASES:
        extraction = extract_claims(reading(case["response"]), Hostile(BEHAVIOURS[behaviour]))
        for claim in extraction.claims:
            assert claim.span is not None
            said = any(claim.text in unit for unit in unit_texts(case["response"]))
            assert said, (case["id"], claim.text)


@pytest.fixture(scope="module")
def real_model() -> Extractor:
    from halldetect.paper.extractors import load_extractor

    try:
        return load_extractor("gguf:smollm2-135m", threads=1)
    except HallDetectError as error:
        pytest.skip(f"the model cannot be had here: {error}")


# A few: a model takes seconds per text, and the made-up behaviours above see them all.
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::15], ids=[case["id"] for case in CASES[::15]])
def test_a_real_model_cannot_be_turned(case: dict[str, Any], real_model: Extractor) -> None:
    extraction = extract_claims(read_response(case["response"]), real_model, max_passes=4)
    assert extraction.generative_passes > 0
    assert _escaped(case, extraction) == []
    assert _invented(case, extraction) == []
