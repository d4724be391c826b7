"""Sentences that depend on the previous one: pronouns, "the latter", "there", "so did Ann".

Such a sentence has a second reading, used if the sentence is not supported without it. A pronoun
at its start is replaced by the subject of the previous sentence, if that fits. A sentence that is
meaningless otherwise is read after the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    NEGATIONS,
    NUMBER_WORDS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
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
    # not "the former mayor"
    rf"|\bthe (?:former|latter)(?:[.,;!]| (?:{_DOES}|\w+(?:ed|pt|nt|ook|ame|ost|sts|kes|ns))\b)"
    r"|^there,? (?:he|she|it|they)\b|(?<!is )(?<!was )(?<!were )\bthere(?:[.,;!]|$)",
    re.IGNORECASE,
)
# Quotation marks: pronouns inside are those of the speaker. Not the "'" of "Ann 's", "'90s".
_QUOTED = re.compile(
    r"[\"“”«»‘`]|''|(?:^|\s)'(?!(?:s|re|ve|ll|m|d|t|em|til|tis|twas)\b)(?=[^\W\d_])", re.IGNORECASE
)
_PRONOUN = re.compile(
    r"(?:(?P<opener>[^,;:]{1,80}), "
    r"|(?:but|and|then|later|also|soon|there|[\w ]{1,30} (?:later|earlier)) )?"
    r"(?P<pronoun>he|she|it|they|his|her|its|their|these|those)\b(?!['’-])",
    re.IGNORECASE,
)
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
# Words for the source of a response: "The passage describes a museum. It opened in 1994."
_SOURCE_WORDS = frozenset("passage text article summary document excerpt paragraph".split())
# Words that begin a sentence but name nothing; most others end in "-ly".
_OPENERS = PREPOSITIONS | frozenset(
    "overall nevertheless furthermore indeed next last earlier hence otherwise likewise even "
    "perhaps maybe only just including regarding aged born known then later now here today also "
    "however moreover meanwhile still again thus therefore finally first instead according due "
    "prior while".split()
)
_PLURALS = frozenset("people men women children police".split())
_OWNED = re.compile(r"['’] ?s\b|s['’]")
_OBJECT = re.compile(r"\b(?!(?:of|in|on|at|by|for|with|to|from|as)\b)\w+ an? \w", re.IGNORECASE)


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
    if len(sentence) > MAX_LENGTH or len(before) > MAX_LENGTH:
        return None
    if _MEANINGLESS_ALONE.search(sentence):
        return None if _QUOTED.search(sentence) else Reading(f"{before} {sentence}", False)
    match = _pronoun(sentence)
    if match is None or _QUOTED.search(sentence):
        return None
    pronoun = match["pronoun"].lower()
    name = _antecedent(pronoun, before)
    if name is None:
        return None
    following = words(sentence[match.end() :])[:1]
    if pronoun in _OWNERS and following and following[0].norm not in PREPOSITIONS:
        name += "'" if name.endswith("s") and pronoun == "their" else "'s"
    if match.start("pronoun") == 0:
        name = name[:1].upper() + name[1:]
    elif name.startswith("The "):
        name = f"the {name[4:]}"
    return Reading(sentence[: match.start("pronoun")] + name + sentence[match.end() :], True)


def _pronoun(sentence: str) -> re.Match[str] | None:
    """Return the pronoun that begins a sentence or follows its opener: "In 1994, she"."""
    match = _PRONOUN.match(sentence)
    if match is None or _EXPLETIVE.match(sentence, match.start("pronoun")):
        return None
    before, after = words(match["opener"] or ""), words(sentence[match.end() :])
    verb = bool(after) and (is_finite_verb(after[0].norm) or may_be_past(after[0].norm))
    if match["pronoun"].lower() in ("these", "those") and not verb:
        return None
    named = any(
        word.capital and before[at].norm not in PREPOSITIONS for at, word in enumerate(before[1:])
    )
    clause = any(is_finite_verb(word.norm) for word in before[1:])
    opens = not before or (_is_opener(before[0]) and before[0].norm != "according")
    return match if opens and not named and not clause else None


def _is_opener(word: Word) -> bool:
    return (
        word.norm in _OPENERS | COORDINATORS | ARTICLES | NUMBER_WORDS
        or word.norm.endswith("ly")
        or may_be_past(word.norm)
        or word.numeric
    )


def _antecedent(pronoun: str, before: str) -> str | None:
    """Return the words before the verb of the previous sentence, if a pronoun may mean them."""
    opener = next(iter(words(before)), None)
    if opener is not None and _is_opener(opener) and opener.norm not in ARTICLES:
        before = before.partition(", ")[2]  # "In May, the council met."
    found = words(before)
    end = next((at for at in range(len(found)) if _ends_subject(before, found, at)), 0)
    inside, norms = found[:end], {word.norm for word in found[:end]}
    if not inside or norms & (_OTHER_PRONOUNS | _SOURCE_WORDS):
        return None
    text, first = before[inside[0].start : inside[-1].end], inside[0]
    plain = first.norm in ARTICLES | NUMBER_WORDS
    if (
        _OWNED.search(text)
        or first.numeric
        or not (plain or (first.capital and not _is_opener(first)))
    ):
        return None
    head = next((a for a, b in pairwise(inside) if b.norm == "of"), inside[-1])
    name = all(word.capital for word in inside if word.norm not in ("of", "the"))
    plural_noun = head.norm.endswith("s") and not head.norm.endswith(("ss", "us", "is"))
    plural = bool(norms & (NUMBER_WORDS | _PLURALS | {"and"}))
    plural = plural or (plural_noun and (plain or not name or len(inside) == 1))
    if plural != (pronoun in _PLURAL) or (pronoun in _PERSONAL and (plain or not name)):
        return None
    if len(inside) == 1 and found[end].norm in PREPOSITIONS and not plural_noun:
        return None  # "Unable to age"
    if pronoun in _SINGULAR and _OBJECT.search(before[inside[-1].end :][:60]):
        return None  # "The council bought a tractor. It ...": the pronoun is ambiguous
    return re.sub(r"^[Aa]n? ", "the ", text)


def _ends_subject(sentence: str, found: Sequence[Word], at: int) -> bool:
    word = found[at]
    if at == 0:
        return word.norm in AUXILIARIES | NEGATIONS
    before = found[at - 1]
    between = sentence[before.end : word.start].strip()
    shortened = between == "." and len(before.norm) <= 3  # "Mr. Quist"
    if not shortened and any(char in ",;:()—–." for char in between):
        return True
    if word.norm in (PREPOSITIONS | RELATIVES | NEGATIONS) - {"of"} or word.norm == "but":
        return True
    following = found[at + 1].norm if at + 1 < len(found) else ""
    # "The footage reveals they"; "The horror film was": a possible verb, then the verb
    verb = is_finite_verb(word.norm) or following in ARTICLES | _OWNERS | SUBJECTS
    verb = verb or (may_be_verb(word.norm) and not is_finite_verb(following))
    return verb and not word.capital and before.norm not in ARTICLES
