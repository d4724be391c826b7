"""Rules, agents, repairs, streams and files take linear time, whatever the text.

`tests/reading/test_linear_work.py` counts the work of the readers. The steps inside an expression
cannot be counted, so here processor time is measured: see `tests.support.growth`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from xml.sax.saxutils import escape

import pytest

from halldetect import Detector
from halldetect.agents import conversation, messages, rules
from halldetect.cli.hook import read_transcript
from halldetect.facts import computations, phrases, quantities, recogniser
from halldetect.faults import error_kinds, identifiers, quotations, wrong_words
from halldetect.files.decoding import decode
from halldetect.files.office_files import read_pages
from halldetect.reading import (
    answers,
    assertions,
    citations,
    claims,
    document,
    html_page,
    languages,
    markdown,
    normalise,
    overlap,
    references,
    response,
    sentences,
    sources,
    structured,
    words,
)
from halldetect.repair import corrections, revision
from halldetect.report import QuotationReport, QuotationState
from halldetect.stream import complete_sentences, context_of
from tests.support import growth
from tests.support.fakes import OverlapVerifier
from tests.support.office import docx, paragraph, run

PROSE = (
    "The harbour opens at nine and closes at 18:00 on 4 May 2021; Ann Lee said “we sell 40 tickets "
    "a day” there."
)
# Runs of one character, then of short fragments.
CHARACTERS = [*"-\n a1A.,\"'[(<*_`@\u2028é中"]
FRAGMENTS = [
    "No. 1 ", "```\n", "\n ", "\n- ", "a.", "-1", "a@", "a/", "“a ", '"a" ', "one and ", "he said ",
    "I sent ", "1 Jan ", "January 1, ", "5 %", "to 5 ", ", said A ", "http://", '{"a":', "<a ",
    "A1-", "a()", "the ", "A b. ", "1:2 ",
]  # fmt: skip


def tracked(text: str) -> document.TrackedText:
    return document.TrackedText.of(text, 0, len(text))


def asked(text: str) -> list[rules.AnsweredCall]:
    return [rules.AnsweredCall("send", f"send {text}", 0, False)]


def dialogue(text: str) -> list[object]:
    """Return a conversation with a text in every place."""
    arguments = json.dumps({"to": text})
    called = [{"id": "1", "function": {"name": "send", "arguments": arguments}}]
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": text, "tool_calls": called},
        {"role": "tool", "tool_call_id": "1", "content": text},
    ]


def quoted(text: str) -> str:
    return f'He said "{text.replace(chr(34), " ")} and more of it" today.'


IN_ALL = "In all 997 tickets were sold"
PAIRS = 24  # of characters, others for each function
# What is measured, by a name; every public function that takes a text of a user.
WAYS: dict[str, Callable[[str], object]] = {
    "identifiers": identifiers.identifiers,
    "invented": lambda text: identifiers.invented(text, [text[::-1]]),
    "find_spelled": lambda text: identifiers.find_spelled(text[: len(text) // 8], [text]),
    "quotations of a claim": lambda text: quotations.VerbatimSource([PROSE]).quotations(text),
    "quotations of a long one": lambda text: quotations.VerbatimSource([PROSE]).quotations(
        quoted(text)
    ),
    "quotations in a source": lambda text: quotations.VerbatimSource([text]).quotations(
        quoted(text[: len(text) // 2])
    ),
    "changed_words": lambda text: quotations.changed_words(
        QuotationReport(QuotationState.CHANGED, text, f"{text[1:]} x", 0)
    ),
    "other_number of a claim": lambda text: error_kinds.other_number(text, PROSE),
    "other_number of a passage": lambda text: error_kinds.other_number("It costs 12 euros.", text),
    "new_words": lambda text: wrong_words.new_words(text, frozenset({"the"})),
    "read_quantities": quantities.read_quantities,
    "words_of": quantities.words_of,
    "unknown_numerals": lambda text: quantities.unknown_numerals(text, [text[::-1]]),
    "find_facts": recogniser.find_facts,
    "has_number": recogniser.has_number,
    "WordUsage": lambda text: recogniser.WordUsage([text]),
    "computed": lambda text: [*computations.computed(quantities.read_quantities(text))],
    "shortened": lambda text: phrases.shortened(text, PROSE, loosely=True),
    "shortened by evidence": lambda text: phrases.shortened(PROSE, text),
    "is_text": rules.is_text,
    "value_kind": lambda text: rules.value_kind("send", "to", text),
    "find_value of an amount": lambda text: rules.find_value("amount", "997", [text]),
    "find_value of a date": lambda text: rules.find_value("date", "2021-05-04", [text]),
    "find_value of a path": lambda text: rules.find_value("path", text, [text]),
    "reports_failure": rules.reports_failure,
    "find_action": lambda text: rules.find_action(f"I sent {text}", asked(text), text),
    "find_corrections": lambda text: list(rules.find_corrections([PROSE], f"no, {text}")),
    "find_corrections of a text": lambda text: list(
        rules.find_corrections([text], "Sorry, 5 May 2021, not 4 May.")
    ),
    "readdressed": rules.readdressed,
    "statement_in": rules.statement_in,
    "read_messages": lambda text: list(messages.read_messages(dialogue(text))),
    "read_turns": lambda text: conversation.read_turns(dialogue(text), None),
    "tool_results": lambda text: conversation.tool_results(dialogue(text)),
    "read_transcript": lambda text: read_transcript(
        "\n".join(json.dumps({"role": "user", "content": line}) for line in text.split("\n"))
    ),
    "corrections": lambda text: corrections.corrections(text, PROSE),
    "corrections by evidence": lambda text: corrections.corrections(PROSE, text),
    "split_marks": revision.split_marks,
    "Revision": lambda text: revision.Revision(sentences.read_document(text)).compose(),
    "complete_sentences": complete_sentences,
    "context_of": context_of,
    "decode": lambda text: decode(text.encode(), "a file"),
    "read_pages": lambda text: read_pages(
        docx("".join(paragraph(run(escape(line))) for line in text.split("\n"))), "a.docx"
    ),
    "abstains": answers.abstains,
    "no_assertion": assertions.no_assertion,
    "could_assert": lambda text: assertions.could_assert(text, "a heading"),
    "is_topic": assertions.is_topic,
    "is_sentence": assertions.is_sentence,
    "is_code": assertions.is_code,
    "remove_citations": lambda text: citations.remove_citations(tracked(text)),
    "remove_openers": lambda text: citations.remove_openers(tracked(text)),
    "clauses": lambda text: claims.clauses(tracked(text)),
    "place_of": lambda text: document.place_of(text[:200], text[1:]),
    "html_text": html_page.html_text,
    "detect": languages.detect,
    "read_blocks": markdown.read_blocks,
    "normalised": lambda text: normalise.normalised(tracked(text)),
    "unreadable": normalise.unreadable,
    "content_words": overlap.content_words,
    "readings": lambda text: references.readings([PROSE, text, text]),
    "read_response": response.read_response,
    "read_source": sources.read_source,
    "sentences": sentences.sentences,
    "read_records": structured.read_records,
    "words": words.words,
    "looks_english": words.looks_english,
}  # fmt: skip


def runs(fragments: list[str]) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield each fragment with a function that repeats it up to a length."""
    for fragment in fragments:
        yield fragment, lambda size, of=fragment: (of * (size // len(of) + 1))[:size]  # type: ignore[misc]


def grows(way: Callable[[str], object], fragments: list[str], longest: int) -> dict[str, str]:
    """Return how the time of a way grows, by the fragments for which it grows too fast."""
    way(PROSE)  # loads what it needs
    found = {name: growth.growth(way, build, longest) for name, build in runs(fragments)}
    return {name: how for name, how in found.items() if how is not None}


@pytest.mark.parametrize("name", WAYS)
def test_time_is_linear(name: str) -> None:
    assert grows(WAYS[name], CHARACTERS + FRAGMENTS, 4_000) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_time_is_linear_for_pairs_of_characters(name: str) -> None:
    pairs = [one + two for one in CHARACTERS for two in CHARACTERS if one != two]
    some = Random(name).sample(pairs, PAIRS)  # all of them take a quarter of an hour
    assert grows(WAYS[name], some, 8_000) == {}


def detector() -> Detector:
    return Detector(OverlapVerifier())


WHOLE: dict[str, Callable[[str], object]] = {
    "check of a response": lambda text: detector().check(PROSE, text),
    "check of a source": lambda text: detector().check(text, PROSE),
    "check of both": lambda text: detector().check(text, text),
    "repair": lambda text: detector().repair(PROSE, text),
    "stream": lambda text: list(
        detector().stream(PROSE).run(text[at : at + 50] for at in range(0, len(text), 50))
    ),
}
# The fragments that the issue names.
FEW = ["-", "\n", "1", '"', "[", "No. 1 ", "```\n", "a. ", "Ann sold 3 maps. "]


@pytest.mark.parametrize("name", WHOLE)
def test_whole_checks_take_linear_time(name: str) -> None:
    assert grows(WHOLE[name], FEW, 4_000) == {}


def test_quadratic_time_is_noticed() -> None:
    def quadratic(text: str) -> int:
        return sum(text.count("-", 0, at) for at in range(0, len(text)) for _ in range(8))

    assert grows(quadratic, ["-"], 8_000)
