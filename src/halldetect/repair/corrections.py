"""Corrections of a sentence by rule, with words of the closest sentence of the source.

Every correction is a proposal that the verifier must support. Corrections come from aligned words
(equal words around different ones, or a negation on one side) and facts of one form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from halldetect.facts.phrases import Edit
from halldetect.facts.recogniser import Fact, FactKind, WordUsage, find_facts, has_number
from halldetect.reading.words import (
    ARTICLES,
    FUNCTION_WORDS,
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


def corrections(sentence: str, evidence: str, usage: WordUsage | None = None) -> list[str]:
    """Return versions of the sentence with one thing taken from the evidence, likely ones first.

    `usage` is that of words in the response and its source; by default, in these two sentences.
    """
    usage = usage or WordUsage([sentence, evidence])
    aligned = list(_aligned_edits(sentence, evidence, usage))
    facts = find_facts(sentence, usage), find_facts(evidence, usage)
    edits = [*aligned, *_fact_edits(sentence, evidence, *facts)]
    proposed = [edit.apply(sentence) for edit in edits]
    if len(aligned) > 1:
        text = sentence
        for edit in sorted(aligned, key=lambda edit: edit.start, reverse=True):
            text = edit.apply(text)
        proposed.append(text)
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
        if _splits_word(ours, i1) or _splits_word(theirs, j1):  # "isn't" and "is"
            tag, i1, j1 = "replace", i1 - 1, j1 - 1
        if tag != "equal" and (_splits_word(ours, i2) or _splits_word(theirs, j2)):
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


def _is_bare_subject(found: Sequence[Word], end: int) -> bool:
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


def _splits_word(given: Sequence[Word], at: int) -> bool:
    """Return True for a place inside a word such as "isn't", which counts as two."""
    return 0 < at < len(given) and given[at].start == given[at - 1].start


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
