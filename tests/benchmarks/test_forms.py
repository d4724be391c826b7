"""The suites on the form of answers: their size, their balance, and how they are read."""

from __future__ import annotations

import pytest

from benchmarks.forms.answers import Answer, answers
from benchmarks.forms.dressings import DRESSINGS, Statement, dressed, statements
from benchmarks.forms.injections import CARRIERS, KINDS, injections
from halldetect.reading.document import Span, Unit
from halldetect.reading.response import read_response

TRUE_SENTENCES = {
    "The crossing takes twenty-five minutes.",
    "Twenty bicycles have room on the car deck.",
}


def judged(text: str) -> list[Unit]:
    return [unit for unit in read_response(text).units if unit.asserts]


def overlap(left: Span, right: Span) -> bool:
    return left.start < right.end and right.start < left.end


def test_the_suites_are_as_large_as_they_say() -> None:
    labels = [statement.supported for statement in statements()]
    assert (labels.count(True), labels.count(False), len(DRESSINGS)) == (60, 60, 12)
    faithful = [answer.faithful for answer in answers()]
    assert (faithful.count(True), faithful.count(False)) == (75, 75)
    assert len(injections()) == 300
    assert {item.kind for item in injections()} == set(KINDS)
    assert {item.carrier for item in injections()} == set(CARRIERS)


@pytest.mark.parametrize("statement", statements(), ids=lambda item: item.sentence)
def test_a_dressed_statement_is_judged_as_plain(statement: Statement) -> None:
    (plain,) = [unit.text.rstrip(".").casefold() for unit in judged(statement.sentence)]
    for name, text in dressed(statement):
        if name == "greeting" and statement.sentence.endswith(" K."):
            continue  # "340 K. I hope" is taken for one sentence with an abbreviation
        units = [unit.text.rstrip(".").casefold() for unit in judged(text)]
        # A label of more than three words is judged too, and a cell may need its topic.
        assert units[-1].removeprefix(f"{statement.topic.casefold()}, finding: ") == plain, name
        assert len(units) == 1 or name in ("label", "heading above"), name


@pytest.mark.parametrize("answer", answers(), ids=lambda answer: answer.id)
def test_the_statements_of_an_answer_are_judged(answer: Answer) -> None:
    units = judged(answer.response)
    for span, _ in answer.statements:
        assert any(overlap(unit.span, span) for unit in units), span.cut(answer.response)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_hidden_in_the_form_is_judged(kind: str) -> None:
    overlooked = [
        (item.carrier, item.response)
        for item in injections()
        if item.kind == kind and all(unit.text in TRUE_SENTENCES for unit in judged(item.response))
    ]
    assert overlooked == []
