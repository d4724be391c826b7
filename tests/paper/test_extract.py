from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.claims import Claim, Part
from halldetect.protocols import Draft, Extraction, claim_limit, extract_claims
from halldetect.paper.extractors.by_rule import ClauseExtractor, SentenceExtractor
from halldetect.claims.guard.guard import clean_line
from halldetect.errors import ExtractionError
from halldetect.protocols import Extractor
from halldetect.reading.document import Span
from halldetect.reading.response import read_response, read_units
from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, words


class Scripted:
    """Proposes what a function of the block says, and remembers what it was asked."""

    def __init__(self, propose: Callable[[str], Sequence[str]]) -> None:
        self.propose = propose
        self.calls: list[tuple[str, int]] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def draft(self, block: str, limit: int) -> Draft:
        self.calls.append((block, limit))
        return Draft(tuple(self.propose(block)), 1, len(block.split()), 7)


def extract(response: str, extractor: Extractor, **options: Any) -> Extraction:
    return extract_claims(read_response(response), extractor, **options)


def always(*claims: str) -> Scripted:
    return Scripted(lambda block: claims)


RESPONSE = "Ann bought apples and pears. Bob left Rome in 1990. Who cares?"


def test_good_claims_are_kept_with_their_spans() -> None:
    extraction = extract(
        RESPONSE, always("1. Ann bought apples.", "- Ann bought pears", '"Bob left Rome in 1990."')
    )
    parts = (
        Part("Ann bought apples", (Span(0, 17),)),
        Part("Ann bought pears", (Span(0, 10), Span(22, 27))),
    )
    assert extraction.claims == (
        Claim("Ann bought apples and pears.", Span(0, 28), parts=parts),
        Claim("Bob left Rome in 1990.", Span(29, 51)),
    )
    assert (extraction.proposed, extraction.dropped, extraction.restored) == (3, 0, 0)
    assert extraction.notes == (
        "the extractor proposed 3 claims: 2 are kept as parts of sentences, 0 are dropped; "
        "the sentences decide",
    )
    assert extraction.generative_passes == 1
    assert (extraction.tokens_in, extraction.tokens_out) == (12, 7)


def test_what_is_left_out_in_part_is_restored() -> None:
    extraction = extract(RESPONSE, always("Ann bought apples", "Bob left Rome"))
    assert [(claim.text, claim.origin) for claim in extraction.claims] == [
        ("Ann bought apples and pears.", "restored"),
        ("Bob left Rome in 1990.", "restored"),
    ]
    assert [part.text for claim in extraction.claims for part in claim.parts] == [
        "Ann bought apples",
        "Bob left Rome",
    ]
    assert (extraction.dropped, extraction.restored) == (0, 2)


def test_what_is_invented_is_dropped() -> None:
    extraction = extract(
        RESPONSE, always("Ann bought plums", "Bob never left Rome in 1990", "Bob left Rome in 1991")
    )
    assert [claim.text for claim in extraction.claims] == [
        "Ann bought apples and pears.",
        "Bob left Rome in 1990.",
    ]
    assert (extraction.dropped, extraction.restored) == (3, 2)


def test_what_is_proposed_and_dropped_is_counted_over_all_blocks() -> None:
    response = " ".join(f"Bob left town number {n}." for n in range(6))
    invented = ["Eve bought apples. Eve left Paris.", "Eve " * 100, *["Eve lost"] * 10]
    extraction = extract(response, always(*invented))
    # For each of the two blocks: two of the first line, the second, eight up to the limit of ten
    # lines, and two beyond it.
    assert (extraction.proposed, extraction.dropped) == (24, 26)
    assert extraction.generative_passes == 2


def test_a_copied_question_is_neither_a_claim_nor_an_invention() -> None:
    extraction = extract(RESPONSE, always("Who cares?"))
    assert len(extraction.claims) == 2
    assert (extraction.proposed, extraction.dropped) == (1, 0)


def test_a_claim_belongs_to_the_sentence_that_it_says_most_of() -> None:
    response = "Bob left Rome with Ann in June 1990. Bob left Rome in 1991."
    kept = [len(claim.parts) for claim in extract(response, always("Bob left Rome")).claims]
    assert kept == [0, 1]
    # Of equals the first that has it not yet.
    response = "Bob left Rome in 1990. Bob left Rome in 1991."
    for count, expected in ((1, [1, 0]), (2, [1, 1])):
        proposed = always(*["Bob left Rome"] * count)
        assert [len(claim.parts) for claim in extract(response, proposed).claims] == expected


def test_two_sentences_on_a_line_are_two_claims() -> None:
    extraction = extract(RESPONSE, always("Ann bought apples and pears. Bob left Rome in 1990."))
    assert len(extraction.claims) == 2
    assert (extraction.dropped, extraction.restored) == (0, 0)


def test_repeats_are_merged_but_not_across_places() -> None:
    extraction = extract("Bob left. Bob left.", always("Bob left", "Bob left", "Bob left"))
    assert [claim.span for claim in extraction.claims] == [Span(0, 9), Span(10, 19)]
    assert (extraction.dropped, extraction.restored) == (0, 0)


def test_a_name_may_replace_a_pronoun_of_an_earlier_sentence() -> None:
    response = "Ann Smith was born in Rome. She left in 1990."
    extraction = extract(response, always("Ann Smith was born in Rome", "Ann Smith left in 1990"))
    sentence = extraction.claims[1]
    assert (sentence.text, sentence.read_as) == ("She left in 1990.", "Ann Smith left in 1990.")
    assert sentence.parts == (Part("Ann Smith left in 1990", (Span(28, 44),)),)
    assert (extraction.dropped, extraction.restored) == (0, 0)


def test_a_repeated_block_is_read_once_and_a_name_is_not_carried_over() -> None:
    block = "She left in 1990. It was cold in Rome. It rained in Paris."
    response = (
        f"Ann was born in Rome. A dog ran. It sat. {block} Eve met Bob. A cat ran. It lay. {block}"
    )
    extractor = Scripted(lambda text: ["Ann left in 1990"] if "She" in text else [])
    parts = [claim.parts for claim in extract(response, extractor).claims if claim.parts]
    assert [part.text for kept in parts for part in kept] == ["Ann left in 1990"]


def test_a_failing_extractor_costs_nothing_but_its_claims() -> None:
    def fail(block: str) -> list[str]:
        raise ExtractionError("out of memory")

    response = " ".join(f"Bob left town number {n}." for n in range(30))
    extractor = Scripted(fail)
    extraction = extract(response, extractor)
    assert len(extraction.claims) == extraction.restored == 30
    assert "out of memory" in extraction.notes[0]
    assert len(extractor.calls) == 3, "an extractor that keeps failing is not asked for ever"


def test_what_the_notes_say_of_failures() -> None:
    failures = iter(range(1, 10))

    def fail(block: str) -> list[str]:
        raise ExtractionError(f"out of memory, {next(failures)}")

    response = " ".join(f"Bob left town number {n}." for n in range(30))
    assert extract(response, Scripted(fail)).notes == (
        "the extractor failed on 3 block(s), whose sentences are claims as they stand: "
        "out of memory, 1",
        "after failures the last 21 sentences are claims as they stand",
    )


def test_after_a_failure_and_after_questions_it_goes_on() -> None:
    def propose(block: str) -> list[str]:
        if "town 0" in block:
            raise ExtractionError("out of memory")
        return ["Bob left Rome"] if "Rome" in block else []

    response = " ".join(
        [
            *(f"Bob left town {n}." for n in range(3)),
            *(f"Who left town {n}?" for n in range(3)),
            "Bob left Rome in 1990.",
        ]
    )
    *_, last = extract(response, Scripted(propose)).claims
    assert [part.text for part in last.parts] == ["Bob left Rome"]


def test_blocks_have_three_sentences_and_no_more_than_700_characters() -> None:
    def sizes(*lengths: int) -> list[int]:
        far = "very far away and " * 60
        response = " ".join(
            f"Bob {at} left {far[: length - 17]}alone." for at, length in enumerate(lengths)
        )
        extractor = always()
        extract(response, extractor)
        return [len(block.splitlines()) for block, _ in extractor.calls]

    assert sizes(*[20] * 7) == [3, 3, 1]
    assert sizes(350, 350, 350, 350) == [2, 2]
    assert sizes(350, 351, 20) == [1, 2]
    assert sizes(900, 20, 20) == [1, 2]


def test_a_part_is_read_with_what_its_sentence_leans_on() -> None:
    response = (
        "Ann Holm was born in Rome. She moved to Leeds. She was fined in Leeds on 5 June 1990."
    )
    *_, last = extract(response, ClauseExtractor()).claims
    assert last.read_as == "Ann Holm was fined in Leeds on 5 June 1990."
    assert [part.read_as for part in last.parts] == [
        "Ann Holm was fined in Leeds",
        "Ann Holm was fined on 5 June 1990",
    ]


@pytest.mark.parametrize("response", ["", " \n ", "Who won? Is it true?", "# Summary", "---"])
def test_nothing_asserted_gives_no_claim(response: str) -> None:
    extractor = always("Bob won")
    assert extract(response, extractor).claims == ()
    assert extractor.calls == []


def test_blocks_lose_nothing_of_a_long_response() -> None:
    response = "\n\n".join(f"Bob left town number {n} in 19{n:02d}." for n in range(100))
    extractor = Scripted(str.splitlines)
    extraction = extract(response, extractor)
    assert len(extraction.claims) == 100
    assert (extraction.dropped, extraction.restored) == (0, 0)
    for block, limit in extractor.calls:
        assert limit == claim_limit(len(sentences(block)))
        assert len(sentences(block)) <= limit
        assert "\n\n" not in block


def test_a_very_long_response_stops_generating() -> None:
    response = " ".join(f"Bob left town number {n}." for n in range(60))
    extraction = extract(response, Scripted(str.splitlines), max_passes=5)
    assert extraction.generative_passes == 5
    assert len(extraction.claims) == 60
    assert extraction.restored == 45
    assert "5 generative passes" in extraction.notes[-1]


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
        ("3.5 million left", "3.5 million left"),
        ("-5 degrees", "-5 degrees"),
        ("1.", "1"),
        ("  ", ""),
        ("---", ""),
    ],
)
def test_cleaned(line: str, expected: str) -> None:
    assert clean_line(line) == expected


def test_without_the_guard_the_extractor_is_taken_at_its_word() -> None:
    response = "Ann bought apples and pears.\n\nBob left Rome in 1990."
    extractor = always(
        "1. Bob left Rome in 1990.", "Pears were bought by Ann", "", "Dragons sing", *["Bob"] * 20
    )
    extraction = extract(response, extractor, guard=False)
    assert extractor.calls == [(response, 8)]
    assert len(extraction.claims) == 8
    assert not any(claim.problem for claim in extraction.claims)
    first, second, third = extraction.claims[:3]
    assert first == Claim("Bob left Rome in 1990", Span(30, 51))
    assert second == Claim("Pears were bought by Ann", Span(0, 28))
    assert third.span is None
    assert third.span_reason
    assert (extraction.dropped, extraction.restored) == (0, 0)


def test_without_the_guard_no_sentence_is_lost_in_silence() -> None:
    response = " ".join(f"Bob left town number {n}." for n in range(15))
    extraction = extract(response, Scripted(lambda text: text.split(". ")), guard=False)
    taken = [claim for claim in extraction.claims if claim.problem is None]
    left = [claim for claim in extraction.claims if claim.problem is not None]
    assert len(taken) == 10
    assert [claim.text for claim in left] == [f"Bob left town number {n}." for n in range(10, 15)]
    assert {claim.problem for claim in left} == {"the limit of 10 claims was reached before it"}
    skipping = extract("Bob left Rome. Ann sold a boat.", always("Bob left Rome"), guard=False)
    assert [claim.problem for claim in skipping.claims] == [
        None,
        "the extractor made no claim of it",
    ]


def test_without_the_guard_what_is_left_out_keeps_its_place() -> None:
    response = "Bob left Rome. Who cares? Ann sold a boat."
    *_, last = extract(response, always("Bob left Rome"), guard=False).claims
    assert last.span is not None
    assert last.span.cut(response) == last.text == "Ann sold a boat."
    towns = " ".join(f"Bob left town number {n}." for n in range(11))
    exactly = Scripted(lambda text: text.split(". ")[:10])
    *_, last = extract(towns, exactly, guard=False).claims
    assert last.problem == "the limit of 10 claims was reached before it"


def test_without_the_guard_a_claim_belongs_to_the_first_sentence_with_most_of_its_words() -> None:
    response = "Ann bought apples. Ann bought red apples."
    (claim, *_) = extract(response, always("Apples Ann bought"), guard=False).claims
    assert claim.span == Span(0, 18)
    (claim, *_) = extract(response, always("Dragons bought Ann unicorns"), guard=False).claims
    assert claim.span is None


def test_without_the_guard_a_failure_is_a_failure() -> None:
    def fail(block: str) -> list[str]:
        raise ExtractionError("out of memory")

    with pytest.raises(ExtractionError):
        extract("Bob left.", Scripted(fail), guard=False)


SENTENCES = st.sampled_from(
    [
        "Ann bought apples and pears.", "Bob didn't leave Rome.", "Who won?", "- It cost $3.5 m.",
        "Zoë said that Bob, who was 30, left.", "If it rains, Ann stays.", "塔高48米。", "Hello!",
        "A\u200bnn le\u0301ft.", "\ud800 x", "```", "x = 3;", "| a | b |", "The end",
        "1. Ok.", "**So.**",
    ]
)  # fmt: skip
RESPONSES = st.one_of(
    st.text(), st.lists(SENTENCES).map(" ".join), st.lists(SENTENCES).map("\n".join)
)


@given(RESPONSES, st.lists(st.one_of(st.text(), SENTENCES)))
def test_whatever_is_proposed_the_sentences_are_the_claims(
    response: str, proposed: list[str]
) -> None:
    extraction = extract(response, always(*proposed))
    without = extract(response, always())
    assert [claim.text for claim in extraction.claims] == [claim.text for claim in without.claims]
    for claim in extraction.claims:
        known = {word.norm for word in words(response)}
        for part in claim.parts:
            assert {word.norm for word in words(part.text)} <= known | FUNCTION_WORDS
            assert all(span.cut(response) for span in part.spans)
    assert extraction == extract(response, always(*proposed))


@given(RESPONSES)
def test_sentences_are_passed_through(response: str) -> None:
    extraction = extract(response, SentenceExtractor())
    without = extract(response, always())
    assert extraction.generative_passes == 0
    assert [claim.span for claim in extraction.claims] == [claim.span for claim in without.claims]
    for claim in extraction.claims:
        assert (claim.text, claim.span) in {(u.text, u.span) for u in read_units(response)}
