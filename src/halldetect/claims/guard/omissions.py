"""What may be left out of a sentence without changing the rest of what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise

from halldetect.reading.words import (
    ADJUNCT_STARTS,
    ADJUNCTS_AFTER,
    COORDINATORS,
    ENGLISH,
    FOREIGN,
    INVERTED,
    PREPOSITIONS,
    RELATIVES,
    Word,
    is_finite_verb,
    is_past_verb,
    scope,
)
from halldetect.reading.words import words as text_words

_QUOTED = re.compile("[\"“”„«»‘「『]|(?<!\\w)'")
_BREAK = re.compile(r"[,;:()\[\]—–]|(?<=\s)-+(?=\s)")


def is_plain(text: str, norms: AbstractSet[str]) -> bool:
    """Whether a sentence is a plain English statement: no quotation, question or inversion.

    text   the sentence
    norms  its words
    """
    first = text_words(text)[:1]
    return not (
        _QUOTED.search(text) is not None
        or bool(norms & FOREIGN)
        or not norms & ENGLISH
        or (first and first[0].norm in INVERTED)
        or "?" in text
    )


class Omissions:
    """Decides which words of one sentence may be left out.

    text   the sentence
    words  its words without fillers; they are given by their positions
    """

    def __init__(self, text: str, words: Sequence[Word]) -> None:
        self.text = text
        self.words = words

    @cached_property
    def breaks(self) -> list[str]:
        """The punctuation between each word and the word before it."""
        marks: list[str] = []
        end = 0
        for word in self.words:
            breaks = _BREAK.findall(self.text[end : max(end, word.start)])
            marks.append("".join(breaks) if marks else "")
            end = word.end
        return marks

    @cached_property
    def whole_only(self) -> bool:
        """Whether nothing may be left out: a quotation, hearsay, a condition, another language."""
        norms = {word.norm for word in text_words(self.text)}
        return not is_plain(self.text, norms) or any(scope(norm) == "sentence" for norm in norms)

    @cached_property
    def _parts(self) -> list[int]:
        """For each word the number of its part; parts are joined clauses with a verb each."""
        numbers: list[int] = []
        verbs = [is_finite_verb(word.norm) for word in self.words]
        begin = 0
        for position, (word, mark) in enumerate(zip(self.words, self.breaks, strict=True)):
            joins = word.norm in COORDINATORS | {"so", "yet", "while", "whereas"}
            starts = ";" in mark or (joins and mark in (",", "—", "–"))
            if starts and any(verbs[begin:position]) and any(verbs[position:]):
                begin = position
            numbers.append(begin)
        return numbers

    def allowed(self, positions: Sequence[int]) -> bool:
        """Whether the words at these positions alone say nothing that the sentence does not."""
        if self.whole_only:
            return False
        chosen_words = [self.words[position] for position in positions]
        if not any(is_finite_verb(word.norm) for word in chosen_words):
            return False
        if not self._scopes_whole(positions):
            return False
        first, last = positions[0], positions[-1]
        past = any(is_past_verb(word.norm) for word in chosen_words) and not any(
            is_finite_verb(word.norm) and not is_past_verb(word.norm) for word in chosen_words
        )
        return (
            self.lead(first, past)
            and self.tail(last, past, any(word.numeric for word in chosen_words))
            and all(
                self._gap(left, right, positions, past)
                for left, right in pairwise(positions)
                if right - left > 1
            )
        )

    def _scopes_whole(self, positions: Sequence[int]) -> bool:
        """No part that holds a negation, a modal or a quantifier is taken in pieces."""
        chosen = set(positions)
        touched = range(self._parts[positions[0]], positions[-1] + 1)
        parts = {self._parts[position] for position in touched}
        governed = {
            self._parts[position]
            for position, word in enumerate(self.words)
            if self._parts[position] in parts and scope(word.norm) == "part"
        }
        return all(
            position in chosen or (position == part and self.words[position].norm in COORDINATORS)
            for position, part in enumerate(self._parts)
            if part in governed
        )

    def lead(self, first: int, past: bool) -> bool:
        """Whether the words before the claim's first may be left out: a clause, or time and place.

        first  the position of the first word
        past   whether the claim is about an event in the past
        """
        if first == 0:
            return True
        lead = self.words[:first]
        start = self.words[first].norm
        if start in RELATIVES | COORDINATORS | PREPOSITIONS:
            return False
        mark = self.breaks[first]
        if lead[-1].norm in COORDINATORS:
            mark = mark or self.breaks[first - 1]
        if not mark or not set(mark) <= set(",;—–"):
            return False
        if lead[0].norm in PREPOSITIONS and len(lead) < 8:
            return past
        return any(is_finite_verb(word.norm) for word in lead)

    def tail(self, last: int, past: bool, counted: bool) -> bool:
        """Whether the words after the claim's last may be left out.

        last     the position of the last word
        past     whether the claim is about an event in the past
        counted  whether it has a number
        """
        if last == len(self.words) - 1:
            return True
        rest = self.words[last + 1 :]
        mark = self.breaks[last + 1]
        head = rest[0].norm
        if head in COORDINATORS:
            return bool(mark) or not counted
        if not mark:
            return head in ADJUNCT_STARTS and past
        if set(mark) & set(":"):
            return False
        if head in RELATIVES:
            return True
        if head in PREPOSITIONS:
            return past
        if len(rest) <= 4 and any(is_finite_verb(word.norm) for word in rest):
            return ";" in mark  # "..., Ann muttered": somebody else's words
        return not (self.words[last].capital and rest[0].capital) and not rest[0].numeric

    def _gap(self, left: int, right: int, positions: Sequence[int], past: bool) -> bool:
        """Whether the words between two words of the claim may be left out."""
        first, last = positions[0], positions[-1]
        gap = self.words[left + 1 : right]
        opened, closed = self.breaks[left + 1], self.breaks[right]
        verbs = any(is_finite_verb(word.norm) for word in gap)
        numbers = self.words[left].numeric or self.words[right].numeric
        if opened and closed and not numbers:
            return gap[0].norm in RELATIVES or not verbs
        if past and gap[0].norm in ADJUNCT_STARTS and self.words[right].norm in ADJUNCTS_AFTER:
            # "born in Rome in 1990": one adjunct of a past event goes, the next stays
            listed = any(self.breaks[left + 2 : right]) and not closed
            joined = any(word.norm in COORDINATORS for word in gap)
            return not (verbs or listed or joined)
        subject = first == 0 and not any(
            is_finite_verb(word.norm) or mark
            for word, mark in zip(
                self.words[: left + 1], ["", *self.breaks[1 : left + 1]], strict=True
            )
        )
        if len(gap) == 1 and gap[0].norm in {"who", "which"} and opened:
            return subject and is_finite_verb(self.words[right].norm)
        if gap[-1].norm not in COORDINATORS and closed != ",":
            return False
        if is_finite_verb(gap[0].norm) and is_finite_verb(self.words[right].norm):
            return subject
        return (
            not verbs
            and len(gap) <= 6
            and not any(word.norm in PREPOSITIONS or word.norm == "'s" for word in gap)
            and not any(word.numeric for word in self.words)
            and not any(is_finite_verb(word.norm) for word in self.words[last + 1 :])
        )
