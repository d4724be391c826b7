"""Leave out one phrase of a sentence by rule; the rest must still read as a sentence.

Candidates are phrases that start with a preposition, text between commas, additions with "and",
final clauses, and single words between an article and its noun. Every result is a proposal that
the verifier must support. Repairs and the search for wrong words use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from halldetect.facts.recogniser import FactKind, find_facts, has_number
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    RELATIVES,
    is_finite_verb,
    is_past_verb,
    may_be_past,
    may_be_verb,
    words,
)

# Fewer words are not a statement.
MIN_WORDS = 4
# A longer sentence is not shortened: each phrase would be tried in all of its characters.
MAX_LENGTH = 400
_CLAUSE_STARTS = frozenset("after before because while when although though since as".split())
_PHRASE_STARTS = PREPOSITIONS - frozenset(
    "because while when although though as of to than like unlike per once where whereas".split()
)
_DETERMINERS = ARTICLES | {"his", "her", "its", "their", "this", "that", "these", "those"}
_DEGREES = frozenset("most more least less very same only other own".split())
_VERB_FOLLOWS = RELATIVES | frozenset("how why what when where whether".split())
_OR = COORDINATORS | {"or", "nor"}
_JOINS = _OR | RELATIVES
_PAUSE = re.compile(r"[,;:()–—]|\s-\s")
# Words that begin a phrase before a statement: "According to the report, ...".
_OPENERS = PREPOSITIONS | frozenset(
    "according based compared due given if to unless whether whenever".split()
)
_NEUTRAL = {FactKind.NUMBER: "some", FactKind.NAME: "someone"}


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the characters from `start` to `end` by `text`."""

    start: int
    end: int
    text: str

    def apply(self, sentence: str) -> str:
        """Return the sentence with the edit."""
        start, end, text = self.start, self.end, self.text
        if not text:  # tidy the spaces and commas that remain
            if sentence[:start].endswith(", ") and sentence[end : end + 1] == ",":
                start, end = start - 2, end + 1
            while start > 0 and sentence[start - 1] == " " and sentence[end : end + 1] in " ,.;":
                start -= 1
        edited = sentence[:start] + text + sentence[end:]
        first = next((at for at, char in enumerate(edited) if char.isalnum()), None)
        if first is not None and first >= start and sentence[self.start : self.end][:1].isupper():
            edited = edited[:first] + edited[first].upper() + edited[first + 1 :]
        return edited


def shortened(sentence: str, evidence: str, *, loosely: bool = False) -> dict[str, Edit]:
    """Return the sentence without one phrase, omitting phrases that the evidence lacks first.

    With `loosely`, also without all that follows a joint, or with "some" for a number and "someone"
    for a name; that may be bad English.
    """
    if len(sentence) > MAX_LENGTH:
        return {}
    text, known = _Sentence(sentence), content_keys(evidence)
    edits = [*text.phrases(), *text.between_commas(), *text.modifiers()]
    if loosely:
        edits += text.ends()
        facts = [fact for fact in find_facts(sentence) if fact.kind in _NEUTRAL]
        edits += [Edit(fact.start, fact.end, _NEUTRAL[fact.kind]) for fact in facts]
    strange: dict[str, float] = {}
    found: dict[str, Edit] = {}
    for edit in edits:
        shorter = edit.apply(sentence)
        if len(words(shorter)) >= MIN_WORDS and text.leaves_statement(edit):
            cut = content_keys(sentence[edit.start : edit.end])
            strange.setdefault(shorter, 1.0 - shared_part(cut, known) if cut else 0.0)
            found.setdefault(shorter, edit)
    ranked = sorted(found, key=lambda shorter: (-strange[shorter], -len(shorter)))
    return {shorter: found[shorter] for shorter in ranked}


class _Sentence:
    """A sentence with its words, and its pauses: the words after a comma, colon or dash."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)
        self.norms = [word.norm for word in self.words]
        self.gaps = ["", *(text[a.end : b.start] for a, b in pairwise(self.words))]
        self.pauses = [at for at, gap in enumerate(self.gaps) if _PAUSE.search(gap)]

    def leaves_statement(self, edit: Edit) -> bool:
        """Return True if an edit leaves a verb after the opening phrases."""
        start = 0
        for at in self.pauses:
            first = self.norms[start]
            participle = first.endswith("ing") or is_past_verb(first)
            if at - start > 1 and first not in _OPENERS and not participle:
                break
            start = at
        return any(
            may_be_verb(word.norm)
            for word in self.words[start:]
            if word.end <= edit.start or edit.end <= word.start
        )

    def ends(self) -> Iterator[Edit]:
        """Yield all that follows a pause, a preposition or a word that joins."""
        joints = _JOINS | _PHRASE_STARTS | _CLAUSE_STARTS
        for at in range(2, len(self.words)):
            if at in self.pauses or self.norms[at] in joints:
                yield self._cut(at, len(self.words))

    def phrases(self) -> Iterator[Edit]:
        """Yield phrases with a preposition, additions with "and", and final clauses."""
        norms, count = self.norms, len(self.norms)
        for at in range(1, count - 1):
            # "is in York" is incomplete without "in York".
            if norms[at] in _PHRASE_STARTS and norms[at - 1] not in AUXILIARIES:
                end = self._end_of_phrase(at + 1)
                whole = end > at + 1 and norms[end - 1] not in FUNCTION_WORDS | _DETERMINERS
                if whole and not self._continues(end):
                    yield self._cut(at, end)
            if norms[at] == "and" and not {"between", "both"} & set(norms[:at]):
                verb = may_be_verb(norms[at + 1]) or norms[at + 1] in _VERB_FOLLOWS
                end = self._end_of_phrase(at + 2)
                if verb:
                    end = next((pause for pause in self.pauses if pause > at + 1), count)
                after = norms[end] if end < count else ""
                # Keep two subjects of one verb together.
                if verb or not (may_be_verb(after) or after in RELATIVES):
                    yield self._cut(at, end)
            if norms[at] in _CLAUSE_STARTS and any(map(is_finite_verb, norms[:at])):
                yield self._cut(at, count)

    def between_commas(self) -> Iterator[Edit]:
        """Yield text between two commas, after the last one, or before the first one."""
        found = self.words
        commas = [at for at in self.pauses if "," in self.gaps[at]]
        for start, end in zip([0, *commas], [*commas, len(found)], strict=True):
            if end - start < 2 or self.norms[start] in _OR:
                continue
            if start == 0 and commas and self.norms[0] in PREPOSITIONS:
                yield Edit(0, found[end].start, "")
            elif start and end == len(found):
                yield self._cut(start, end)
            elif start and self.norms[end] not in _OR:
                last = self.text.find(",", found[end - 1].end, found[end].start) + 1
                yield Edit(found[start - 1].end, last, "")

    def modifiers(self) -> Iterator[Edit]:
        """Yield single words between an article and its noun."""
        for at in range(2, len(self.words)):
            before, word, after = self.words[at - 2 : at + 1]
            plain = self.gaps[at - 1] == self.gaps[at] == " " and before.norm in _DETERMINERS
            if not plain or has_number(after.norm) or is_finite_verb(after.norm):
                continue
            if after.norm in FUNCTION_WORDS or word.norm in FUNCTION_WORDS | _DEGREES:
                continue
            article = self.text[before.start : before.end]
            if before.norm in ("a", "an"):
                article = article[0] + ("n" if after.norm[:1] in "aeiou" else "")
            if not (word.capital and after.capital):
                yield Edit(before.start, after.start, f"{article} ")

    def _end_of_phrase(self, at: int) -> int:
        """Return the index of the first word that ends a phrase."""
        while at < len(self.norms):
            norm = self.norms[at]
            ends = norm in (PREPOSITIONS | _JOINS) - {"of"} or at in self.pauses
            if ends or is_finite_verb(norm) or may_be_past(norm):
                break
            at += 1
        return at

    def _continues(self, end: int) -> bool:
        """Return True if the next word belongs to a phrase: "in York and Leeds", "in York, UK"."""
        if end == len(self.words):
            return False
        return self.norms[end] in _JOINS or ("," in self.gaps[end] and self.words[end].capital)

    def _cut(self, start: int, end: int) -> Edit:
        """Return an edit that leaves out words, with the space and comma before them."""
        return Edit(self.words[start - 1].end, self.words[end - 1].end, "")
