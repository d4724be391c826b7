"""Leave out one phrase of a sentence by rule; the rest must still read as a sentence.

Candidates are phrases that start with a preposition, text between commas, additions with "and",
final clauses, and single words between an article and its noun. Every result is a proposal that
the verifier must support.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from halldetect.facts import has_number
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    RELATIVES,
    Word,
    is_finite_verb,
    is_past_verb,
    may_be_past,
    may_be_verb,
    words,
)
from halldetect.repair.corrections import Edit

# Fewer words are not a statement.
MIN_WORDS = 4
_CLAUSE_STARTS = frozenset("after before because while when although though since as".split())
_PHRASE_STARTS = PREPOSITIONS - frozenset(
    "because while when although though as of to than like unlike per once where whereas".split()
)
_DETERMINERS = ARTICLES | {"his", "her", "its", "their", "this", "that", "these", "those"}
_DEGREES = frozenset("most more least less very same only other own".split())
_VERB_FOLLOWS = RELATIVES | frozenset("how why what when where whether".split())
_OR = COORDINATORS | {"or", "nor"}
_PAUSE = re.compile(r"[,;:()–—]|\s-\s")
# Words that begin a phrase before a statement: "According to the report, ...".
_OPENERS = PREPOSITIONS | frozenset(
    "according based compared due given if to unless whether whenever".split()
)


def shortened(sentence: str, evidence: str) -> list[str]:
    """Return the sentence without one phrase, omitting phrases that the evidence lacks first."""
    text = _Sentence(sentence)
    known = content_keys(evidence)
    strange: dict[str, float] = {}
    for edit in chain(
        text.prepositional(), text.between_commas(), text.additions(), text.clauses(),
        text.modifiers(),
    ):  # fmt: skip
        shorter = edit.apply(sentence)
        if len(words(shorter)) >= MIN_WORDS and text.leaves_statement(edit):
            cut = content_keys(sentence[edit.start : edit.end])
            strange.setdefault(shorter, 1.0 - shared_part(cut, known) if cut else 0.0)
    return sorted(strange, key=lambda shorter: (-strange[shorter], -len(shorter)))


class _Sentence:
    """A sentence and its words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: Sequence[Word] = words(text)

    def leaves_statement(self, edit: Edit) -> bool:
        """Return True if an edit leaves a verb after the opening phrase."""
        return any(
            may_be_verb(word.norm)
            for word in self.words[self._opening() :]
            if word.end <= edit.start or edit.end <= word.start
        )

    def _opening(self) -> int:
        """Return the number of words in the opening phrases."""
        start = 0
        for at in range(1, len(self.words)):
            if self._pauses(at):
                first = self.words[start].norm
                participle = first.endswith("ing") or is_past_verb(first)
                if at - start > 1 and first not in _OPENERS and not participle:
                    break
                start = at
        return start

    def prepositional(self) -> Iterator[Edit]:
        """Yield prepositional phrases, up to the next verb, preposition or pause."""
        found = self.words
        for at in range(1, len(found)):
            # "is in York" is incomplete without "in York".
            if found[at].norm not in _PHRASE_STARTS or found[at - 1].norm in AUXILIARIES:
                continue
            end = self._end_of_phrase(at + 1)
            if end == at + 1 or found[end - 1].norm in FUNCTION_WORDS | _DETERMINERS:
                continue
            if end < len(found):  # "in York and Leeds", "in York, UK"
                comma = "," in self.text[found[end - 1].end : found[end].start]
                if (comma and found[end].capital) or found[end].norm in _OR | RELATIVES:
                    continue
            yield self._cut(at, end)

    def additions(self) -> Iterator[Edit]:
        """Yield additions with "and": a second noun, or a second verb up to the next pause."""
        found = self.words
        for at in range(1, len(found) - 1):
            paired = any(word.norm in ("between", "both") for word in found[:at])
            if found[at].norm != "and" or paired:
                continue
            following = found[at + 1].norm
            if may_be_verb(following) or following in _VERB_FOLLOWS:
                end = at + 2
                while end < len(found) and not self._pauses(end):
                    end += 1
            else:
                end = self._end_of_phrase(at + 2)
                # Keep two subjects of one verb together.
                after = found[end].norm if end < len(found) else ""
                if may_be_verb(after) or after in RELATIVES:
                    continue
            yield self._cut(at, end)

    def between_commas(self) -> Iterator[Edit]:
        """Yield text between two commas, after the last one, or before the first one."""
        found = self.words
        pauses = [
            at
            for at in range(1, len(found))
            if "," in self.text[found[at - 1].end : found[at].start]
        ]
        for start, end in pairwise([0, *pauses, len(found)]):
            if (start, end) == (0, len(found)) or end - start < 2 or found[start].norm in _OR:
                continue
            if start == 0:
                if found[0].norm in PREPOSITIONS:
                    yield Edit(0, found[end].start, "")
            elif end == len(found) or found[end].norm not in _OR:
                last = found[end - 1].end
                if end < len(found):
                    last = self.text.find(",", last, found[end].start) + 1
                yield Edit(found[start - 1].end, last, "")

    def clauses(self) -> Iterator[Edit]:
        """Yield clauses such as "after it had rained" up to the end."""
        for at, word in enumerate(self.words[:-1]):
            verbs = (is_finite_verb(item.norm) for item in self.words[:at])
            if word.norm in _CLAUSE_STARTS and any(verbs):
                yield self._cut(at, len(self.words))

    def modifiers(self) -> Iterator[Edit]:
        """Yield single words between an article and its noun."""
        for before, word, after in zip(self.words, self.words[1:], self.words[2:], strict=False):
            gaps = self.text[before.end : word.start], self.text[word.end : after.start]
            if gaps != (" ", " ") or before.norm not in _DETERMINERS or has_number(after.norm):
                continue
            if after.norm in FUNCTION_WORDS or word.norm in FUNCTION_WORDS | _DEGREES:
                continue
            if is_finite_verb(after.norm) or (word.capital and after.capital):
                continue
            article = self.text[before.start : before.end]
            if before.norm in ("a", "an"):
                article = article[0] + ("n" if after.norm[:1] in "aeiou" else "")
            yield Edit(before.start, after.start, f"{article} ")

    def _pauses(self, at: int) -> bool:
        return bool(_PAUSE.search(self.text[self.words[at - 1].end : self.words[at].start]))

    def _end_of_phrase(self, at: int) -> int:
        """Return the index of the first word that ends a phrase."""
        while at < len(self.words):
            norm = self.words[at].norm
            ends = norm in (PREPOSITIONS | _OR | RELATIVES) - {"of"}
            if ends or self._pauses(at) or is_finite_verb(norm) or may_be_past(norm):
                break
            at += 1
        return at

    def _cut(self, start: int, end: int) -> Edit:
        """Return an edit that leaves out words, with the space and comma before them."""
        first = self.words[start - 1].end if start else 0
        return Edit(first, self.words[end - 1].end, "")
