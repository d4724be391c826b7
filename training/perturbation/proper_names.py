"""Capitalised names in a text, and their probable kind by the words around them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache

from halldetect.facts.recogniser import Fact, FactKind, WordUsage, find_facts
from training.perturbation import lexicon

_NOT_NAMES = lexicon.NOT_NAMES | {*lexicon.MONTHS, *lexicon.WEEKDAYS}
_LEADING = _NOT_NAMES | {*lexicon.TITLES, *lexicon.OFFICES}
_COUNTRIES = frozenset(lexicon.COUNTRIES)
_NATIONALITIES = frozenset(lexicon.NATIONALITIES)
_ORGANISATIONS = frozenset(lexicon.ORGANISATION_WORDS)
_PLACE_BEFORE = re.compile(r"\b(?:in|near|across|throughout|outside|towards)\s$")
_PERSON_AFTER = re.compile(
    rf"(?:['’]s (?:wife|husband|son|daughter|mother|father|lawyer))|(?:,? who\b)|(?::\s)"
    rf"|(?:,? \d\d,)|(?: (?:{'|'.join(lexicon.SPEECH_VERBS)})\b)"
)
_PERSON_BEFORE = re.compile(
    rf"(?:\b(?:{'|'.join(lexicon.TITLES)})\.? $)|(?:\b(?:{'|'.join(lexicon.SPEECH_VERBS)}) $)"
)


def find(text: str, context: str = "") -> list[Fact]:
    """Return the names in a text, without titles.

    A word that begins a sentence must also be in a name elsewhere, in the text or the context.
    """
    found = []
    sure, known = find_facts(text), _words(text) | _words(context)
    for fact in find_facts(text, _usage(context or text)):
        if fact not in sure and fact.text not in known:
            continue
        words, start = fact.text.split(" "), fact.start
        while words and (words[0] in _LEADING or words[0].islower()):
            start += len(words.pop(0)) + 1
        while words and (words[-1] in _NOT_NAMES or words[-1].islower()):
            words.pop()
        name = " ".join(words)
        if fact.kind is FactKind.NAME and len(name) > 1 and not re.match("I['’]", name):
            found.append(replace(fact, text=name, start=start, end=start + len(name)))
    return found


@lru_cache(maxsize=512)
def _words(text: str) -> frozenset[str]:
    """Return the words of the names that do not begin a sentence alone."""
    names = (fact.text for fact in find_facts(text) if fact.kind is FactKind.NAME)
    return frozenset(word for name in names for word in name.split())


@lru_cache(maxsize=512)
def _usage(text: str) -> WordUsage:
    return WordUsage([text])


def kinds(text: str, source: str) -> dict[str, str]:
    """Return the names of a text and its source with their probable kinds; the source decides."""
    return {**_kinds(text, source), **_kinds(source, "")}


@lru_cache(maxsize=512)
def _kinds(text: str, context: str) -> dict[str, str]:
    """Return kinds by the words of a name, then by votes of the words around it."""
    votes: dict[str, Counter[str]] = {}
    for name in find(text, context):
        counter = votes.setdefault(name.text, Counter())
        before, after = text[max(0, name.start - 20) : name.start], text[name.end : name.end + 20]
        if _PERSON_AFTER.match(after) or _PERSON_BEFORE.search(before):
            counter["person"] += 2
        if _PLACE_BEFORE.search(before):
            counter["place"] += 1
        if re.search(r"\b[Tt]he $", before):
            counter["thing"] += 1
    return {name: _by_form(name) or _winner(counter) for name, counter in votes.items()}


def same(one: str, other: str) -> bool:
    """Return True if two names may be the same: by a shared word, or by their initials."""
    mine, theirs = one.lower().split(), other.lower().split()
    if set(mine) & set(theirs) or one.lower() in other.lower() or other.lower() in one.lower():
        return True
    return _initials(one) == other.upper() or _initials(other) == one.upper()


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split() if word[0].isupper())


def _by_form(name: str) -> str | None:
    words = name.split()
    if name in _COUNTRIES:
        return "country"
    if name in _NATIONALITIES:
        return "nationality"
    if _ORGANISATIONS & set(words):
        return "thing"
    return "acronym" if name.isupper() and len(name) > 1 else None


def _winner(counter: Counter[str]) -> str:
    if not counter:
        return "unknown"
    (best, count), *rest = counter.most_common()
    return "unknown" if rest and rest[0][1] == count else best
