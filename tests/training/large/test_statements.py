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
        ("How many bridges did the storm destroy?", "six", "The storm destroyed six bridges."),
        ("How many rooms are there in the inn?", "12", "There are 12 rooms in the inn."),
        ("How much did the bell weigh?", "90 kg", "The bell weighed 90 kg."),
        ("Which team won the cup?", "Norfield", "Norfield won the cup."),
        ("In what year did the mill close?", "1975", "The mill closed in 1975."),
        ("The mill closed in what year?", "1975", "The mill closed in 1975."),
        ("Why did the boat turn back?", "fog", "The boat turned back because of fog."),
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
        ("During the war, was the mill used?", "During the war, the mill was used.",
         "During the war, the mill was not used."),
    ],
)  # fmt: skip
def test_a_yes_no_question_makes_two_statements(question: str, yes: str, no: str) -> None:
    assert statements.yes_no(question) == (yes, no)


@pytest.mark.parametrize(
    "question",
    ["What happened?", "What kind of boat is used?", "How does it work?", "Who came and when?"],
)
def test_unsure_rules_make_nothing(question: str) -> None:
    assert statements.statement(question, "a thing") is None


def test_small_letters_take_the_capitals_of_the_passage() -> None:
    passage = "The castle was held by Anselm Drury until the siege of Velton."
    made = statements.statement("who held the castle of velton", "Anselm Drury", passage)
    assert made == "Anselm Drury held the castle of Velton."


def test_only_amounts_and_dates_exclude_each_other() -> None:
    assert statements.exclusive("When did it open?", "1931", "1975")
    assert statements.exclusive("How many came?", "six", "12")
    assert not statements.exclusive("When did it open?", "May 1931", "1931")
    assert not statements.exclusive("Who came?", "Ada", "Ilse")


def test_quoting_names_question_and_answer() -> None:
    text = statements.quoted("how does it work ?", "by steam.", random.Random(1))
    assert "How does it work?" in text
    assert "by steam" in text
