"""Which claims a sentence lets through, and what a pronoun means."""

from __future__ import annotations

import pytest

from halldetect.claims.guard.matching import Passage
from halldetect.claims.guard.pronouns import antecedents


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Bob left Rome in 1990.", "Bob left Rome in 1990"),
        ("Bob left Rome in 1990.", "bob left rome"),
        ("The bridge didn't open.", "The bridge did not open"),
        ("Ann bought apples and pears.", "Ann bought pears"),
        ("Ann bought apples and pears.", "Ann bought apples"),
        ("Ann chased the cat and sold the fish.", "Ann sold the fish"),
        ("Bob won, and Ann lost.", "Ann lost"),
        ("Bob won, and Ann lost.", "Bob won"),
        ("Bob won; Ann did not lose.", "Ann did not lose"),
        ("Ann, who lives in Rome, left.", "Ann left"),
        ("Ann (a plumber from Rome) left.", "Ann left"),
        ("In 1990, the firm opened a shop.", "The firm opened a shop"),
        ("He was born in Palermo in 1952.", "He was born in 1952"),
        ("The firm lost $3 million, and it may fold.", "The firm lost $3 million"),
        ("Ann and Bob were born in Rome.", "Ann and Bob was born in Rome"),
        ("Caf\u00e9 Rome opened in 1990.", "Cafe\u0301 Rome opened in 1990"),
    ],
)
def test_says_what_the_sentence_says(sentence: str, claim: str) -> None:
    assert Passage(sentence).match(claim) is not None


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        # brings something of its own
        ("Bob left.", "Bob left Rome"),
        ("Bob left in 1990.", "Bob left in 1991"),
        ("Bob left.", "Bob did not leave"),
        ("Bob left.", "Bob never left"),
        ("Bob left with money.", "Bob left without money"),
        ("Few people came.", "A few people came"),
        ("It was -5 degrees.", "It was 5 degrees"),
        ("Sales rose 5%.", "Sales rose 5"),
        ("Bob met the CEO of Apple.", "Bob is the CEO of Apple"),
        # loses a negation, a modal, hearsay, a condition, an attempt, a fiction
        ("Bob didn't leave.", "Bob did leave"),
        ("Bob did not leave in 1990.", "Bob did not leave"),
        ("Nobody but Bob left.", "Bob left"),
        ("Bob left Rome without money.", "Bob left Rome"),
        ("Bob may leave.", "Bob leave"),
        ("The shop will open.", "The shop open"),
        ("If it rains, Bob left.", "Bob left"),
        ("Had it rained, Bob left.", "Bob left"),
        ("Reportedly, Bob left.", "Bob left"),
        ("Ann said that Bob left.", "Bob left"),
        ("Bob left, Ann muttered.", "Bob left"),
        ("Bob, Carl muttered, is dead.", "Bob is dead"),
        ('Ann yelled, "Bob left".', "Bob left"),
        ("Anna: Bob left.", "Bob left"),
        ("John denied killing Mary.", "John killing Mary"),
        ("Bob tried to kill Ann.", "Bob kill Ann"),
        ("In the novel, Bob left Rome.", "Bob left Rome"),
        ("It is false that Bob left, and Ann stayed.", "Ann stayed"),
        ("Bob or Ann left.", "Ann left"),
        # loses what a number, a quantifier or a superlative is about
        ("X was the tallest tower in Paris.", "X was the tallest tower"),
        ("Half of the 300 workers left.", "300 workers left"),
        ("Ann sold 30 apples and pears.", "Ann sold 30 pears"),
        ("Ann and Bob won 30 games.", "Bob won 30 games"),
        ("The drug works in mice.", "The drug works"),
        # takes the wrong subject or object
        ("A beat B.", "B beat A"),
        ("The man who shot Lincoln died.", "Lincoln died"),
        ("The dog chased the cat and ate the fish.", "The cat ate the fish"),
        ("Dog owners hate cats and love fish.", "Dog love fish"),
        ("Alice's brother died.", "Alice died"),
        ("Bob, unlike Ann, smoked.", "Ann smoked"),
        ("Bob moved from Rome to Paris.", "Bob moved to Rome"),
        ("The death of Ann and Bob shocked us.", "Bob shocked us"),
        ("Reports of Ann, Bob, and Carl shocked us.", "Carl shocked us"),
        ("Ann met Bob and Carl's brother.", "Ann met Carl"),
        ("Ann killed Bob and Carl left.", "Ann killed Carl"),
        ("Ann beat Bob, and Carl lost.", "Ann beat Carl"),
        ("Ann hired Bob in 2001 and Carl in 2005.", "Ann hired Bob in 2005"),
        ("Bob was acquitted of murder and convicted of fraud.", "Bob was convicted of murder"),
        # says nothing on its own
        ("Bob left Rome in 1990.", "in 1990"),
        ("Bob, who lives in Rome, left.", "who lives in Rome"),
        # cannot be judged by these rules
        ("Bob n’est pas mort.", "Bob mort"),
        ("Der Turm wurde nicht 1990 gebaut.", "Der Turm wurde gebaut"),
        ("The lighthоuse was nоt built in Rome.", "The lighthоuse was built in Rome"),
    ],
)
def test_lets_nothing_else_through(sentence: str, claim: str) -> None:
    assert Passage(sentence).match(claim) is None


def test_a_copied_clause_gets_the_tightest_span() -> None:
    passage = Passage("In 1990, the firm opened a shop, which Ann sold.")
    match = passage.match("The firm opened a shop")
    assert match is not None
    (span,) = match.spans
    assert match.text == span.cut(passage.text) == "the firm opened a shop"


def test_a_claim_put_together_from_pieces_has_their_spans() -> None:
    passage = Passage("Ann chased the cat and sold the fish.")
    match = passage.match("Ann sold the fish")
    assert match is not None
    assert match.text == "Ann sold the fish"
    assert [span.cut(passage.text) for span in match.spans] == ["Ann", "sold the fish"]


def test_coverage_counts_every_word_that_matters() -> None:
    passage = Passage("Ann bought apples and pears.")
    apples, pears = passage.match("Ann bought apples"), passage.match("Ann bought pears")
    assert apples is not None
    assert pears is not None
    assert not passage.covered([])
    assert not passage.covered([apples])
    assert passage.covered([apples, pears])
    assert passage.covered([passage.whole])


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        (["Ann Smith was born in Rome."], ("ann", "smith")),
        (["Ann was born in Rome.", "She left in 1990."], ("ann",)),
        (["Ann met Bob."], ()),
        (["Ann saw a man."], ()),
        (["Ann's brother died."], ()),
        (["The firm was founded in 1990."], ()),
    ],
)
def test_a_pronoun_means_the_only_person_there_is(
    earlier: list[str], expected: tuple[str, ...]
) -> None:
    assert antecedents([*earlier, "She won."])[-1] == expected


def test_a_name_may_stand_for_a_pronoun() -> None:
    match = Passage("She left Rome in 1990.").match("Ann Smith left Rome in 1990", ("ann", "smith"))
    assert match is not None
    assert match.text == "Ann Smith left Rome in 1990"
    assert Passage("She sold her house.").match("Ann sold Ann's house", ("ann",)) is not None


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("She left Rome.", "Bob left Rome"),
        ("It left Rome.", "Ann left Rome"),
        ("They left Rome.", "Ann left Rome"),
        ("The firm left Rome.", "Ann left Rome"),
        ("When Bob came, she left.", "When Bob came, Ann left"),
        ("She may leave Rome.", "Ann leave Rome"),
    ],
)
def test_a_name_stands_for_nothing_else(sentence: str, claim: str) -> None:
    assert Passage(sentence).match(claim, ("ann",)) is None
