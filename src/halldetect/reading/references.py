"""Sentences that depend on the previous one: pronouns, "the latter", "there", "so did Ann".

Such a sentence has a second reading, used if the sentence is not supported without it. A pronoun
at its start is replaced by the subject of the previous sentence, if that fits. A sentence that is
meaningless otherwise is read after the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.reading.assertions import is_verb
from halldetect.reading.words import ARTICLES, PREPOSITIONS, SUBJECTS, words

# A longer sentence is not searched.
MAX_LENGTH = 600
_PLURAL = frozenset({"they", "their"})
_NEUTRAL = frozenset({"it", "its"})
_OWNERS = frozenset({"his", "her", "its", "their"})
# A subject with one of these is no name or noun, or it is the source itself: "The passage says".
_NO_SUBJECT = (
    SUBJECTS
    | (PREPOSITIONS - {"of"})
    | _OWNERS
    | frozenset("'s this that these those passage text article document summary".split())
)
_OBJECT = re.compile(r"\b(?!(?:of|in|on|at|by|for|with|to|from|as)\b)\w+ an? \w", re.IGNORECASE)
_DOES = r"(?:did|does|do|was|were|is|are|has|have|had|can|will|would)"
_MEANINGLESS_ALONE = re.compile(
    rf"\bdid so\b|^but [^,;]{{1,40}} {_DOES}(?: not|n't)?[.!]?$|(?:as well|too)[.!]$"
    rf"|^(?:and )?(?:so|neither|nor) {_DOES} [^,;]{{1,60}}[.!]?$"
    rf"|\bthe (?:former|latter)(?:[.,;!]| (?:{_DOES}|\w+ed)\b)"  # not "the former mayor"
    r"|^there,? (?:he|she|it|they)\b|(?<!is )(?<!was )(?<!were )\bthere(?:[.,;!]|$)",
    re.IGNORECASE,
)
# Quotation marks: pronouns inside are those of the speaker. Not the "'" of "Ann 's", "'90s".
_QUOTED = re.compile(r"[\"“”«»‘`]|''|(?:^|\s)'(?!(?:s|re|ve|ll|m|d)\b)(?=[^\W\d_])", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their)\b(?!['’-])", re.IGNORECASE)
_OPENING = re.compile(
    r"(?:(?:but|and|then|however|later|also|there|meanwhile|in \d{4}|on \w+day),? )?"
    r"(?:he|she|it|they|his|her|its|their|this|these|those)\b",
    re.IGNORECASE,
)
# "It" without a referent: "it is clear that", "it took years", "it rained".
_EXPLETIVE = re.compile(
    r"it (?:seem|appear|turn|take|took|(?:is|was) the \w+ time"
    r"|(?:\w+ ){0,3}(?:rain|snow|sunny|windy|cloudy)"
    r"|(?:is|was|has been|will be|remains?)(?: not| ?n't)? (?:\w+ ){0,3}"
    r"(?:that|to|who|when|because|what|whether|why|where|how|if)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A second reading of a sentence: a name replaces the pronoun, or the previous one precedes."""

    text: str
    resolved: bool


def readings(sentences: Sequence[str]) -> list[Reading | None]:
    """Return the second reading of each sentence of a text, in order; None without one."""
    found: list[Reading | None] = []
    before = ""
    for sentence in sentences:
        reading = _reading(sentence, before) if before else None
        found.append(reading)
        before = reading.text if reading is not None and reading.resolved else sentence
    return found


def begins_with_pronoun(sentence: str) -> bool:
    """Return True if the first word that refers to something is a pronoun: "It closed in 2011."."""
    return _OPENING.match(sentence) is not None and not _EXPLETIVE.match(sentence)


def _reading(sentence: str, before: str) -> Reading | None:
    if len(sentence) > MAX_LENGTH or len(before) > MAX_LENGTH or _QUOTED.search(sentence):
        return None
    if _MEANINGLESS_ALONE.search(sentence):
        return Reading(f"{before} {sentence}", False)
    match = _PRONOUN.match(sentence)
    if match is None or _EXPLETIVE.match(sentence):
        return None
    pronoun = match[0].lower()
    name = _antecedent(pronoun, before)
    if name is None:
        return None
    following = words(sentence[match.end() :])[:1]
    if pronoun in _OWNERS and following and following[0].norm not in PREPOSITIONS:
        name += "'" if name.endswith("s") and pronoun == "their" else "'s"
    return Reading(name[:1].upper() + name[1:] + sentence[match.end() :], True)


def _antecedent(pronoun: str, before: str) -> str | None:
    """Return the words before the verb of the previous sentence, if a pronoun may mean them."""
    found = words(before)
    verbs = (at for at in range(1, len(found)) if is_verb(found, at) and not found[at].capital)
    end = next((at for at in verbs if found[at - 1].norm not in ARTICLES), 0)
    inside, norms = found[:end], [word.norm for word in found[:end]]
    if not inside or not _NO_SUBJECT.isdisjoint(norms):
        return None
    if re.search(r"[,;:()—–]", before[: found[end].start]):
        return None
    if pronoun in _NEUTRAL and _OBJECT.search(before[inside[-1].end :][:60]):
        return None  # "The council bought a tractor. It ...": the pronoun is ambiguous
    noun = norms[0] in ARTICLES
    name = all(word.capital for word in inside if word.norm not in ("of", "the", "and"))
    head = norms[norms.index("of") - 1] if "of" in norms[1:] else norms[-1]
    many = head.endswith("s") and not head.endswith(("ss", "us", "is"))
    plural = "and" in norms or (many and (noun or len(inside) == 1))
    if plural != (pronoun in _PLURAL) or not (noun or name):
        return None
    if noun and pronoun not in _PLURAL | _NEUTRAL:
        return None
    return re.sub(r"^[Aa]n? ", "the ", before[inside[0].start : inside[-1].end])
