"""Corrections of a sentence by rule, with words of the closest sentence of the source.

Every correction is a proposal that the verifier must support. Corrections come from aligned words
(equal words around different ones), facts of one form, two exchanged facts, and a negation on one
side only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from halldetect.facts import Fact, FactKind, WordUsage, find_facts, has_number
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    FUNCTION_WORDS,
    NEGATIONS,
    PREPOSITIONS,
    Word,
    is_finite_verb,
    may_be_verb,
    scope,
    words,
)

# A longer run of different words is another statement, not a wrong word.
MAX_RUN = 4
# With fewer words in common, two sentences cannot be aligned.
MIN_SHARED = 2
_PAUSE = re.compile(r"[,;:()]\s")
_DO = frozenset({"do", "does", "did"})


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


def corrections(
    sentence: str, evidence: str, usage: WordUsage | None = None, *, facts_only: bool = False
) -> list[str]:
    """Return versions of the sentence with one thing taken from the evidence, likely ones first.

    Args:
        sentence: A sentence of the response.
        evidence: A sentence of the source.
        usage: Word usage in the response and its source; by default, in these two sentences.
        facts_only: True to change only numbers, dates, names, negations and words such as "all".
    """
    usage = usage or WordUsage([sentence, evidence])
    aligned = [
        edit
        for edit in _aligned_edits(sentence, evidence, usage)
        if not facts_only or _governs(edit.text, sentence[edit.start : edit.end])
    ]
    ours, theirs = find_facts(sentence, usage), find_facts(evidence, usage)
    edits = [
        *aligned,
        *_fact_edits(sentence, evidence, ours, theirs),
        *_negation_edits(sentence, evidence),
    ]
    proposed = [edit.apply(sentence) for edit in edits]
    if len(aligned) > 1:
        text = sentence
        for edit in sorted(aligned, key=lambda edit: edit.start, reverse=True):
            text = edit.apply(text)
        proposed.append(text)
    proposed += _swaps(sentence, ours, theirs)
    return [text for text in dict.fromkeys(proposed) if text != sentence and text.strip()]


def _aligned_edits(sentence: str, evidence: str, usage: WordUsage) -> Iterator[Edit]:
    """Yield edits for different words between equal ones, or for a superfluous "not"."""
    ours, theirs = words(sentence), words(evidence)
    codes = SequenceMatcher(
        None, [word.norm for word in ours], [word.norm for word in theirs], autojunk=False
    ).get_opcodes()
    if sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag == "equal") < MIN_SHARED:
        return
    for at, (tag, i1, i2, j1, j2) in enumerate(codes):
        around = [*codes[max(at - 1, 0) : at], *codes[at + 1 : at + 2]]
        if any(other[0] != "equal" for other in around) or max(i2 - i1, j2 - j1) > MAX_RUN:
            continue
        if _splits_word(ours, i1, i2) or _splits_word(theirs, j1, j2):
            continue
        own, other = ours[i1:i2], theirs[j1:j2]
        if tag == "replace":
            new = evidence[other[0].start : other[-1].end]
            replaced = sentence[own[0].start : own[-1].end]
            governs = _governs(new, replaced)
            names = usage.are_name(sentence, own) and usage.are_name(evidence, other)
            other_subject = i1 == 0 and _is_bare_subject(ours, i2) and not (governs or names)
            if not other_subject and _fits(new, replaced, opens=i1 == 0):
                yield Edit(own[0].start, own[-1].end, new)
        elif tag == "delete" and any(scope(word.norm) for word in own):
            yield Edit(own[0].start, own[-1].end, "")
        elif tag == "insert" and i1 > 0 and any(scope(word.norm) for word in other):
            place = ours[i1 - 1].end
            yield Edit(place, place, f" {evidence[other[0].start : other[-1].end]}")


def _governs(new: str, replaced: str) -> bool:
    """Return True if an edit changes a number, a date, or a word that governs the sentence."""
    return has_number(new) or any(scope(word.norm) for word in (*words(new), *words(replaced)))


def _is_bare_subject(found: list[Word], end: int) -> bool:
    """Return True if the words before `end` are the whole subject: "Refunds take 30 days".

    Replacing them, unless both are names, would change the topic of the sentence.
    """
    article = found[0].norm in FUNCTION_WORDS
    return not article and any(may_be_verb(word.norm) for word in found[1 : end + 1])


def _fits(text: str, replaced: str, *, opens: bool) -> bool:
    """Return True if words of the source fit in place of others.

    A number does not replace words, nor words a number. Verbs, pauses and open ends must agree;
    otherwise the run crosses a phrase boundary.
    """
    if has_number(replaced) != has_number(text) or (
        _PAUSE.search(text) and not _PAUSE.search(replaced)
    ):
        return False
    new, old = words(text), words(replaced)
    verbs = [any(is_finite_verb(word.norm) for word in run) for run in (new, old)]
    open_ends = [bool(run) and run[-1].norm in PREPOSITIONS | ARTICLES for run in (new, old)]
    if verbs[0] != verbs[1] or open_ends[0] != open_ends[1]:
        return False
    return not opens or len(new) <= len(old)


def _splits_word(given: list[Word], start: int, end: int) -> bool:
    """Return True if a run begins or ends inside a word such as "isn't", which counts as two."""
    edges = [at for at in (start, end) if 0 < at < len(given)]
    return any(given[at].start == given[at - 1].start for at in edges)


def _fact_edits(
    sentence: str, evidence: str, ours: Sequence[Fact], theirs: Sequence[Fact]
) -> Iterator[Edit]:
    """Yield edits that replace facts absent from the evidence by its facts of the same form."""
    known, said = evidence.casefold(), sentence.casefold()
    for fact in ours:
        if fact.key in {other.key for other in theirs} or fact.text.casefold() in known:
            continue
        if fact.kind is FactKind.NAME:  # "Holm" of "Anna Holm"
            found = set(re.findall(r"\w+", known))
            rest = [part for part in fact.text.split() if part.casefold().strip(".’'") in found]
            if rest:
                yield Edit(fact.start, fact.end, " ".join(rest))
        offered = [
            other
            for other in theirs
            if other.form == fact.form and other.text.casefold() not in said
        ]
        for other in sorted(offered, key=lambda other: other.following != fact.following):
            yield Edit(fact.start, fact.end, other.text)


def _swaps(sentence: str, ours: Sequence[Fact], theirs: Sequence[Fact]) -> list[str]:
    """Return versions of the sentence with two facts of the evidence exchanged."""
    known = {fact.key for fact in theirs}
    return [
        sentence[: first.start]
        + second.text
        + sentence[first.end : second.start]
        + first.text
        + sentence[second.end :]
        for first, second in combinations([fact for fact in ours if fact.key in known], 2)
        if first.form == second.form and first.key != second.key
    ]


def _negation_edits(sentence: str, evidence: str) -> Iterator[Edit]:
    """Yield edits for a negation on one side; "did not open" and "opened" need another verb."""
    ours, theirs = words(sentence), words(evidence)
    denied = [at for at, word in enumerate(ours) if word.norm in NEGATIONS]
    denies = [at for at, word in enumerate(theirs) if word.norm in NEGATIONS]
    for at in denied if not denies else ():
        before = ours[at - 1] if at else None
        if before is not None and before.norm in _DO and at + 1 < len(ours):
            verb = _same_verb(ours[at + 1], theirs)
            if verb is not None:
                yield Edit(before.start, ours[at + 1].end, evidence[verb.start : verb.end])
        elif before is not None and before.end == ours[at].end:  # "isn't" is one word
            yield Edit(before.start, before.end, before.norm)
        else:
            yield Edit(ours[at].start, ours[at].end, "")
    if denied or not denies:
        return
    for word in ours:
        if word.norm in AUXILIARIES - _DO:
            yield Edit(word.end, word.end, " not")
            return
    for at in denies:
        if at and theirs[at - 1].norm in _DO and at + 1 < len(theirs):
            verb = _same_verb(theirs[at + 1], ours)
            if verb is not None:
                text = f"{theirs[at - 1].norm} not {theirs[at + 1].norm}"
                yield Edit(verb.start, verb.end, text)


def _same_verb(verb: Word, others: list[Word]) -> Word | None:
    """Return the form of a verb among other words, recognised by its first letters."""
    stem = verb.norm[: max(3, min(5, len(verb.norm) - 1))]
    return next(
        (word for word in others if word.norm.startswith(stem) and word.norm.isalpha()), None
    )
