"""One replacement inside a text, and helpers for edits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace text[start:end] with `text`."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """Return the edited text."""
        return text[: self.start] + self.text + text[self.end :]


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the literal words or phrases, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def match_case(model: str, word: str) -> str:
    """Return a word with the capitalisation of the word `model`."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
