"""Hostile responses and extractors: no assertion escapes, and none is invented by the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halldetect import Detector
from halldetect.errors import HallDetectError
from halldetect.paper.extract import extract_claims
from halldetect.protocols import Draft, Extractor
from halldetect.reading.claims import Claim, read_claims
from halldetect.reading.document import Document, Span
from halldetect.reading.response import read_response
from halldetect.reading.words import FUNCTION_WORDS, words
from tests.support.fakes import OverlapVerifier
from tests.support.paths import DATA

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "injections.jsonl").read_text().splitlines()
]


def norms(claims: tuple[Claim, ...]) -> set[str]:
    return {word.norm for claim in claims for word in words(claim.text)} - FUNCTION_WORDS


def covers(span: Span | None, place: Span) -> bool:
    return span is not None and span.start < place.end and place.start < span.end


def known(word: str, said: set[str]) -> bool:
    return any(word.rstrip("s") == other.rstrip("s") for other in said)


def places(case: dict[str, Any]) -> list[tuple[str, Span]]:
    starts = [(snippet, case["response"].index(snippet)) for snippet in case["must_cover"]]
    return [(snippet, Span(at, at + len(snippet))) for snippet, at in starts]


def test_suite_is_large_and_varied() -> None:
    assert len(CASES) >= 45
    assert len({case["kind"] for case in CASES}) >= 40
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["must_cover"] for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_assertion_becomes_a_claim(case: dict[str, Any]) -> None:
    claims = read_claims(read_response(case["response"]))
    assert all(claim.span is not None and claim.text.strip() for claim in claims)
    for snippet, place in places(case):
        said = norms(tuple(claim for claim in claims if covers(claim.span, place)))
        # Read alone, so that both sides are normalised.
        wanted = norms(read_claims(read_response(snippet))) - {"|"}
        assert wanted
        assert [word for word in sorted(wanted) if not known(word, said)] == [], snippet


HOSTILE: dict[str, tuple[str, ...]] = {
    "blank": ("", "   ", "- ", "1."),
    "invents": ("The lighthouse burned down in 1902", "Dragons guard the tower"),
    "echoes": ("List the claims of this text:", "Claims:"),
    "refuses": ("I'm sorry, but I cannot help with that.",),
    "ten-thousand-lines": tuple(f"Claim number {n} is true" for n in range(10_000)),
    "huge-line": ("dragons " * 5_000,),
    "binary": ("\x00\x01\x02", "\ud800", "\u202e\u200b"),
}


class Hostile:
    """Proposes given lines for every response."""

    description: dict[str, Any] = {"name": "hostile"}  # noqa: RUF012

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines

    def draft(self, response: str, limit: int) -> Draft:
        return Draft(self.lines, generative_passes=1)


def hidden(response: Document, claims: tuple[Claim, ...]) -> list[str]:
    """Return the asserting sentences that no claim comes from."""
    return [
        unit.text
        for unit in response.units
        if unit.asserts and not any(covers(claim.span, unit.span) for claim in claims)
    ]


@pytest.mark.parametrize("behaviour", sorted(HOSTILE))
def test_hostile_extractor_hides_no_sentence(behaviour: str) -> None:
    for case in CASES[::4]:
        document = read_response(case["response"])
        claims = extract_claims(document, Hostile(HOSTILE[behaviour]))[0]
        assert sum(claim.problem is None for claim in claims) <= 10
        assert not claims or hidden(document, claims) == [], case["id"]


def test_hostile_extractor_makes_nothing_faithful() -> None:
    source = "The lighthouse was built in 1871."
    for lines in HOSTILE.values():
        detector = Detector.paper(Hostile(lines), OverlapVerifier())
        report = detector.check(source, "Dragons built it in 1950. Whales sing in the harbour.")
        assert not report.ok


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::15], ids=[case["id"] for case in CASES[::15]])
def test_real_model_hides_no_sentence(case: dict[str, Any]) -> None:
    from halldetect.paper.extractors import load_extractor

    try:
        model: Extractor = load_extractor("gguf:smollm2-135m", threads=1)
    except HallDetectError as error:
        pytest.skip(f"the model is not available: {error}")
    document = read_response(case["response"])
    claims = extract_claims(document, model)[0]
    assert not claims or hidden(document, claims) == []
