"""Corrections of a sentence by rule, with words of the sentence of the source that is closest.

Every correction is a proposal: which of them holds is for the verifier to say. They come from
aligned words (the same words around different ones), from numbers, dates and names of the same
kind, from two names or numbers that changed places, and from a negation on one side only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

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
from halldetect.repair.names import WordUsage, opens
from halldetect.repair.slots import Slot, has_number, slots

# A longer run of other words is another statement, not a wrong word.
MAX_RUN = 4
# So many words must be the same before differences are taken for corrections.
MIN_SHARED = 2
_PAUSE = re.compile(r"[,;:()]\s")
_DO = frozenset({"do", "does", "did"})


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a part of a sentence: `text` takes the place of what is between start and end."""

    start: int
    end: int
    text: str

    def apply(self, sentence: str) -> str:
        """The sentence with the edit."""
        start, end, text = self.start, self.end, self.text
        if not text:  # leave one space, none before a comma or full stop, and no pair of commas
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
    sentence: str, evidence: str, *, facts_only: bool = False, usage: WordUsage | None = None
) -> list[str]:
    """The sentence with one thing put as the evidence has it; most likely corrections first.

    sentence    of the response
    evidence    a sentence of the source
    facts_only  only numbers, dates, names, negations and words such as "all"; no other words
    usage       of words in the response and its source; None: in these two sentences
    """
    usage = usage or WordUsage([sentence, evidence])
    aligned = [
        edit
        for edit in _aligned_edits(sentence, evidence, usage)
        if not facts_only or _is_of_fact(sentence, edit)
    ]
    ours, theirs = _facts(sentence, usage), _facts(evidence, usage)
    edits = [
        *aligned,
        *_slot_edits(sentence, evidence, ours, theirs),
        *_negation_edits(sentence, evidence),
    ]
    proposed = [edit.apply(sentence) for edit in edits]
    if len(aligned) > 1:
        proposed.append(_apply_all(sentence, aligned))
    proposed += _swaps(sentence, ours, theirs)
    return [text for text in dict.fromkeys(proposed) if text != sentence and text.strip()]


def _facts(text: str, usage: WordUsage) -> list[Slot]:
    """The numbers, dates and names, without a word that only opens the sentence."""
    return [
        slot
        for slot in slots(text)
        if slot.kind != "name"
        or " " in slot.text
        or not opens(text, slot.start)
        or usage.is_name(slot.text)
    ]


def _is_of_fact(sentence: str, edit: Edit) -> bool:
    """Whether an edit changes a number, a date, or a word that governs what is said."""
    replaced = sentence[edit.start : edit.end]
    return has_number(edit.text) or any(
        scope(word.norm) for text in (replaced, edit.text) for word in words(text)
    )


def _apply_all(sentence: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        sentence = edit.apply(sentence)
    return sentence


def _aligned_edits(sentence: str, evidence: str, usage: WordUsage) -> Iterator[Edit]:
    """Where the same words stand around different ones, or a word such as "not" is too much."""
    ours, theirs = words(sentence), words(evidence)
    matcher = SequenceMatcher(
        None, [word.norm for word in ours], [word.norm for word in theirs], autojunk=False
    )
    codes = matcher.get_opcodes()
    if sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag == "equal") < MIN_SHARED:
        return
    for at, (tag, i1, i2, j1, j2) in enumerate(codes):
        inside = (at == 0 or codes[at - 1][0] == "equal") and (
            at == len(codes) - 1 or codes[at + 1][0] == "equal"
        )
        if not inside or i2 - i1 > MAX_RUN or j2 - j1 > MAX_RUN:
            continue
        if _splits_word(ours, i1, i2) or _splits_word(theirs, j1, j2):
            continue
        if tag == "replace":
            edit = _edit(ours[i1:i2], evidence[theirs[j1].start : theirs[j2 - 1].end])
            if i1 == 0 and _is_bare_subject(ours, i2) and not _is_of_fact(sentence, edit):
                named = usage.are_name(sentence, ours[:i2])
                if not named or not usage.are_name(evidence, theirs[j1:j2]):
                    continue
            if _stands_for(edit.text, sentence[edit.start : edit.end], opens=i1 == 0):
                yield edit
        elif tag == "delete" and any(scope(word.norm) for word in ours[i1:i2]):
            yield _edit(ours[i1:i2], "")
        elif tag == "insert" and i1 > 0 and any(scope(word.norm) for word in theirs[j1:j2]):
            added = evidence[theirs[j1].start : theirs[j2 - 1].end]
            yield Edit(ours[i1 - 1].end, ours[i1 - 1].end, f" {added}")


def _is_bare_subject(found: list[Word], end: int) -> bool:
    """Whether the words before `end` have all that a sentence is about: "Refunds take 30 days".

    With other words in their place, unless both are names, it would be about something else.
    """
    article = found[0].norm in FUNCTION_WORDS
    return not article and any(may_be_verb(word.norm) for word in found[1 : end + 1])


def _stands_for(text: str, replaced: str, *, opens: bool) -> bool:
    """Whether words of the source fit in the place of others.

    A number does not stand for words, nor words for a number; nor what has a verb for what has
    none, nor a run that ends in the middle of a phrase for one that does not. A pause shows that
    the run goes over the end of a phrase, and a sentence that opens with more words than before
    opens with another phrase.
    """
    if has_number(replaced) != has_number(text):
        return False
    if _PAUSE.search(text) and not _PAUSE.search(replaced):
        return False
    new, old = words(text), words(replaced)
    if _has_verb(new) != _has_verb(old) or _is_open(new) != _is_open(old):
        return False
    return not opens or len(new) <= len(old)


def _has_verb(run: list[Word]) -> bool:
    return any(is_finite_verb(word.norm) for word in run)


def _is_open(run: list[Word]) -> bool:
    return bool(run) and run[-1].norm in PREPOSITIONS | ARTICLES


def _splits_word(given: list[Word], start: int, end: int) -> bool:
    """Whether a run begins or ends within a word such as "isn't", which counts as two."""
    edges = [at for at in (start, end) if 0 < at < len(given)]
    return any(given[at].start == given[at - 1].start for at in edges)


def _edit(run: list[Word], text: str) -> Edit:
    return Edit(run[0].start, run[-1].end, text)


def _slot_edits(
    sentence: str, evidence: str, ours: list[Slot], theirs: list[Slot]
) -> Iterator[Edit]:
    """Numbers, dates and names that the evidence lacks, for those of its own of the same kind."""
    known = evidence.casefold()
    said = sentence.casefold()
    for slot in ours:
        if slot.key in {other.key for other in theirs} or slot.text.casefold() in known:
            continue
        if slot.kind == "name" and (rest := _known_words(slot.text, known)):
            yield Edit(slot.start, slot.end, rest)
        offered = [
            other
            for other in theirs
            if other.kind == slot.kind and other.text.casefold() not in said
        ]
        for other in sorted(offered, key=lambda other: other.following != slot.following):
            yield Edit(slot.start, slot.end, other.text)


def _known_words(name: str, known: str) -> str:
    """The words of a name that a text has: "Holm" of "Anna Holm"."""
    found = set(re.findall(r"\w+", known))
    return " ".join(word for word in name.split() if word.casefold().strip(".’'") in found)


def _swaps(sentence: str, ours: list[Slot], theirs: list[Slot]) -> list[str]:
    """Two names or two numbers of the evidence in each other's place."""
    known = {slot.key for slot in theirs}
    pairs: list[tuple[Slot, Slot]] = [
        (first, second)
        for first, second in combinations([slot for slot in ours if slot.key in known], 2)
        if first.kind == second.kind and first.key != second.key
    ]
    return [
        sentence[: first.start]
        + second.text
        + sentence[first.end : second.start]
        + first.text
        + sentence[second.end :]
        for first, second in pairs
    ]


def _negation_edits(sentence: str, evidence: str) -> Iterator[Edit]:
    """A negation that only one side has; "did not open" and "opened" need the source's verb."""
    ours, theirs = words(sentence), words(evidence)
    denied = [at for at, word in enumerate(ours) if word.norm in NEGATIONS]
    denies = [at for at, word in enumerate(theirs) if word.norm in NEGATIONS]
    if denied and not denies:
        for at in denied:
            before = ours[at - 1] if at else None
            if before is not None and before.norm in _DO and at + 1 < len(ours):
                verb = _same_verb(ours[at + 1], theirs)
                if verb is not None:
                    text = evidence[verb.start : verb.end]
                    yield Edit(before.start, ours[at + 1].end, text)
            elif before is not None and before.end == ours[at].end:  # "isn't" is one word
                shown = before.norm
                yield Edit(before.start, before.end, shown)
            else:
                yield Edit(ours[at].start, ours[at].end, "")
    if denies and not denied:
        for word in ours:
            if word.norm in AUXILIARIES and word.norm not in _DO:
                yield Edit(word.end, word.end, " not")
                return
        for at in denies:
            if at and theirs[at - 1].norm in _DO and at + 1 < len(theirs):
                base = theirs[at + 1]
                verb = _same_verb(base, ours)
                if verb is not None:
                    text = f"{theirs[at - 1].norm} not {base.norm}"
                    yield Edit(verb.start, verb.end, text)


def _same_verb(verb: Word, others: list[Word]) -> Word | None:
    """The form of the same verb in other words, told by its first letters."""
    stem = verb.norm[: max(3, min(5, len(verb.norm) - 1))]
    found = (word for word in others if word.norm.startswith(stem) and word.norm.isalpha())
    return next(found, None)
