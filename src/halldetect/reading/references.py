"""Sentences that depend on the previous one: pronouns, "the latter", "there", "so did Ann".

Such a sentence has a second reading, used if the sentence is not supported without it. A pronoun
at its start is replaced by the subject of the previous sentence, if that fits. A sentence that is
meaningless otherwise is read after the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    MONTHS,
    NEGATIONS,
    NUMBER_WORDS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    WEEKDAYS,
    Word,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

# A longer sentence is not searched.
MAX_LENGTH = 600
_SINGULAR = frozenset({"it", "its"})
_PLURAL = frozenset({"they", "their", "them", "these", "those"})
_PERSONAL = frozenset({"he", "she", "his", "her", "him"})
_PRONOUNS = _SINGULAR | _PLURAL | _PERSONAL
_OWNERS = frozenset({"his", "her", "its", "their"})
_OTHER_PRONOUNS = SUBJECTS | _PRONOUNS | frozenset("this that our my your who what all".split())
_DOES = r"(?:did|does|do|was|were|is|are|has|have|had|can|will|would)"
_MEANINGLESS_ALONE = re.compile(
    rf"\bdid so\b|^but [^,;]{{1,40}} {_DOES}(?: not|n't)?[.!]?$|(?:as well|too)[.!]$"
    rf"|^(?:and )?(?:so|neither|nor) {_DOES} [^,;]{{1,60}}[.!]?$"
    r"|^there,? (?:he|she|it|they)\b|(?<!is )(?<!was )(?<!were )\bthere(?:[.,;!]|$)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\bthe (?:former|latter)\b(?!-)", re.IGNORECASE)
# Quotation marks: pronouns inside are those of the speaker. Not the "'" of "Ann 's", "'90s".
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
# "It" without a referent: "it is clear that", "it was here that", "it is not known why".
_EXPLETIVE = re.compile(
    r"^it (?:(?:is|was) the (?:first|second|third|\w+th|last|only) |seem|appear|turn|"
    r"(?:is|was) (?:here|there|then)\b[^.;]* that\b|"
    r"(?:is|was|remains|remained)(?: not| ?n't)? (?:\w+ )?(?:clear|unclear|known|unknown|certain|"
    r"uncertain|obvious) (?:what|whether|why|who|when|where|how|if)\b|"
    r"take|took|(?:is|was|has been|will be) (?:\w+ )?(?:\w+ )?(?:that|to|who|when|because)\b|"
    r"(?:\w+ ){0,4}(?:(?:rain|snow|hail|drizzl|thunder|thaw)(?:e|ed|es|s|ing)?|sunny|rainy|windy|"
    r"cloudy|foggy|stormy)\b)",
    re.IGNORECASE,
)
_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir lady lord dame judge justice captain president king "
    "queen prince princess senator mayor minister coach saint pope".split()
)
# "Ann Cole's son left. He ...": the son.
_RELATIVES = frozenset(
    "son daughter child baby wife husband partner mother father mum mom dad parent brother sister "
    "uncle aunt nephew niece cousin friend neighbour neighbor colleague assistant aide spokesman "
    "spokeswoman agent widow lawyer doctor driver manager coach".split()
)
# Words for the source of a response: "The passage describes a museum. It opened in 1994."
_SOURCE_WORDS = frozenset("passage text article summary document excerpt paragraph".split())
# Words that begin a sentence but name nothing; most others end in "-ly".
_OPENERS = PREPOSITIONS | frozenset(
    "overall nevertheless furthermore indeed next last earlier hence otherwise likewise even "
    "perhaps maybe only just including regarding aged born known then later now here today also "
    "however moreover meanwhile still again thus therefore finally first instead according due "
    "prior while".split()
)
_NAMES_IN_LY = frozenset("emily kelly sally billy molly holly lily polly italy sicily july".split())
_TIMES = frozenset(map(str.lower, (*MONTHS, *WEEKDAYS))) | frozenset(
    "day days week weeks month months year years morning afternoon evening night weekend".split()
)
_PLURALS = frozenset("people men women children police".split())
_OWNED = re.compile(r"['’] ?s\b|s['’]")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_INDEFINITE = re.compile(r"\b(?:a|an) \w", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A second reading of a sentence.

    Attributes:
        text: The sentence as it may be read.
        resolved: True if a name replaces a pronoun; False if the text begins with the previous
            sentence.
    """

    text: str
    resolved: bool


@dataclass(frozen=True, slots=True)
class _Subject:
    """The subject of a sentence; `rest` is the sentence after it."""

    text: str
    plural: bool
    named: bool
    rest: str


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
    if _MEANINGLESS_ALONE.search(sentence) or _names_one_of_two(sentence):
        return Reading(f"{before} {sentence}", False)
    pronoun = _pronoun(sentence)
    name = None if pronoun is None else _antecedent(pronoun.norm, before)
    if pronoun is None or name is None:
        return None
    following = words(sentence[pronoun.end :])[:1]
    owned = bool(following) and following[0].norm not in PREPOSITIONS
    if pronoun.norm in _OWNERS and owned:
        name += "'" if name.endswith("s") and pronoun.norm == "their" else "'s"
    if pronoun.start == 0:
        name = name[:1].upper() + name[1:]
    elif name.startswith("The "):
        name = f"the {name[4:]}"
    return Reading(sentence[: pronoun.start] + name + sentence[pronoun.end :], True)


def _names_one_of_two(sentence: str) -> bool:
    """Return True for "the former" or "the latter" without a noun, not for "the former mayor"."""
    match = _PAIR.search(sentence)
    following = words(sentence[match.end() :])[:1] if match is not None else []
    return match is not None and all(
        may_be_verb(word.norm) or may_be_past(word.norm) for word in following
    )


def _pronoun(sentence: str) -> Word | None:
    """Return the first pronoun, if no earlier word in the sentence explains it."""
    found = words(sentence)
    at = next((at for at, word in enumerate(found) if word.norm in _PRONOUNS), None)
    if at is None or _EXPLETIVE.match(sentence[found[at].start :]):
        return None
    word, earlier = found[at], found[:at]
    if len(word.norm) < word.end - word.start:  # "it's", "they've"
        return None
    if word.norm in ("these", "those"):
        return word if at == 0 and len(found) > 1 and _verb_like(found[1]) else None
    if any(is_finite_verb(other.norm) for other in earlier[1:]):
        return None
    for place, other in enumerate(earlier):
        explained = place == 0 or earlier[place - 1].norm in PREPOSITIONS
        if other.norm in ARTICLES and place == 0 and not _TIMES & {item.norm for item in earlier}:
            return None
        if (other.capital and not explained) or (place == 0 and not _is_opener(other)):
            return None
    first = found[0].norm
    inside = word.norm not in SUBJECTS or first in PREPOSITIONS
    behind = [match["next"] for match in _NAME_BEHIND.finditer(sentence, word.end)]
    named = any(item not in COORDINATORS | PREPOSITIONS for item in behind)
    return None if at and (first == "according" or (inside and named)) else word


def _is_opener(word: Word) -> bool:
    return (
        word.norm in _OPENERS | COORDINATORS | ARTICLES | NUMBER_WORDS
        or (word.norm.endswith("ly") and word.norm not in _NAMES_IN_LY)
        or may_be_past(word.norm)
        or word.numeric
    )


def _verb_like(word: Word) -> bool:
    return is_finite_verb(word.norm) or may_be_past(word.norm)


def _antecedent(pronoun: str, before: str) -> str | None:
    """Return the subject of the previous sentence, if a pronoun may refer to it."""
    subject = _subject(before)
    if subject is None or subject.plural != (pronoun in _PLURAL):
        return None
    if pronoun in _PERSONAL:
        owner, apostrophe, owned = subject.text.partition("'s ")
        if apostrophe and subject.named:  # "Ann Cole's shop closed. She ..."
            return None if _RELATIVES & set(owned.casefold().split()) else owner.rstrip()
        return subject.text if subject.named else None
    if pronoun in _SINGULAR:
        titled = subject.text.split()[0].casefold().rstrip(".") in _TITLES
        # "The council bought a tractor. It ...": the pronoun is ambiguous.
        object_ = _INDEFINITE.search(subject.rest[:60])
        by = object_ is not None and words(subject.rest[: object_.start()])
        ambiguous = object_ is not None and not (by and by[-1].norm in PREPOSITIONS)
        if titled or (ambiguous and not _INDEFINITE.match(subject.text)):
            return None
    return re.sub(r"^[Aa]n? ", "the ", subject.text)


def _subject(sentence: str) -> _Subject | None:
    """Return the words before the first verb, without openers and prepositional phrases."""
    found = words(sentence)
    start = _first_of_subject(sentence, found)
    end = start
    while end < len(found) and not _ends_subject(sentence, found, start, end):
        end += 1
    inside = found[start:end]
    norms = {word.norm for word in inside}
    if not inside or end == len(found) or norms & (_OTHER_PRONOUNS | _SOURCE_WORDS):
        return None
    first, head = inside[0], inside[-1]
    plain = first.norm in ARTICLES | NUMBER_WORDS or first.numeric
    text = sentence[first.start : head.end]
    several = "and" in norms
    if not (plain or first.capital) or head.norm == "'s" or (several and _OWNED.search(text)):
        return None  # "Ann and Bob's shop" is ambiguous
    if "of" in norms:
        head = inside[max(0, next(at for at, word in enumerate(inside) if word.norm == "of") - 1)]
    plural_noun = head.norm.endswith("s") and not head.norm.endswith(("ss", "us", "is"))
    if len(inside) == 1 and found[end].norm in PREPOSITIONS and not plural_noun:
        return None  # "Unable to age", "Prior to May"
    small = ARTICLES | PREPOSITIONS | {"'s", "and"}
    name = not plain and all(word.capital for word in inside if word.norm not in small)
    plural_noun = plural_noun and not (name and len(inside) > 1)
    plural = several or head.norm in _PLURALS or first.norm in NUMBER_WORDS or plural_noun
    named = name or (not plain and "'s" in norms)
    rest = sentence[inside[-1].end :]
    return _Subject(text, plural and first.norm not in ("a", "an"), named, rest)


def _first_of_subject(sentence: str, found: Sequence[Word]) -> int:
    """Return the index after an opener: "Sadly,", "In 1968", "The next day", "Last week"."""
    start = 0
    if found and _is_opener(found[0]) and found[0].norm not in ARTICLES | NUMBER_WORDS:
        comma = sentence.find(", ")
        start = next((at for at, word in enumerate(found) if word.start > comma > 0), 1)
    for at in range(start, min(start + 4, len(found) - 1)):
        time = found[at].norm in _TIMES or _YEAR.fullmatch(found[at].norm)
        if time and not _verb_like(found[at + 1]):
            return at + 1
    return start


def _ends_subject(sentence: str, found: Sequence[Word], start: int, at: int) -> bool:
    word = found[at]
    if at == start:
        return word.norm in AUXILIARIES | NEGATIONS
    before = found[at - 1]
    between = sentence[before.end : word.start]
    shortened = before.norm in _TITLES | {"st", "co"} and between.strip() == "."
    if any(char in ",;:()—–." for char in between) and not shortened:
        return True
    if word.norm in (PREPOSITIONS | RELATIVES | NEGATIONS) - {"of"} or word.norm == "but":
        return True
    following = found[at + 1].norm if at + 1 < len(found) else ""
    # "The footage reveals they"; "The horror film was": a possible verb, then the verb
    verb = is_finite_verb(word.norm) or following in ARTICLES | _OWNERS | SUBJECTS
    verb = verb or (may_be_verb(word.norm) and not is_finite_verb(following))
    return verb and not word.capital and before.norm not in ARTICLES
