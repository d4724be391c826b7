"""Comments, docstrings and docs are plain technical English.

`python -m tests.support.language` prints the numbers, and with files as arguments every place.
"""

from __future__ import annotations

import pytest

from tests.support.language import NOT_VERBS, PHRASES, areas, count, rate, starts

AREAS = ("src", "docs")
CEILING = 0.8  # phrases per 1,000 words
NO_VERB = 1  # docstrings of functions in src that do not begin with a verb; goal: 0


@pytest.mark.parametrize("area", AREAS)
def test_marked_phrases_are_rare(area: str) -> None:
    found, phrases = rate(areas()[area])
    assert found <= CEILING, phrases


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    found = [line for path in areas()["src"] for line in starts(path)]
    assert len(found) <= NO_VERB, "\n".join(found[:20])


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("A label is no claim.", "is no X"),
        ("So many pairs are judged together.", "so many"),
        ("Whether the claim is a question.", "what is"),
        ("It leans\non the sentence before.", "leans on"),
        ("Models that cannot be had any more", "to be had"),
    ],
)
def test_phrase_is_found(text: str, phrase: str) -> None:
    assert count(text)[phrase] == 1


@pytest.mark.parametrize(
    "text", ["There is no claim.", "Return True if it is no longer valid.", "What is a claim?"]
)
def test_plain_sentence_is_not_counted(text: str) -> None:
    assert not count(text).total()


def test_patterns_are_few_and_lower_case() -> None:
    assert len(PHRASES) == 19
    assert all(word.islower() for word in NOT_VERBS)
