"""Who or what is meant: the phrase of the sentence before that a pronoun or a role stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from halldetect.reading.noun_phrases import DEMONSTRATIVES, NounPhrase
from halldetect.reading.relative_times import DAY, YEAR
from halldetect.reading.words import ARTICLES, COORDINATORS, PREPOSITIONS, words

_SINGULAR = frozenset({"it", "its", "this", "that"})
_PLURAL = frozenset({"they", "their", "them", "these", "those"})
_PERSONAL = frozenset({"he", "she", "his", "her", "him"})
PRONOUNS = _SINGULAR | _PLURAL | _PERSONAL
_CERTAIN_PERSON = re.compile(
    r"-year-old|^(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Judge|Captain|President|King|Queen)\b"
)
# "Ann Cole's son left. He ...": the son.
_RELATIVES = frozenset(
    "son daughter child baby wife husband partner fiance fiancee girlfriend boyfriend mother "
    "father mum mom dad parent brother sister twin uncle aunt nephew niece cousin grandson "
    "granddaughter grandmother grandfather friend neighbour neighbor colleague assistant aide "
    "spokesman spokeswoman spokesperson guard agent widow widower".split()
)
# A bare role: who it is was said before.
_PERSON_ROLES = frozenset(
    "minister president mayor author writer singer actor actress player striker goalkeeper coach "
    "judge lawyer doctor nurse patient driver officer man woman boy girl suspect victim teacher "
    "student professor director manager owner founder king queen".split()
)
ROLES = _PERSON_ROLES | frozenset(
    "company firm bank hotel museum school club team band city town village country drug device "
    "product film book album ship plane aircraft proposal plan programme program law study".split()
)
# Measures: no name, although one may begin a sentence ("Revenue fell. The company ...").
_MEASURES = frozenset(
    "revenue revenues profit profits turnover income earnings sales output production demand "
    "growth inflation unemployment spending investment exports imports".split()
)
# What a response calls its source: "The passage describes a museum. It opened in 1994."
_SOURCE_WORDS = frozenset("passage text article summary document excerpt paragraph".split())
# A name, with or without an article.
_NAMED = re.compile(r"^(?!The |An? )[A-Z]|^(?:[Tt]he )[A-Z]")


def antecedent(norm: str, phrases: Sequence[NounPhrase]) -> NounPhrase | None:
    """The phrase that a pronoun means: the subject of the sentence before, if it fits.

    "These" may mean any phrase that names several, if there is only one.
    """
    subject = next((item for item in phrases if item.subject), None)
    if norm in DEMONSTRATIVES:
        several = [item for item in phrases if item.plural]
        return several[0] if len(several) == 1 else None
    if subject is None or _names_source(subject):
        return None
    if norm in _PLURAL:
        return subject if subject.plural else None
    if subject.plural:
        return None
    if norm in _PERSONAL:
        owner, apostrophe, owned = subject.text.partition("'s ")
        if apostrophe and owner.istitle():  # "Ann Cole's shop closed. She ..."
            relative = not (_RELATIVES | _PERSON_ROLES).isdisjoint(owned.casefold().split())
            return None if relative else replace(subject, text=owner.rstrip())
        named = subject.person is None and subject.text.istitle()
        return subject if (subject.person or named) and _NAMED.search(subject.text) else None
    if subject.person and not _may_be_thing(subject):
        return None
    # "The council bought a tractor. It ...": either may be meant.
    others = [item for item in phrases if item.indefinite and not item.after and not item.plural]
    return None if others and subject not in others else subject


def _may_be_thing(item: NounPhrase) -> bool:
    """Whether what looks like the name of a person may be that of a place or a firm."""
    return _NAMED.search(item.text) is not None and not _CERTAIN_PERSON.search(item.text)


def _names_source(item: NounPhrase) -> bool:
    """Whether a phrase is "the passage" or its like; a verb may be taken for a part of it."""
    found = words(item.text)
    return (
        len(found) > 1
        and found[0].norm in ARTICLES
        and not _SOURCE_WORDS.isdisjoint(word.norm for word in found[1:3])
    )


def _dated(item: NounPhrase) -> bool:
    return bool(YEAR.search(item.text) or DAY.search(item.text)) and item.after != ""


def holder(role: str, phrases: Sequence[NounPhrase]) -> NounPhrase | None:
    """Who has a role ("the minister"): the only name of the sentence before, if it is its subject.

    role     the noun
    phrases  of the sentence before
    """
    is_person = role in _PERSON_ROLES
    named = [
        item
        for item in phrases
        if not item.plural
        and not _dated(item)
        # What looks like a person may be a firm with two names.
        and (item.person or not is_person)
        and _is_name(item.text)
    ]
    if not named and is_person:
        named = [
            item
            for item in phrases
            if item.subject and item.text.casefold().split()[-1] in _PERSON_ROLES
        ]
    return named[0] if len(named) == 1 and named[0].subject else None


def _is_name(phrase: str) -> bool:
    """Whether a phrase is a name; one that only begins its sentence ("Net profit") is none."""
    found = words(phrase)
    plain = {word.norm for word in found if not (word.capital or word.numeric)}
    return (
        _NAMED.search(phrase) is not None
        and plain <= ARTICLES | PREPOSITIONS | COORDINATORS | {"'s"}
        and not (len(found) == 1 and found[0].norm in _MEASURES)
    )
