"""How a split sentence is put to the model, what it may answer, and how that is read.

The pieces go in with a letter before each, and behind them the claims that the rule would take; a
claim comes back as the letters of its pieces, one claim a line. The model so has a draft to copy or
to mend. A sentence of twenty words takes about ten tokens to answer instead of forty, and a
grammar made for the sentence lists the claims it may have, so that neither malformed nor invented
nor endless answers exist.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.claims.extractors.cover import MOST_CLAIMS, finest
from halldetect.claims.extractors.prompt import unmarked
from halldetect.claims.extractors.splits import Split

# Changes with anything the model would have to be trained for again.
VERSION = 2
# One token each behind a space; without "A" and "I", which are words.
LETTERS = "BCDEFGHJKLMNOPQRSTUVWXYZ"
# What the model reads before and behind: the turn marks it was trained with.
BEGIN, ANSWER = "<|im_start|>", "=\n"
_SPACES = re.compile(r"\s+")


def prompt(split: Split, special: re.Pattern[str] | None = None) -> str:
    """The pieces with their letters and the draft, and nothing in them that acts as a mark."""
    parts: list[str] = []
    end = 0
    for letter, piece in zip(LETTERS, split.pieces, strict=False):
        glue = split.sentence[end : piece.start].strip()
        parts += [glue, letter, piece.cut(split.sentence)]
        end = piece.end
    line = _SPACES.sub(" ", unmarked(" ".join(parts), special)).strip()
    return f"{BEGIN} {line}\n{answer(finest(split))}{ANSWER}"


def answer(claims: Sequence[Sequence[int]]) -> str:
    """The claims in letters, as the model is trained to write them."""
    return "".join("".join(f" {LETTERS[piece]}" for piece in claim) + "\n" for claim in claims)


def grammar(split: Split, most: int = MOST_CLAIMS) -> str:
    """A GBNF grammar of one to `most` claims out of those the split allows."""
    lines = " | ".join(f'"{answer([claim])[:-1]}"' for claim in split.claims)
    return f'root ::= claim{{1,{most}}}\nclaim ::= ({lines}) "\\n"\n'


def read(text: str, split: Split) -> tuple[tuple[int, ...], ...]:
    """The claims of an answer, each once; what is not among the split's is left out."""
    allowed = set(split.claims)
    found: dict[tuple[int, ...], None] = {}
    for line in text.splitlines():
        claim = tuple(LETTERS.find(letter) for letter in line.split())
        if claim in allowed:
            found[claim] = None
    return tuple(found)


def letterable(split: Split) -> bool:
    """Whether there are letters enough for the pieces."""
    return len(split.pieces) <= len(LETTERS)
