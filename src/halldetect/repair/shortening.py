"""A sentence without one of its phrases, by rule: what is left must still read as a sentence.

Left out are phrases that start with a preposition, what stands between commas, what "and" adds,
subordinate clauses at the end, and single words between an article and its noun. As everywhere
in a repair these are proposals, which the verifier has to support.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
from halldetect.repair.replacements import Edit
from halldetect.repair.slots import has_number

# Fewer words are no statement any more.
MIN_WORDS = 4
_CLAUSE_STARTS = frozenset("after before because while when although though since as".split())
_PHRASE_STARTS = PREPOSITIONS - _CLAUSE_STARTS - frozenset(
    "of to than like unlike per once where whereas because".split()
) | {"after", "before", "since"}
_DETERMINERS = ARTICLES | {"his", "her", "its", "their", "this", "that", "these", "those"}
_DEGREES = frozenset("most more least less very same only other own".split())
# Words that need both things which "and" joins.
_PAIRING = frozenset({"between", "both"})
_QUESTIONS = frozenset("how why what when where whether".split())
_OR = COORDINATORS | {"or", "nor"}
_PAUSE = re.compile(r"[,;:()–—]|\s-\s")
# Words with which a phrase opens that a statement has to follow: "According to the report, ...".
_OPENERS = (
    PREPOSITIONS
    | _CLAUSE_STARTS
    | frozenset("according based compared due given if to unless whether whenever".split())
)


def shortened(sentence: str, evidence: str) -> list[str]:
    """The sentence without one phrase; first without those that the evidence knows least of.

    sentence  of the response
    evidence  sentences of the source that are close to it
    """
    found = words(sentence)
    known = content_keys(evidence)
    strange: dict[str, float] = {}
    for edit in (
        *_prepositional(sentence, found),
        *_between_commas(sentence, found),
        *_additions(sentence, found),
        *_clauses(sentence, found),
        *_modifiers(sentence, found),
    ):
        text = edit.apply(sentence)
        if len(words(text)) >= MIN_WORDS and _leaves_statement(sentence, found, edit):
            cut = content_keys(sentence[edit.start : edit.end])
            strange.setdefault(text, 1.0 - shared_part(cut, known) if cut else 0.0)
    return sorted(strange, key=lambda text: (-strange[text], -len(text)))


def _leaves_statement(sentence: str, found: Sequence[Word], edit: Edit) -> bool:
    """Whether a verb is left, behind the phrase that opens the sentence if there is one."""
    return any(
        may_be_verb(word.norm)
        for word in found[_opening(sentence, found) :]
        if word.end <= edit.start or edit.end <= word.start
    )


def _opening(sentence: str, found: Sequence[Word]) -> int:
    """How many words the phrases have that open a sentence, up to their pauses."""
    start = 0
    for at in range(1, len(found)):
        if _pauses(sentence, found, at):
            first = found[start].norm
            participle = first.endswith("ing") or is_past_verb(first)
            if at - start > 1 and first not in _OPENERS and not participle:
                break
            start = at
    return start


def _prepositional(sentence: str, found: Sequence[Word]) -> Iterator[Edit]:
    """A preposition with its noun: up to the next verb, preposition or pause."""
    for at, word in enumerate(found):
        if at == 0 or word.norm not in _PHRASE_STARTS:
            continue
        end = at + 1
        while end < len(found) and not _ends_phrase(sentence, found, end):
            end += 1
        last = found[end - 1].norm
        if end == at + 1 or last in FUNCTION_WORDS or last in _DETERMINERS:
            continue
        if end < len(found) and not _goes_on(sentence, found, end):
            continue
        if found[at - 1].norm in AUXILIARIES:  # "is in York" says nothing without "in York"
            continue
        yield _cut(sentence, found, at, end)


def _additions(sentence: str, found: Sequence[Word]) -> Iterator[Edit]:
    """What "and" adds: a second thing, or a second thing that is done, up to the end of it."""
    for at in range(1, len(found) - 1):
        if found[at].norm != "and" or any(word.norm in _PAIRING for word in found[:at]):
            continue
        end = at + 2
        following = found[at + 1].norm
        if may_be_verb(following) or following in RELATIVES or following in _QUESTIONS:
            while end < len(found) and not _pauses(sentence, found, end):
                end += 1
        else:
            while end < len(found) and not _ends_phrase(sentence, found, end):
                end += 1
            # Two subjects of one verb, and what a clause goes on with, stay together.
            after = found[end].norm if end < len(found) else ""
            if may_be_verb(after) or after in RELATIVES:
                continue
        yield _cut(sentence, found, at, end)


def _pauses(sentence: str, found: Sequence[Word], at: int) -> bool:
    return bool(_PAUSE.search(sentence[found[at - 1].end : found[at].start]))


def _goes_on(sentence: str, found: Sequence[Word], at: int) -> bool:
    """Whether what follows a phrase does not belong to it: "in York and Leeds", "in York, UK"."""
    comma = "," in sentence[found[at - 1].end : found[at].start]
    name = comma and sentence[found[at].start].isupper()
    return not name and found[at].norm not in _OR and found[at].norm not in RELATIVES


def _ends_phrase(sentence: str, found: Sequence[Word], at: int) -> bool:
    norm = found[at].norm
    return (
        _pauses(sentence, found, at)
        or (norm in PREPOSITIONS and norm != "of")
        or norm in _OR
        or norm in RELATIVES
        or is_finite_verb(norm)
        or may_be_past(norm)
    )


def _between_commas(sentence: str, found: Sequence[Word]) -> Iterator[Edit]:
    """What stands between two commas, behind the last one, or before the first one."""
    pauses = [
        at for at in range(1, len(found)) if "," in sentence[found[at - 1].end : found[at].start]
    ]
    edges = [0, *pauses, len(found)]
    for start, end in pairwise(edges):
        if (start, end) == (0, len(found)) or end - start < 2 or found[start].norm in _OR:
            continue
        if start == 0:
            if found[0].norm in PREPOSITIONS:
                yield Edit(0, found[end].start, "")
        elif end == len(found) or found[end].norm not in _OR:
            yield Edit(found[start - 1].end, _end_with_comma(sentence, found, end), "")


def _end_with_comma(sentence: str, found: Sequence[Word], end: int) -> int:
    """Where the part before a word ends, with the comma behind it."""
    if end == len(found):
        return found[end - 1].end
    comma = sentence.find(",", found[end - 1].end, found[end].start)
    return comma + 1 if comma >= 0 else found[end - 1].end


def _clauses(sentence: str, found: Sequence[Word]) -> Iterator[Edit]:
    """A clause such as "after it had rained" up to the end."""
    for at, word in enumerate(found[:-1]):
        before = found[:at]
        if word.norm in _CLAUSE_STARTS and any(is_finite_verb(item.norm) for item in before):
            yield _cut(sentence, found, at, len(found))


def _modifiers(sentence: str, found: Sequence[Word]) -> Iterator[Edit]:
    """One word between an article and its noun."""
    for at in range(1, len(found) - 1):
        before, word, after = found[at - 1], found[at], found[at + 1]
        touching = sentence[before.end : word.start] == sentence[word.end : after.start] == " "
        if not touching or before.norm not in _DETERMINERS or after.norm in FUNCTION_WORDS:
            continue
        if word.norm in FUNCTION_WORDS or word.norm in _DEGREES or is_finite_verb(after.norm):
            continue
        if has_number(after.norm):  # "the top 40"
            continue
        if sentence[word.start].isupper() and sentence[after.start].isupper():  # one name
            continue
        article = sentence[before.start : before.end]
        if before.norm in ("a", "an"):
            vowel = after.norm[:1] in "aeiou"
            article = article[0] + ("n" if vowel else "")
        yield Edit(before.start, after.start, f"{article} ")


def _cut(sentence: str, found: Sequence[Word], start: int, end: int) -> Edit:
    """Leave out words, with the space and the comma before them."""
    first = found[start - 1].end if start else 0
    return Edit(first, found[end - 1].end, "")
