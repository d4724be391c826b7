"""Questions and answers as statements."""

from __future__ import annotations

import random

import pytest

from training.large import statements


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Who wrote the Lantern Song?", "Ada Moor", "Ada Moor wrote the Lantern Song."),
        ("Who was elected in 1990?", "Ilse Brandt", "Ilse Brandt was elected in 1990."),
        ("Who is the mayor of Velton?", "Ann Roe", "The mayor of Velton is Ann Roe."),
        ("What is the oldest mill called?", "Red Mill", "The oldest mill is called Red Mill."),
        ("What did the king announce in 1820?", "a truce", "The king announced a truce in 1820."),
        ("What does the pump consist of?", "two valves", "The pump consists of two valves."),
        ("When was the dam built?", "1931", "The dam was built in 1931."),
        ("When did Oru die?", "4 May 1880", "Oru died on 4 May 1880."),
        ("Where was Oru born?", "Lake House", "Oru was born in Lake House."),
        ("Where did Oru study?", "at home", "Oru studied at home."),
        ("Which team won the cup?", "Norfield", "Norfield won the cup."),
        ("what year did the mill close", "1975", "The mill closed in 1975."),
    ],
)
def test_a_question_and_its_answer_make_a_statement(
    question: str, answer: str, expected: str
) -> None:
    assert statements.statement(question, answer) == expected


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [
        ("Did the storm reach Velton?", "The storm reached Velton.",
         "The storm did not reach Velton."),
        ("Is the mill a museum?", "The mill is a museum.", "The mill is not a museum."),
        ("Can visitors climb the tower?", "Visitors can climb the tower.",
         "Visitors cannot climb the tower."),
        ("Was it built of stone?", "It was built of stone.", "It was not built of stone."),
    ],
)  # fmt: skip
def test_a_yes_no_question_makes_two_statements(question: str, yes: str, no: str) -> None:
    assert statements.yes_no(question) == (yes, no)


@pytest.mark.parametrize(
    "question",
    ["What happened?", "What kind of boat is used?", "How many came?", "Who came and when?"],
)
def test_unsure_rules_make_nothing(question: str) -> None:
    assert statements.statement(question, "a thing") is None


def test_small_letters_take_the_capitals_of_the_passage() -> None:
    passage = "The castle was held by Anselm Drury until the siege of Velton."
    made = statements.statement("who held the castle of velton", "Anselm Drury", passage)
    assert made == "Anselm Drury held the castle of Velton."


def test_quoting_names_question_and_answer() -> None:
    text = statements.quoted("how does it work ?", "by steam.", random.Random(1))
    assert "How does it work?" in text
    assert "by steam" in text
