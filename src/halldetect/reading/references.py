"""What a sentence leans on: pronouns, "the latter", "there", "a year later" and their like.

A sentence that can be understood only with the one before it cannot be judged alone. Where it is
plain what is meant, its name is put in the place of the pronoun. A sentence that says nothing by
itself ("So did Ann.") is read together with the one before it; all others as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from halldetect.reading.antecedents import PRONOUNS, ROLES, antecedent, holder
from halldetect.reading.document import Span
from halldetect.reading.noun_phrases import (
    DEMONSTRATIVES,
    OWNERS,
    NounPhrase,
    first_verb,
    joined,
    noun_phrases,
)
from halldetect.reading.relative_times import DAY, YEAR, named_time, relative_time
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    Word,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

MAX_LENGTH = 600
_PAIR = re.compile(r"\bthe (?P<which>former|latter)\b", re.IGNORECASE)
_SO_DID = re.compile(
    r"^(?:and )?(?:so|neither|nor) (?P<aux>\w+) (?P<who>[^,;]+?)[.!]?$", re.IGNORECASE
)
_DID_TOO = re.compile(
    r"^(?P<who>[^,;]+?) (?P<aux>did|does|do|was|were|is|are|has|have|had) "
    r"(?:too|as well|so)[.!]?$",
    re.IGNORECASE,
)
# Marks of a quotation, whose pronouns are those of the speaker. Not the "'" of "Ann 's", "'90s".
_QUOTED = re.compile(
    r"[\"“”«»‘`]|''|(?:^|\s)'(?!(?:s|re|ve|ll|m|d|t|em|til|tis|twas)\b)(?=[^\W\d_])", re.IGNORECASE
)
_OPENING = re.compile(
    r"(?:(?:but|and|then|however|later|also|there|meanwhile|in \d{4}|on \w+day),? )?"
    r"(?:he|she|it|they|his|her|its|their|this|these|those)\b",
    re.IGNORECASE,
)
# "After his fall, Bob Hale ...", "When she left, Ann Cole ..."
_NAME_BEHIND = re.compile(r", (?:[Tt]he )?[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)* (?P<next>[a-z]\w*)")
_SUBORDINATORS = frozenset(
    "when while after before because although though since as if until once".split()
)
# Leans on the sentence before, but no name can be put in.
_SAID_BEFORE = re.compile(
    r"\bdid so\b|^but [^,;]{1,40} (?:did|does|do)(?: not|n't)?[.!]?$|(?:as well|too)[.!]$",
    re.IGNORECASE,
)
# "It" that stands for nothing: "it is clear that", "it was here that", "it is not known why".
_EXPLETIVE = re.compile(
    r"^it (?:(?:is|was) the (?:first|second|third|\w+th|last|only) |seem|appear|turn|"
    r"(?:is|was) (?:here|there|then)\b[^.;]* that\b|"
    r"(?:is|was|remains|remained)(?: not| ?n't)? (?:\w+ )?(?:clear|unclear|known|unknown|certain|"
    r"uncertain|obvious) (?:what|whether|why|who|when|where|how|if)\b|"
    r"take|took|(?:is|was|has been|will be) "
    r"(?:\w+ )?(?:\w+ )?(?:that|to|who|when|because)\b|"
    r"(?:(?:will|would|may|might|could|can|should|did|does|is|was|has|had|be|been|not|never|hardly|"
    r"barely|even|still|also|then|\w+ly|expected|likely|going|to|continued?|began|started?) )*"
    r"(?:(?:rain|snow|hail|drizzl|thunder|thaw)(?:e|ed|es|s|ing)?|sunny|rainy|windy|cloudy|foggy|"
    r"stormy)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as the verifier reads it.

    text      what is read
    resolved  whether names stand for what the sentence leans on; otherwise the text begins with
              the sentence before
    """

    text: str
    resolved: bool


def readings(sentences: Sequence[str]) -> list[Reading | None]:
    """For each sentence how it is read with those before it; None where it needs none.

    sentences  of one text, in order
    """
    found: list[Reading | None] = []
    before = ""
    for sentence in sentences:
        reading = _reading(sentence, before) if before else None
        found.append(reading)
        before = reading.text if reading is not None and reading.resolved else sentence
    return found


def begins_with_pronoun(sentence: str) -> bool:
    """Whether the first thing that a sentence names is named before it: "It closed in 2011."."""
    return _OPENING.match(sentence) is not None and not _EXPLETIVE.match(sentence)


def leans(sentence: str) -> bool:
    """Whether a sentence can be understood only with what stands before it."""
    if len(sentence) > MAX_LENGTH:
        return False
    return bool(
        _pronoun(sentence)
        or _there(sentence)
        or _pair(sentence)
        or relative_time(sentence)
        or _SO_DID.match(sentence)
        or _DID_TOO.match(sentence)
        or _role(sentence)
        or _SAID_BEFORE.search(sentence)
        or _noun_again(sentence)
        or _fragment(sentence)
    )


def _fragment(sentence: str) -> bool:
    """Whether a sentence is an answer without a verb: "In 1998."."""
    found = words(sentence)
    return (
        0 < len(found) < 5
        and found[0].norm in PREPOSITIONS
        and not any(may_be_verb(word.norm) or may_be_past(word.norm) for word in found)
    )


def _reading(sentence: str, before: str) -> Reading | None:
    if not leans(sentence) or len(before) > MAX_LENGTH or _QUOTED.search(sentence):
        return None
    phrases = noun_phrases(before)
    text = sentence
    for resolve in (
        _resolve_ellipsis,
        _resolve_pair,
        _resolve_time,
        _resolve_place,
        _resolve_noun,
        _resolve_role,
        _resolve_pronoun,
    ):
        text = resolve(text, before, phrases) or text
    if _says_nothing_alone(text):
        return Reading(f"{before} {sentence}", False)
    return Reading(text, True) if text != sentence else None


def _says_nothing_alone(sentence: str) -> bool:
    """Whether nobody could say what a sentence asserts without the one before it."""
    return bool(
        _pair(sentence)
        or _SAID_BEFORE.search(sentence)
        or _SO_DID.match(sentence)
        or _DID_TOO.match(sentence)
        or _fragment(sentence)
    )


# Pronouns


def _pronoun(sentence: str) -> Word | None:
    """The first pronoun of a sentence that nothing before it in the sentence can explain."""
    found = words(sentence)
    at = next((at for at, word in enumerate(found) if word.norm in PRONOUNS), None)
    if at is None or _EXPLETIVE.match(sentence[found[at].start :]):
        return None
    word = found[at]
    if len(word.norm) < word.end - word.start:  # "it's", "they've"
        return None
    if word.norm in DEMONSTRATIVES and not (at == 0 and _stands_alone(found)):
        return None
    earlier = noun_phrases(sentence[: word.start])
    if any(not phrase.after for phrase in earlier) or (at and first_verb(found[:at]) is not None):
        return None
    return None if at and _named_behind(sentence, found[0].norm, word) else word


def _named_behind(sentence: str, first: str, word: Word) -> bool:
    """Whether the sentence itself may say whom a pronoun means: "After his fall, Bob Hale ...".

    sentence  that the pronoun stands in
    first     the first word of the sentence
    word      the pronoun
    """
    if first == "according":
        return True
    inside = word.norm not in SUBJECTS or first in _SUBORDINATORS
    return inside and any(
        match["next"] not in COORDINATORS | PREPOSITIONS
        for match in _NAME_BEHIND.finditer(sentence, word.end)
    )


def _stands_alone(found: Sequence[Word]) -> bool:
    """Whether the first word, "these" or its like, is a subject by itself."""
    following = found[1].norm if len(found) > 1 else ""
    if _verb_like(following):
        return True
    third = found[2] if len(found) > 2 else None
    return third is not None and (
        third.norm in ARTICLES | PREPOSITIONS or third.norm in ("up", "out") or third.numeric
    )


def _verb_like(norm: str) -> bool:
    return is_finite_verb(norm) or norm in AUXILIARIES


def _noun_again(sentence: str) -> Word | None:
    """The noun of a subject such as "this proposal"."""
    found = words(sentence)
    if len(found) < 3 or found[0].norm not in DEMONSTRATIVES or _stands_alone(found):
        return None
    return found[1]


def _resolve_noun(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    noun = _noun_again(sentence)
    if noun is None:
        return sentence
    same = [item for item in phrases if item.text.casefold().split()[-1] == noun.norm]
    # "The proposal" says no more than "this proposal".
    if len(same) != 1 or all(word.norm in ARTICLES | {noun.norm} for word in words(same[0].text)):
        return None
    return _put(sentence, Span(0, noun.end), same[0].text)


def _resolve_pronoun(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    word = _pronoun(sentence)
    if word is None:
        return sentence
    meant = antecedent(word.norm, joined(before, phrases))
    # "This" alone means what was said, not a thing that was named.
    if meant is None or word.norm in ("this", "that"):
        return None
    owner = word.norm in OWNERS and not (word.norm == "her" and _object(sentence, word))
    name = meant.text
    if owner:
        name += "'" if name.endswith("s") and meant.plural else "'s"
    return _put(sentence, Span(word.start, word.end), name)


def _object(sentence: str, word: Word) -> bool:
    """Whether "her" is an object: nothing that it could own follows."""
    following = words(sentence[word.end :])
    return not following or following[0].norm in PREPOSITIONS


def _role(sentence: str) -> bool:
    """Whether the subject is a bare role: "The minister ..."."""
    found = words(sentence)
    return (
        len(found) > 2
        and found[0].norm == "the"
        and found[1].norm in ROLES
        and found[2].norm not in PREPOSITIONS | COORDINATORS | RELATIVES | {"'s"}
        and not found[2].capital
        and "," not in sentence[found[1].end : found[2].start]
    )


def _resolve_role(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    if not _role(sentence):
        return sentence
    found = words(sentence)
    meant = holder(found[1].norm, phrases)
    if meant is None:
        return None
    return _put(sentence, Span(found[0].start, found[1].end), meant.text)


# Places, pairs, times, ellipses


def _there(sentence: str) -> Word | None:
    found = words(sentence)
    for at, word in enumerate(found):
        if word.norm == "there":
            following = found[at + 1].norm if at + 1 < len(found) else ""
            if not _verb_like(following):
                return word
    return None


def _resolve_place(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    word = _there(sentence)
    if word is None:
        return sentence
    places = [
        item
        for item in phrases
        if item.after in ("in", "at", "on", "to", "near", "behind", "outside", "inside")
        and not YEAR.fullmatch(item.text)
        and not DAY.fullmatch(item.text)
    ]
    if not places and len(phrases) > 1 and not phrases[-1].after:
        places = [phrases[-1]]
    if len(places) != 1:
        return None
    place = places[0]
    at = (
        place.after
        if place.after not in ("", "to")
        else ("in" if place.text[0].isupper() else "at")
    )
    return _put(sentence, Span(word.start, word.end), f"{at} {place.text}")


def _pair(sentence: str) -> re.Match[str] | None:
    """ "The former" or "the latter" by itself, not "the former mayor"."""
    match = _PAIR.search(sentence)
    if match is None:
        return None
    following = words(sentence[match.end() :])[:1]
    alone = not following or may_be_verb(following[0].norm) or may_be_past(following[0].norm)
    return match if alone and not sentence[match.end() :].startswith("-") else None


def _resolve_pair(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    match = _pair(sentence)
    if match is None:
        return sentence
    for left, right in pairwise(phrases):
        if before[left.span.end : right.span.start].strip(" ,") in ("and", "or", "with", "and not"):
            meant = left if match["which"].casefold() == "former" else right
            return _put(sentence, Span(*match.span()), meant.text)
    return None


def _resolve_time(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    match = relative_time(sentence)
    if match is None:
        return sentence
    time = named_time(match, before)
    return None if time is None else _put(sentence, Span(*match.span()), time)


def _resolve_ellipsis(sentence: str, before: str, phrases: Sequence[NounPhrase]) -> str | None:
    """ "So was Birch Lane." with the predicate of the sentence before."""
    match = _SO_DID.match(sentence) or _DID_TOO.match(sentence)
    if match is None:
        return sentence
    found = words(before)
    verb = first_verb(found)
    subject = next((item for item in phrases if item.subject), None)
    if verb is None or subject is None or subject.span.start > 0:
        return None
    return f"{match['who']} {before[found[verb].start :]}"


def _put(sentence: str, span: Span, text: str) -> str:
    """The sentence with a text for what stands in a span."""
    if span.start == 0:
        text = text[:1].upper() + text[1:]
    elif text.startswith("The "):
        text = "the " + text[4:]
    return sentence[: span.start] + text + sentence[span.end :]
