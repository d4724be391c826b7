"""One replacement inside a text, and the helpers with which the edits are made."""

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
        """Return the edited text.

        text: the text that the offsets refer to.
        """
        return text[: self.start] + self.text + text[self.end :]


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the words, the longest first.

    words: literal words or phrases.
    """
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def match_case(model: str, word: str) -> str:
    """Return a word with the capitalisation of another.

    model: the word whose capitalisation to copy. word: the word to write.
    """
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
