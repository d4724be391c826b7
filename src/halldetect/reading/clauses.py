"""Long sentences cut into clauses.

One false clause among many true ones hardly lowers the support of the whole sentence. So a sentence
of at least four clauses is judged clause by clause.
"""

from __future__ import annotations

import re

from halldetect.reading.document import TrackedText
from halldetect.reading.words import (
    ARTICLES,
    SUBJECTS,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

MIN_WORDS = 25
MIN_CLAUSES = 4
_BORDER = re.compile(
    r"(?:;\s+)(?:and\s+|but\s+)?|,\s+(?:(?:and|but|while|whereas)\s+)?"
    r"|\s+(?:and|but|while)\s+(?=(?:the|its?|an?|he|she|they|there|[A-Z][\w-]*|\d[\d.,]*)\s)"
)
# A verb after one of these belongs to a dependent clause.
_DEPENDENT = frozenset(
    "after although as because before if or since so than that though to until when where which "
    "while who whom whose with".split()
)
# The verb of a clause follows its subject within these words.
_SUBJECT_WORDS = 6


def clauses(sentence: TrackedText) -> list[TrackedText]:
    """Return the clauses of a long sentence of many; else the sentence as it is."""
    text = sentence.text
    borders = list(_BORDER.finditer(text))
    if len(borders) < MIN_CLAUSES - 1 or len(words(text)) < MIN_WORDS:
        return [sentence]
    starts = [0, *(border.end() for border in borders)]
    ends = [*(border.start() for border in borders), len(text)]
    found: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if found and not _is_clause(text[start:end]):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    # Parts that are no clauses are more often the items of a list than clauses.
    if len(found) < max(MIN_CLAUSES, 0.6 * len(starts)) or not _is_clause(text[: found[0][1]]):
        return [sentence]
    return [sentence.cut(*place) for place in found]


def _is_clause(text: str) -> bool:
    """Return True if a text has a subject, and soon after it a verb in a finite form."""
    sequence = words(text)
    for position, word in enumerate(sequence[: _SUBJECT_WORDS + 1]):
        norm, before = word.norm, sequence[position - 1].norm
        if norm in _DEPENDENT or (position == 0 and norm.endswith(("ing", "ed", "ly"))):
            return False
        if position == 0 or before in ARTICLES:
            continue
        after = sequence[position + 1].norm if position + 1 < len(sequence) else ""
        participle = norm.endswith("ed") and after not in ARTICLES and after not in SUBJECTS
        if is_finite_verb(norm) or (may_be_past(norm) and not participle):
            return True
        # "weighs", "retires": after a subject in the singular
        if may_be_verb(norm) or (
            norm.endswith("s") and not word.capital and not before.endswith("s")
        ):
            return position < len(sequence) - 1
    return False
