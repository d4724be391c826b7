"""Which name "he" or "she" stands for, where there is no doubt."""

from __future__ import annotations

from collections.abc import Sequence

from halldetect.text.words import PREPOSITIONS, RELATIVES, SUBJECTS, Word, finite, kept, same, words

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
    found: list[tuple[str, ...]] = []
    for sentence in sentences:
        found.append(current)
        current = _after(sentence, current)
    return found


def _after(sentence: str, current: tuple[str, ...]) -> tuple[str, ...]:
    if len(sentence) > 2000:
        return ()
    spoken = kept(words(sentence))
    length = 0
    while length < len(spoken) and spoken[length].capital:
        length += 1
    subject = [word.norm for word in spoken[:length]]
    for before, word in zip(spoken[max(length - 1, 0) :], spoken[length:], strict=False):
        opens_name = word.capital and not before.capital and before.norm not in _PLACING
        if opens_name or word.norm in _SOMEBODY:
            return ()
    if not subject or (len(subject) == 1 and subject[0] in _FULL | _OWN | {"it", "its"}):
        return current
    if set(subject) & (SUBJECTS | PREPOSITIONS | RELATIVES | _OWN):
        return ()
    if length < len(spoken) and finite(spoken[length].norm):
        return tuple(subject)
    return ()


def with_blanks(
    claim: Sequence[str], antecedent: Sequence[str], sentence: Sequence[Word]
) -> list[str]:
    """The claim with each mention of the antecedent as a blank that a pronoun may fill."""
    here = {word.norm for word in sentence}
    blanked: list[str] = []
    for norm in claim:
        if norm in antecedent and norm not in here:
            if not blanked or blanked[-1] != _NAME:
                blanked.append(_NAME)
        elif norm == "'s" and blanked and blanked[-1] == _NAME:
            blanked[-1] = _NAME_S
        else:
            blanked.append(norm)
    return blanked


def fits(claimed: str, spoken: str) -> bool:
    """Whether a word of a claim, or a blank in it, can stand for a word of the sentence."""
    if claimed == _NAME:
        return spoken in _FULL
    if claimed == _NAME_S:
        return spoken in _OWN
    return same(claimed, spoken)


def one_person(sentence: Sequence[Word], positions: Sequence[int]) -> bool:
    """Whether the pronouns at these places mean one person whom the sentence does not name."""
    pronouns = [place for place in positions if sentence[place].norm in _FULL | _OWN]
    if not pronouns:
        return False
    used = {sentence[place].norm for place in pronouns}
    earlier = sentence[: pronouns[0]]
    return any(used <= person for person in _PERSONS) and not any(
        word.norm in _SOMEBODY
        or (word.capital and place > 0 and sentence[place - 1].norm not in _PLACING)
        for place, word in enumerate(earlier)
    )
