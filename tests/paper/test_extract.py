"""Claims of a language model: cleaned, limited, located; sentences without one are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.errors import ExtractionError
from halldetect.paper.extract import claim_limit, clean_line, extract_claims
from halldetect.paper.extractors import SentenceExtractor
from halldetect.protocols import Draft, Extractor
from halldetect.reading.claims import Claim
from halldetect.reading.document import Span
from halldetect.reading.response import read_response


class Scripted:
    """Proposes what a function of the response returns, and records the calls."""

    description: dict[str, Any] = {"name": "scripted"}  # noqa: RUF012

    def __init__(self, propose: Callable[[str], Sequence[str]]) -> None:
        self.propose = propose
        self.calls: list[tuple[str, int]] = []

    def draft(self, response: str, limit: int) -> Draft:
        self.calls.append((response, limit))
        return Draft(tuple(self.propose(response)), 1, len(response.split()), 7)


def always(*claims: str) -> Scripted:
    return Scripted(lambda response: claims)


def extract(response: str, extractor: Extractor) -> tuple[tuple[Claim, ...], Draft]:
    return extract_claims(read_response(response), extractor)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1. Bob left.", "Bob left"),
        ("(12) Bob left", "Bob left"),
        ("- * Bob left!", "Bob left"),
        ("Claim 3: Bob left", "Bob left"),
        ("“Bob left.”", "Bob left"),
        ('"Bob left"', "Bob left"),
        ('"Bob" left "Rome"', '"Bob" left "Rome"'),
        ('"', ""),
        ('""', ""),
        ('"Bob left""', '"Bob left""'),
        ("« Bob left. »", "Bob left"),
        ("`Bob left'", "`Bob left'"),
        ("3.5 million left", "3.5 million left"),
        ("-5 degrees", "-5 degrees"),
        ("1.", "1"),
        ("  ", ""),
        ("---", ""),
    ],
)
def test_lines_are_cleaned(line: str, expected: str) -> None:
    assert clean_line(line) == expected


@pytest.mark.parametrize(("sentences", "limit"), [(0, 0), (1, 4), (2, 8), (3, 10), (60, 10)])
def test_limit_is_four_per_sentence_and_ten(sentences: int, limit: int) -> None:
    assert claim_limit(sentences) == limit


def test_claims_are_taken_unchanged_in_one_pass() -> None:
    response = "Ann bought apples and pears.\n\nBob left Rome in 1990."
    extractor = always(
        "1. Bob left Rome in 1990.", "Pears were bought by Ann", "", "Dragons sing", *["Bob"] * 20
    )
    claims, draft = extract(response, extractor)
    assert extractor.calls == [(response, 8)]
    assert len(claims) == 8
    assert claims[:2] == (
        Claim("Bob left Rome in 1990", Span(30, 51)),
        Claim("Pears were bought by Ann", Span(0, 28)),
    )
    invented = claims[2]
    assert (invented.span, invented.problem) == (None, None)
    assert invented.span_reason == "no sentence of the response has most of the claim's words"
    assert (draft.generative_passes, draft.tokens_out) == (1, 7)


def test_several_lines_of_one_proposal_are_several_claims() -> None:
    found = extract("Bob left. Ann came.", always("1. Bob left.\n2. Ann came."))
    assert [claim.text for claim in found[0]] == ["Bob left", "Ann came"]


def test_claim_belongs_to_first_sentence_with_most_words() -> None:
    response = "Ann bought apples. Ann bought red apples."
    assert extract(response, always("Apples Ann bought"))[0][0].span == Span(0, 18)
    assert extract(response, always("Dragons bought Ann unicorns"))[0][0].span is None


def test_sentences_without_a_claim_are_named() -> None:
    response = "Bob left Rome. Who cares? Ann sold a boat."
    first, last = extract(response, always("Bob left Rome"))[0]
    assert first.problem is None
    assert last == Claim(
        "Ann sold a boat.", Span(26, 42), problem="the extractor made no claim of it"
    )


@pytest.mark.parametrize("proposed", [10, 15])
def test_sentences_beyond_the_limit_are_named(proposed: int) -> None:
    response = " ".join(f"Bob left town number {n}." for n in range(15))
    found = extract(response, Scripted(lambda text: text.split(". ")[:proposed]))[0]
    left = [claim for claim in found if claim.problem is not None]
    assert len(found) == 15
    assert [claim.text for claim in left] == [f"Bob left town number {n}." for n in range(10, 15)]
    assert {claim.problem for claim in left} == {"the limit of 10 claims was reached before it"}


def test_unreadable_sentence_keeps_its_problem() -> None:
    found = extract("- [ ] Bob left Rome.\n- [x] Ann came.", always("Ann came"))[0]
    assert [claim.text for claim in found] == ["Ann came", "Bob left Rome."]
    assert "an unticked box" in (found[1].problem or "")


def test_nothing_to_read_is_not_asked_about() -> None:
    extractor = always("Bob left")
    assert extract(" \n", extractor) == ((), Draft(()))
    assert extractor.calls == []
    assert extract("Bob left.", always())[0] == ()


def test_failure_is_raised() -> None:
    def fail(response: str) -> list[str]:
        raise ExtractionError("out of memory")

    with pytest.raises(ExtractionError, match="out of memory"):
        extract("Bob left.", Scripted(fail))


SENTENCES = st.sampled_from(
    [
        "Ann bought apples and pears.", "Bob didn't leave Rome.", "Who won?", "- It cost $3.5 m.",
        "塔高48米。", "A\u200bnn le\u0301ft.", "\ud800 x", "```", "| a | b |", "1. Ok.", "**So.**",
    ]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(SENTENCES, max_size=15).map(" ".join), st.lists(SENTENCES | st.text(), max_size=12))
def test_every_assertion_is_covered_or_named(response: str, proposed: list[str]) -> None:
    document = read_response(response)
    claims = extract_claims(document, always(*proposed))[0]
    spans = [claim.span for claim in claims if claim.span is not None]
    assert all(0 <= span.start < span.end <= len(response) for span in spans)
    if claims:
        for unit in document.units:
            if unit.asserts:
                overlaps = [
                    span.start < unit.span.end and unit.span.start < span.end for span in spans
                ]
                assert any(overlaps)


@given(st.lists(SENTENCES, max_size=15).map(" ".join))
def test_sentence_extractor_copies_sentences(response: str) -> None:
    draft = SentenceExtractor().draft(response, 10)
    assert len(draft.claims) <= 10
    assert all(claim in response for claim in draft.claims)
    assert draft.generative_passes == 0
