"""Sentences without one of their phrases."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect import Detector
from halldetect.facts.phrases import shortened
from halldetect.repair.outcome import Method
from tests.support.fakes import OverlapVerifier


@pytest.mark.parametrize(
    ("sentence", "shorter"),
    [
        ("A man in his thirties has been arrested.", "A man has been arrested."),
        ("A 16-year-old boy was found in the park.", "A boy was found in the park."),
        ("The senior officer spoke to the press.", "The officer spoke to the press."),
        ("A senior officer spoke to the press.", "An officer spoke to the press."),
        ("The old club fell in Leeds last week.", "The old club fell."),
        ("The firm, founded in 1902, makes glass.", "The firm makes glass."),
        ("In March, the firm opened a shop.", "The firm opened a shop."),
        ("The roof fell in after it had rained all day.", "The roof fell in."),
        ("The club won the cup, said its coach.", "The club won the cup."),
        ("The firm makes glass and steel.", "The firm makes glass."),
        ("She praised the bridge and left the town.", "She praised the bridge."),
    ],
)
def test_a_phrase_is_left_out(sentence: str, shorter: str) -> None:
    assert shorter in shortened(sentence, "")


@pytest.mark.parametrize(
    ("sentence", "torn"),
    [
        ("They met in York and Leeds.", "They met and Leeds."),
        ("They proposed in Kyoto, Japan.", "They proposed, Japan."),
        ("They look for a girl who is missing.", "They look who is missing."),
        ("They played in the Champions League there.", "They played in the League there."),
        ("It is the most popular sport there.", "It is the popular sport there."),
        ("Anna and Bertha were praised.", "Anna were praised."),
        ("They spoke of peace between Norway and Chad.", "They spoke of peace between Norway."),
        ("The club is in the top 40 there.", "The club is in the 40 there."),
        ("The two clubs are in the same town.", "The two clubs are."),
        ("The head of the union was hurt.", "The head was hurt."),
    ],
)
def test_phrases_are_not_torn(sentence: str, torn: str) -> None:
    assert torn not in shortened(sentence, "")


@pytest.mark.parametrize(
    "sentence",
    [
        "According to the new policy, all customers receive a free bicycle.",
        "According to the policy that was published in May: customers get a bicycle.",
        "Based on the report published in May, customers get a bicycle.",
        "In the report that was sent to customers, zebras are praised.",
        "In addition to what was agreed, customers get a bicycle.",
        "When customers return their goods, zebras are paid in gold.",
        "Founded by Anna Holm in 1902, the firm makes glass.",
        "Having praised the new bridge, the mayor left the town.",
        "To get all their money back, customers need the receipt.",
        "According to the report published after the war, zebras sing.",
        "However, in the report of the mayor, zebras sing.",
    ],
)
def test_an_opener_is_not_left_alone(sentence: str) -> None:
    """Of what stands behind the opener, the verb is left."""
    verbs = {"receive", "get", "praised", "paid", "makes", "left", "need", "sing"}
    rest = re.split("[,:] ", sentence)[-1]
    for text in shortened(sentence, ""):
        assert verbs & set(re.findall(r"\w+", rest)) & set(re.findall(r"\w+", text)), text


def test_a_phrase_behind_an_opener_may_go() -> None:
    found = shortened("According to the report, the firm makes glass in Leeds.", "")
    assert "According to the report, the firm makes glass." in found


def test_what_the_evidence_does_not_know_goes_first() -> None:
    first, *_ = shortened("The fire began in Leeds on Friday.", "The fire began on Friday.")
    assert first == "The fire began on Friday."


@given(st.text(max_size=120))
def test_any_text(sentence: str) -> None:
    for text in shortened(sentence, "evidence"):
        assert len(text) < len(sentence) + 2


def test_two_phrases_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "The mayor praised the new bridge over the river."
    response = "The mayor praised the new bridge with zebras in Patagonia."
    monkeypatch.setattr("halldetect.repair.repairer.STEPS", (Method.SHORTEN,))
    repair = Detector(verifier=OverlapVerifier()).repair(source, response)
    assert repair.text == "The mayor praised the new bridge."
    assert repair.changes[0].method is Method.SHORTEN
