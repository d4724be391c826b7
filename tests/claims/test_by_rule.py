"""Parts of sentences by rule: what is split, and what stays whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.claims.extraction import extract_claims
from halldetect.claims.extractors.by_rule import ClauseExtractor
from halldetect.claims.guard.matching import Passage
from halldetect.claims.guard.sentence_parts import MAX_PARTS, sentence_parts
from halldetect.reading.response import read_response


def texts(sentence: str) -> list[str]:
    return [text for text, _ in sentence_parts(sentence)]


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        (
            "Ann Cole was born in Leeds on 5 June 1952.",
            ["Ann Cole was born in Leeds", "Ann Cole was born on 5 June 1952"],
        ),
        (
            "The tower was finished in 1902, and is 80 metres tall.",
            ["The tower was finished in 1902", "The tower is 80 metres tall"],
        ),
        (
            "She studied law in Oxford and became a judge.",
            ["She studied law in Oxford", "She became a judge"],
        ),
        (
            "The bridge was closed, and the council approved a new one.",
            ["The bridge was closed", "the council approved a new one"],
        ),
        (
            "Ann Holm, who was born in Rome, sold the house.",
            ["Ann Holm was born in Rome", "Ann Holm sold the house"],
        ),
        (
            "Norvik was fined in Spain in 2016 by the tax office.",
            [
                "Norvik was fined in Spain",
                "Norvik was fined in 2016",
                "Norvik was fined by the tax office",
            ],
        ),
        # Negations and modals stay in the predicate that they govern.
        (
            "The tremor was felt in Milan, but there were no reports of damage.",
            ["The tremor was felt in Milan", "there were no reports of damage"],
        ),
        ("Smith fell and hit his head.", ["Smith fell", "Smith hit his head"]),
        (
            "Ann joined the union (the UFT) and became a judge.",
            ["Ann joined the union (the UFT)", "Ann became a judge"],
        ),
        ("Ann also won a race and lost a boat.", ["Ann also won a race", "Ann lost a boat"]),
        ("Ann quickly won a race and lost a boat.", ["Ann quickly won a race", "Ann lost a boat"]),
        ("Ann won the big race and fell down.", ["Ann won the big race", "Ann fell down"]),
        ("Ann won a race and moved to Rome.", ["Ann won a race", "Ann moved to Rome"]),
        (
            "The bridge was closed; the council approved a new one.",
            ["The bridge was closed", "the council approved a new one"],
        ),
        (
            "The road was shut, and the council approved a plan, and the mayor signed the plan.",
            ["The road was shut", "the council approved a plan", "the mayor signed the plan"],
        ),
        (
            "The bridge was closed, and ministers offered 300 jobs.",
            ["The bridge was closed", "ministers offered 300 jobs"],
        ),
        ("The bridge was closed, and Ann fell.", ["The bridge was closed", "Ann fell"]),
        (
            "The bridge was closed, and the very old stone city wall fell.",
            ["The bridge was closed", "the very old stone city wall fell"],
        ),
        (
            "The tower, which was built in 1902, is 80 metres tall.",
            ["The tower was built in 1902", "The tower is 80 metres tall"],
        ),
        (
            "Norvik, which was fined in Spain, closed a shop.",
            ["Norvik was fined in Spain", "Norvik closed a shop"],
        ),
        (
            "The very old stone city wall, which fell in 1902, was rebuilt.",
            [
                "The very old stone city wall fell in 1902",
                "The very old stone city wall was rebuilt",
            ],
        ),
        (
            "Ann Holm, who worked in Rome, sold the house.",
            ["Ann Holm worked in Rome", "Ann Holm sold the house"],
        ),
        (
            "Ann Holm, who was born in Rome, is a judge.",
            ["Ann Holm was born in Rome", "Ann Holm is a judge"],
        ),
        ("Ann was fined in 1990.", ["Ann was fined"]),
        ("Ann was fined in Rome in Leeds.", ["Ann was fined in Rome"]),
        ("Ann won gold in Rome in 1990.", ["Ann won gold in Rome", "Ann won gold in 1990"]),
        (
            "The bridge was built in Rome in 1990.",
            ["The bridge was built in Rome", "The bridge was built in 1990"],
        ),
        (
            "Ann was taken to court in Rome in 1990.",
            ["Ann was taken to court in Rome", "Ann was taken to court in 1990"],
        ),
    ],
)
def test_plain_shapes_are_split(sentence: str, parts: list[str]) -> None:
    assert texts(sentence) == parts


@pytest.mark.parametrize(
    "subject",
    [
        "The old team",
        "The Giants team",
        "The Holding Company",
        "The old stone wall of Rome",
        "The mayor from Rome",
        "The judge at Oxford",
        "The shop in Rome",
        "The fund for Rome",
        "In Rome, Ann",
        "On land, Ann",
        "At sea, Ann",
        "During lunch, Ann",
    ],
)
def test_both_predicates_have_the_subject(subject: str) -> None:
    sentence = f"{subject} won a race and lost a boat."
    assert texts(sentence) == [f"{subject} won a race", f"{subject} lost a boat"]


@pytest.mark.parametrize(
    "subject",
    [
        "Yesterday, Ann",
        "In June, 1990, Ann",
        "In Rome Ann",
        "Ann and Bob",
        "All players",
        "The mayor with Ann",
        "The painted boat",
        "The sales team",
        "The very old grey stone city wall",
    ],
)
def test_a_subject_that_is_not_plain_has_its_predicates_together(subject: str) -> None:
    assert texts(f"{subject} won a race and lost a boat.") == []


@pytest.mark.parametrize(
    "clause",
    [
        "he sold the house",
        "in Rome the mayor fell",
        "what Ann saw was a boat",
        "no mayor fell",
        "painted walls fell",
        "falling stones broke a car",
        "the very old grey stone city wall fell",
        "the wall, old, fell",
        "the wall of Rome fell",
        "the wall that fell was old",
        "Ann and Bob fell",
        "ministers offered jobs in Rome",
        "the council approved a plan, and the mayor signed the plan, and Ann fell",
    ],
)
def test_a_clause_that_cannot_stand_alone_stays(clause: str) -> None:
    assert texts(f"The bridge was closed, and {clause}.") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "If Ann left Rome in 1990, the firm closed and Bob moved to Leeds.",
        "Ann never left Rome and moved to Leeds.",
        "In 2013, Ann left Rome and became a judge.",
        "A year later, Ann left Rome and became a judge.",
        "Bob said that Ann left Rome and moved to Leeds.",
        "Bob allegedly stole a car and crashed the car.",
        "Ann denied that she left Rome in 1990 and sold the house.",
        '"Ann left Rome and I stayed," Bob replied.',
        "Either Ann left Rome or Bob moved to Leeds.",
        "No player scored a goal and was sent off.",
        "Had Ann left Rome in 1990, Bob moved to Leeds.",
        "Is Ann from Rome, and was Bob born in Leeds?",
        "Ann a quitté Rome en 1990 et elle est partie pour Leeds.",
        "Schools were evacuated and phone lines and power supplies were cut.",
        "Bob visited Rome, Paris, and London was his home.",
        "Ann painted red and blue boats in the harbour.",
        "She saw a man shot and killed in the street.",
        "She studied law and applied mathematics in Oxford.",
        "While it rained in Rome, the shops closed and the fair was stopped.",
        "High-quality training, evidence-based rules, and thorough notes are needed.",
        "The army fought the rebels and IS has lost the town.",
        "Ann was first treated in 2005.",
        "Ann was mayor from 1984 to 2001.",
        "Ann was mayor in Rome in 1990.",
        "Ann was fined\nin Rome in 1990.",
        "Ann was accused in Rome in 1990.",
        "Ann was seen swimming in Rome.",
        "Ann knew Bob left in 1990.",
        "Ann works in Spain in 2016.",
        "Ann won a race in Rome by a mile.",
        "Ann won a race and moved by train.",
        "Ann won a race and served as mayor.",
        "Ann won a race and died of cold.",
        "Ann kept painted boats and was rich.",
        "Ann sold a boat and a car and became a judge.",
        "In Rome Ann was fined in 2016.",
        "The law was voted on in 2016.",
        "The firms were merged in Spain in 2016.",
        "The tower was finished in June and moved to Rome.",
        "The tower was finished in June, 1902 and is 80 metres tall.",
        "The bridge was closed and the council approved a plan.",
        "The bridge that fell was closed, and the council approved a plan.",
        "The evidence-based rules, and the mayor signed the plan.",
        "Bob visited Rome, old Paris, and London was his home.",
        "Ann Holm, who, sold the old house.",
        "Ann Holm, who lives in Rome, sold the house.",
        "Ann Holm, who was born in Rome, likes the house.",
        "Ann Holm, who was born in Rome, Italy, sold the house.",
        "Ann Holm, who was born where Bob fell, sold the house.",
        "Ann Holm, who was born in Rome, sold the house that Bob saw.",
        "Ann saw Eve, who was born in Rome, left the house.",
        "In Rome Ann, who was born in Leeds, sold the house.",
        "So Ann, who was born in Rome, sold the house.",
        "He, who was born in Rome, sold the house.",
        "The man who was born in Rome, sold the house.",
        "The very old grey stone city wall, which fell in 1902, was rebuilt.",
        "",
        "Rome.",
    ],
)
def test_where_the_rule_is_not_sure_nothing_is_split(sentence: str) -> None:
    assert texts(sentence) == []


WORDS = st.sampled_from(
    "Ann Bob was is born left won in Rome in 1990 on 5 June and but , ; who which the a doctor "
    "( ) : — not if said first all — with from to by moved sold 3.5 % red house .".split()
)


@given(st.lists(WORDS, min_size=1, max_size=24).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_whatever_the_sentence_parts_are_pieces_of_it(sentence: str) -> None:
    found = sentence_parts(sentence)
    assert len(found) <= MAX_PARTS
    for text, pieces in found:
        at = 0
        for piece in pieces:
            assert at <= piece.start < piece.end <= len(sentence)
            at = piece.end
        assert set(text.split()) <= set(sentence.replace(",", " ").split()) | set(sentence.split())
        assert Passage(sentence).match(text) is not None
    made = extract_claims(read_response(sentence), ClauseExtractor())
    assert made.dropped == 0


def test_the_sentence_is_the_claim_and_its_parts_have_their_places() -> None:
    response = "Summary:\n- Ann was born in Rome in 1990.\n- Who is Bob?\n"
    made = extract_claims(read_response(response), ClauseExtractor())
    (claim,) = made.claims
    assert claim.text == "Ann was born in Rome in 1990."
    assert [[span.cut(response) for span in part.spans] for part in claim.parts] == [
        ["Ann was born in Rome"],
        ["Ann was born", "in 1990"],
    ]
    assert (made.dropped, made.restored) == (0, 0)


def test_the_sentences_come_before_parts_that_would_pass_the_limit() -> None:
    first, second = "Ann was born in Rome in 1990.", "Bob was fined in Leeds in 1991."
    drafts = {
        limit: ClauseExtractor().draft(f"{first} {second}", limit).claims for limit in range(-1, 7)
    }
    parts = [texts(first), texts(second)]
    assert drafts[-1] == drafts[0] == ()
    assert drafts[1] == (first,)
    assert drafts[2] == drafts[3] == (first, second)
    assert drafts[4] == drafts[5] == (first, *parts[0], second)
    assert drafts[6] == (first, *parts[0], second, *parts[1])
