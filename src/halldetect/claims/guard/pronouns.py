"""Which name "he" or "she" stands for, where there is no doubt."""

from __future__ import annotations

from collections.abc import Sequence

from halldetect.reading.words import (
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    Word,
    is_finite_verb,
    same_word,
    without_fillers,
    words,
)

# "It" and "they" are left alone: they too often mean something that has no name.
_PERSONS = (frozenset({"he", "him", "his"}), frozenset({"she", "her", "hers"}))
_OWN = frozenset({"his", "her", "hers"})
_FULL = frozenset({"he", "him", "she", "her"})
_PLACING = frozenset({"in", "at", "from", "near", "on"})
# Somebody without a name whom the next "he" or "she" may mean as well.
_SOMEBODY = frozenset(
    "man woman men women boy girl guy lady person child kid baby brother sister father mother son "
    "daughter wife husband uncle aunt cousin friend colleague partner boss neighbour neighbor "
    "rival opponent driver officer doctor teacher victim suspect witness someone somebody".split()
)
_NAME = "\0name"
_NAME_S = "\0name's"


def antecedents(sentences: Sequence[str]) -> list[tuple[str, ...]]:
    """For each sentence the one name a pronoun in it can mean; empty where that is unclear.

    The name is the subject that an earlier sentence starts with, as long as no other person
    has come up since. A name behind "in", "at" and the like is taken for a place or a date.
    """
    current: tuple[str, ...] = ()
    names: list[tuple[str, ...]] = []
    for sentence in sentences:
        names.append(current)
        current = _after(sentence, current)
    return names


def _after(sentence: str, current: tuple[str, ...]) -> tuple[str, ...]:
    if len(sentence) > 2000:
        return ()
    content = without_fillers(words(sentence))
    length = 0
    while length < len(content) and content[length].capital:
        length += 1
    subject = [word.norm for word in content[:length]]
    for before, word in zip(content[max(length - 1, 0) :], content[length:], strict=False):
        opens_name = word.capital and not before.capital and before.norm not in _PLACING
        if opens_name or word.norm in _SOMEBODY:
            return ()
    if not subject or (len(subject) == 1 and subject[0] in _FULL | _OWN | {"it", "its"}):
        return current
    if set(subject) & (SUBJECTS | PREPOSITIONS | RELATIVES | _OWN):
        return ()
    if length < len(content) and is_finite_verb(content[length].norm):
        return tuple(subject)
    return ()


def with_blanks(
    claim: Sequence[str], antecedent: Sequence[str], sentence: Sequence[Word]
) -> list[str]:
    """The claim with each mention of the antecedent as a blank that a pronoun may fill."""
    present = {word.norm for word in sentence}
    blanked: list[str] = []
    for norm in claim:
        if norm in antecedent and norm not in present:
            if not blanked or blanked[-1] != _NAME:
                blanked.append(_NAME)
        elif norm == "'s" and blanked and blanked[-1] == _NAME:
            blanked[-1] = _NAME_S
        else:
            blanked.append(norm)
    return blanked


def fits(claimed: str, actual: str) -> bool:
    """Whether a word of a claim, or a blank in it, can stand for a word of the sentence."""
    if claimed == _NAME:
        return actual in _FULL
    if claimed == _NAME_S:
        return actual in _OWN
    return same_word(claimed, actual)


def one_person(sentence: Sequence[Word], positions: Sequence[int]) -> bool:
    """Whether the pronouns at these positions mean one person whom the sentence does not name.

    There is at least one, which a name is to stand for.
    """
    pronouns = [position for position in positions if sentence[position].norm in _FULL | _OWN]
    used = {sentence[position].norm for position in pronouns}
    earlier = sentence[: pronouns[0]]
    return any(used <= person for person in _PERSONS) and not any(
        word.norm in _SOMEBODY
        or (word.capital and position > 0 and sentence[position - 1].norm not in _PLACING)
        for position, word in enumerate(earlier)
    )
