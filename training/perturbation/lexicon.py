"""Word lists and simple English morphology for the edits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from halldetect.reading import words as package
from training.words import pairs, words

MONTHS, WEEKDAYS = package.MONTHS, package.WEEKDAYS
MONTH_DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
SEASONS = words("seasons")
NUMBER_WORDS = words("number_words")
ORDINALS = words("ordinals")
COUNTRIES = words("countries")
NATIONALITIES = words("nationalities")
TITLES = words("titles")
OFFICES = words("offices")
ORGANISATION_WORDS = words("organisation_words")
NOT_NAMES = frozenset(words("not_names"))
SPEECH_VERBS = words("speech_verbs")
REGULAR_VERBS = words("regular_verbs")
IRREGULAR_PASTS = pairs("irregular_pasts")
DOUBLING = frozenset(words("doubling"))
UNITS = words("units")
CURRENCIES = "$£€"
COMPARISONS = words("comparisons")


def past(
    verb: str, irregular: Mapping[str, str] = IRREGULAR_PASTS, doubling: Set[str] = DOUBLING
) -> str:
    """Return the simple past of a verb."""
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in doubling else "") + "ed"


def third_person(verb: str) -> str:
    """Return the third person singular of a verb."""
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


def gerund(verb: str) -> str:
    """Return the -ing form of a verb."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLING | {"begin", "win", "run", "get"} else "") + "ing"


VERBS = tuple(dict.fromkeys([*REGULAR_VERBS, *IRREGULAR_PASTS]))
BASE_OF_PAST = {past(verb): verb for verb in VERBS}
BASE_OF_THIRD = {third_person(verb): verb for verb in VERBS}


def antonyms() -> dict[str, tuple[str, ...]]:
    """Return each word form with its antonyms; verbs in all their forms."""
    opposites: dict[str, list[str]] = {}

    def pair(one: str, other: str) -> None:
        for here, there in ((one, other), (other, one)):
            known = opposites.setdefault(here, [])
            if there not in known:
                known.append(there)

    for item in words("antonym_words"):
        pair(*item.split(":"))
    for item in words("antonym_verbs"):
        one, other = item.split(":")
        for form in (str, past, third_person, gerund):
            pair(form(one), form(other))
    return {word: tuple(others) for word, others in opposites.items()}
