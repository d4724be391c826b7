"""Whether some words of a sentence form a sentence of their own.

The guard decides whether leaving words out changes what the rest says; this module decides whether
the rest still has a subject, a verb and the objects it shared with what was left out. The tests are
coarse, and in doubt the words stay together: what fails here stays in a larger claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from halldetect.claims.guard.omissions import Omissions
from halldetect.text.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    is_finite_verb,
    may_be_verb,
)

_OWNERS = frozenset({"his", "her", "its", "their", "our", "my", "your", "this", "these"})
_COMPLEMENTS = frozenset({"on", "with", "from", "by", "for", "to", "as", "of"})
# A clause that starts so is no sentence without the clause it goes with.
_SUBORDINATORS = frozenset(
    "while when although though because since as after before once whereas until".split()
)


class Grammar:
    """Tests choices of words of one sentence; words are given by their positions."""

    def __init__(self, rules: Omissions) -> None:
        self.text = rules.text
        self.words = rules.words
        self.marks = rules.breaks
        self.verbs = [is_finite_verb(word.norm) for word in rules.words]

    def is_sentence(self, positions: Sequence[int]) -> bool:
        """Whether the words at these positions may form a sentence."""
        return (
            self._begins(positions[0])
            and self._ends(positions)
            and self._has_main_verb(positions)
            and all(
                self._joins(left, right, positions[-1])
                for left, right in pairwise(positions)
                if right - left > 1
            )
        )

    def _begins(self, first: int) -> bool:
        """A claim from the middle of a sentence starts with a subject of its own."""
        if first == 0:
            return True
        start = self.words[first]
        named = start.norm in SUBJECTS | _OWNERS or start.capital or self._article(first, {"the"})
        return named and not self.verbs[first]

    def _ends(self, positions: Sequence[int]) -> bool:
        last = positions[-1]
        if last == len(self.words) - 1:
            return True
        return not self._hangs(last, positions[0]) and self._ends_whole(last)

    def _hangs(self, at: int, first: int) -> bool:
        """Whether a word waits for what follows it: "to", "was", "dealing", "a club based"."""
        norm = self.words[at].norm
        if norm in AUXILIARIES | PREPOSITIONS or norm.endswith("ing"):
            return True
        if self.verbs[at] and self.words[at + 1].norm in _COMPLEMENTS and not self.marks[at + 1]:
            return True  # "focused on"
        before = self.words[at - 1].norm if at > first else ""
        main = not any(self.verbs[first:at]) or before in AUXILIARIES | COORDINATORS
        return norm.endswith("ed") and self.verbs[at] and not main

    def _ends_whole(self, last: int) -> bool:
        """No end before "and" where the second half has what both need: "red and blue paint"."""
        if self.words[last + 1].norm not in COORDINATORS or self.marks[last + 1]:
            return True
        right = last + 2
        if right >= len(self.words) or self.verbs[right]:
            return True
        if self._article(right) or self.words[right].norm in PREPOSITIONS | SUBJECTS | _OWNERS:
            return True  # a phrase that begins anew
        return self._length(right, 1) <= self._length(last, -1)

    def _length(self, at: int, step: int) -> int:
        """How many words a phrase has that starts or ends here."""
        count = 0
        while 0 <= at < len(self.words):
            norm = self.words[at].norm
            if self.verbs[at] or norm in COORDINATORS | PREPOSITIONS | RELATIVES:
                break
            count += 1
            edge = at + 1 if step > 0 else at
            if edge < len(self.words) and self.marks[edge]:
                break
            at += step
        return count

    def _has_main_verb(self, positions: Sequence[int]) -> bool:
        """Whether a verb stands outside asides: "Ann, led by Bob", "While it rained" have none."""
        segments: list[list[int]] = [[]]
        for before, at in zip([positions[0], *positions], positions, strict=False):
            if self.marks[at] and at - before == 1:
                segments.append([])
            segments[-1].append(at)
        opening = self.words[positions[0]]
        if opening.norm not in _SUBORDINATORS and self._main(segments[0]):
            return True
        for number, segment in enumerate(segments[1:], 1):
            start = self.words[segment[0]]
            if start.norm in RELATIVES or not self._main(segment):
                continue
            if self.verbs[segment[0]]:
                if number > 1:
                    return True  # the aside before it is closed: "Ann, a cook, left"
            elif start.capital or start.norm in SUBJECTS | _OWNERS or self._article(segment[0]):
                return True  # "In 2015, Ann left"
        return False

    def _main(self, segment: Sequence[int]) -> bool:
        """Whether a verb is in a segment before any "who" or "that"."""
        for at in segment:
            if self.words[at].norm in RELATIVES:
                return False
            if self.verbs[at]:
                return True
        return False

    def _article(self, at: int, wanted: AbstractSet[str] = ARTICLES) -> bool:
        """Whether an article stands before a word."""
        floor = self.words[at - 1].end if at else 0
        last = self.text[floor : self.words[at].start].casefold().split()[-1:]
        return bool(last) and last[0] in wanted

    def _joins(self, left: int, right: int, last: int) -> bool:
        """Whether what stands behind a gap goes with what stands before it."""
        before, after = self.words[left], self.words[right]
        opened = self.marks[left + 1]
        if before.capital and self.words[left + 1].capital and not opened:
            return False  # in the middle of a name
        if self.words[left + 1].norm == "from" and after.norm == "to":
            return False  # "from 1984 to 2001"
        if after.norm in PREPOSITIONS and not opened and not self._dated(left + 1, right, last):
            return False  # "took a degree [from Rome] in law": in doubt it goes with the noun
        if not self.verbs[right] and may_be_verb(after.norm):
            return False  # "Ann goes [into the dark and] finds a door"
        if before.norm.endswith("ing") or before.norm in _OWNERS | RELATIVES:
            return False
        if not opened and self._article(right) and not self._article(left + 1):
            return False  # "boxes of [sweets and] a bag of nuts"
        if self.verbs[left] or before.norm in PREPOSITIONS:
            if (
                self.verbs[right]
                or after.norm in PREPOSITIONS | COORDINATORS
                or after.norm.endswith("ing")
            ):
                return False
        elif opened and not (self.verbs[right] or after.norm in PREPOSITIONS):
            return False
        if self.verbs[right] and not opened and not self._same_subject(left + 1, right):
            return False
        return not self._own_subject(right, last)

    def _dated(self, start: int, right: int, last: int) -> bool:
        """Whether one of two adjuncts gives a date or a number, so that they stand side by side."""
        end = right + 1
        while end <= last and not self.marks[end] and self.words[end].norm not in PREPOSITIONS:
            end += 1
        first, second = self.words[start:right], self.words[right:end]
        return any(word.numeric for word in first) or any(word.numeric for word in second)

    def _same_subject(self, start: int, end: int) -> bool:
        """Whether what is left out is one plain predicate, so that the subject is still meant."""
        left_out = self.words[start:end]
        return sum(
            verb and self.words[at - 1].norm not in AUXILIARIES
            for at, verb in enumerate(self.verbs[start:end], start)
        ) <= 1 and not any(
            word.norm in RELATIVES | _SUBORDINATORS | SUBJECTS or word.norm.endswith("ing")
            for word in left_out
        )

    def _own_subject(self, right: int, last: int) -> bool:
        """Another subject behind the gap: "Ann was [Bob's aunt and] his brother was a cook"."""
        if self.verbs[right]:
            return False
        for at in range(right + 1, last + 1):
            norm = self.words[at].norm
            if self.marks[at] or norm in COORDINATORS | RELATIVES | PREPOSITIONS:
                return False
            if self.verbs[at]:
                return True
        return False
