"""The noun phrases of a sentence, found by rule: what a later pronoun may stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from halldetect.reading.document import Span
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    MONTHS,
    NEGATIONS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    WEEKDAYS,
    Word,
    is_finite_verb,
    may_be_verb,
    words,
)

OWNERS = frozenset({"his", "her", "its", "their", "our", "my", "your"})
DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_OBJECTS = frozenset({"him", "them", "us", "me", "himself", "herself", "itself", "themselves"})
_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir lady lord dame judge justice captain president king "
    "queen prince princess senator mayor minister coach saint pope".split()
)
# A name with one of these is no person.
_NOT_PERSONS = frozenset(
    "ltd inc co corp company group bank works rail railway university school college hospital "
    "clinic institute museum theatre theater cinema hotel church cathedral castle dam bridge tower "
    "river lake bay island mount mountain street road lane avenue square park town city county "
    "united club fc airport station agency ministry council committee court party press times "
    "foundation association society university union army police team".split()
).union(map(str.lower, MONTHS), map(str.lower, WEEKDAYS))
_NUMBERS = frozenset("two three four five six seven eight nine ten eleven twelve both".split())
_ADVERBS = frozenset(
    "then later now here there today yesterday tomorrow also however moreover meanwhile still soon "
    "again too already so thus therefore finally first instead afterwards together once".split()
)
# Words that begin a sentence but name nothing; most others of the kind end in "-ly".
_OPENERS = frozenset(
    "overall nevertheless nonetheless furthermore indeed further next last earlier elsewhere hence "
    "otherwise likewise even perhaps maybe only just alongside including regarding concerning "
    "beyond besides aged born known".split()
)
_NAMES_IN_LY = frozenset(
    "emily kelly sally billy molly holly lily polly dolly nelly tilly milly wally willy reilly "
    "connolly donnelly beverly kimberly italy sicily july".split()
)
# Never verbs, although the guard takes them for words that make all they govern a fiction.
_NOUNS = frozenset("film movie novel story episode".split())
_NAMED_TIMES = frozenset(map(str.lower, MONTHS)).union(map(str.lower, WEEKDAYS))
_TIMES = _NAMED_TIMES.union(
    "day days week weeks month months year years morning afternoon evening night weekend season "
    "summer winter autumn".split()
)
_SINGULAR_S = ("ss", "us", "is")
_OWNED = re.compile(r"['’]\s?s\s|s['’]\s")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_PLURALS = frozenset("people men women children geese mice teeth feet police".split())


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase of a sentence.

    span        where it stands
    text        its words, an indefinite article replaced by "the"
    plural      whether it names several
    person      whether it names a person; None where that is not known
    subject     whether it is the first without a preposition
    indefinite  whether it has the article "a" or "an"
    after       the preposition before it; empty where there is none
    """

    span: Span
    text: str
    plural: bool
    person: bool | None
    subject: bool
    indefinite: bool
    after: str


def noun_phrases(sentence: str) -> list[NounPhrase]:
    """The noun phrases of a sentence, from left to right; pronouns are none."""
    found = words(sentence)
    phrases: list[NounPhrase] = []
    at = 0
    while at < len(found):
        end = _phrase_end(sentence, found, at)
        if end is None:
            at += 1
            continue
        phrase = _phrase(sentence, found, at, end)
        first = _may_be_subject(phrase) and not any(map(_may_be_subject, phrases))
        if first and not any(word.norm in SUBJECTS | DEMONSTRATIVES for word in found[:at]):
            phrase = replace(phrase, subject=True)
        phrases.append(phrase)
        at = end
    return phrases


def _may_be_subject(phrase: NounPhrase) -> bool:
    """Whether a phrase has no preposition and is no time: "The next day Ann ..."."""
    return not phrase.after and phrase.text.casefold().rpartition(" ")[2] not in _TIMES


def joined(sentence: str, phrases: Sequence[NounPhrase]) -> list[NounPhrase]:
    """The phrases, neighbours with "and" between them as one that names several.

    "Ann and Bob's shop" is one thing, or Ann and a shop: it does not count as several.

    sentence  that they stand in
    phrases   in order
    """
    found: list[NounPhrase] = []
    for phrase in phrases:
        last = found[-1] if found else None
        if last is not None and sentence[last.span.end : phrase.span.start].strip(" ,") == "and":
            span = Span(last.span.start, phrase.span.end)
            # with what follows: tokenised texts have "Bob 's shop"
            owned = _OWNED.search(sentence, phrase.span.start, phrase.span.end + len(" 's "))
            found[-1] = replace(last, span=span, text=span.cut(sentence), plural=owned is None)
        else:
            found.append(phrase)
    return found


def first_verb(found: Sequence[Word]) -> int | None:
    """The position of the first word that is certainly a finite verb."""
    return next((at for at, word in enumerate(found) if is_finite_verb(word.norm)), None)


def _phrase_end(sentence: str, found: Sequence[Word], start: int) -> int | None:
    """Where the phrase that starts here ends; None where none starts."""
    first = found[start]
    opens = first.norm in ARTICLES | OWNERS | _NUMBERS or first.numeric
    if not (opens or (first.capital and _may_open(first.norm)) or _starts_plainly(found, start)):
        return None
    if start == 0 and not opens and _is_opener(first.norm):
        return None
    if _YEAR.fullmatch(first.norm):
        return start + 1
    at = start + 1 if opens else start
    begin = at
    while at < len(found):
        word = found[at]
        if at > start and _broken(sentence, found[at - 1], word):
            break
        after_name = not opens and at > start > 0 and found[at - 1].capital and not word.capital
        if after_name and word.norm not in ("of", "'s"):
            break  # "met Joan Pryce yesterday": what follows a name is no part of it
        if word.capital and at > begin and found[at - 1].norm in _TIMES - _NAMED_TIMES:
            break  # "The next day Ann"
        if word.norm == "of" and at > begin and at + 1 < len(found):
            inner = _phrase_end(sentence, found, at + 1)
            return at if inner is None else inner
        if not _inside(word, after_article=at == begin and opens):
            break
        following = found[at + 1].norm if at + 1 < len(found) else ""
        if at > begin and following in ARTICLES | SUBJECTS | OWNERS and not word.capital:
            break  # "The footage reveals they": a verb
        at += 1
    if start == 0 and not opens and at == 1 and _only_begins(sentence, found):
        return None
    return at if at > begin or first.numeric else None


def _is_opener(norm: str) -> bool:
    """Whether a first word names nothing: "Sadly, ...", "Overall, ...", "Even Ann ..."."""
    return norm in _OPENERS or (norm.endswith("ly") and norm not in _NAMES_IN_LY)


def _only_begins(sentence: str, found: Sequence[Word]) -> bool:
    """Whether the first word is a capital only because the sentence begins with it.

    A subject has its verb behind it, or an apposition; "According to Ann ...", "Due to rain ..."
    and "Undeterred, he ..." have neither. Nouns in the plural need no article and may have a
    preposition ("Engineers at the works found ...").
    """
    if len(found) < 2:
        return False
    following = found[1].norm
    between = sentence[found[0].end : max(found[0].end, found[1].start)].strip()
    if following in SUBJECTS and between in ("", ","):
        return True
    if between:
        return False
    if following in ARTICLES | OWNERS | DEMONSTRATIVES:
        return True
    return following in PREPOSITIONS and not _plural(found[:1])


def _inside(word: Word, *, after_article: bool) -> bool:
    """Whether a word may be part of a noun phrase."""
    norm = word.norm
    if norm in AUXILIARIES | COORDINATORS | PREPOSITIONS | RELATIVES | SUBJECTS | NEGATIONS:
        return False
    if norm in ARTICLES | OWNERS | DEMONSTRATIVES | _OBJECTS | _ADVERBS:
        return False
    if norm == "'s" or after_article or word.capital or norm in _NOUNS:
        return True
    return not may_be_verb(norm) and not norm.endswith("ly")


def _may_open(norm: str) -> bool:
    return norm not in (
        AUXILIARIES
        | COORDINATORS
        | PREPOSITIONS
        | RELATIVES
        | SUBJECTS
        | NEGATIONS
        | OWNERS
        | DEMONSTRATIVES
        | _OBJECTS
        | _ADVERBS
    )


def _starts_plainly(found: Sequence[Word], start: int) -> bool:
    """A noun without article: at the start, or behind "and", a preposition or a verb."""
    word = found[start]
    if not _may_open(word.norm) or may_be_verb(word.norm) or word.norm.endswith("ly"):
        return False
    if start == 0 or found[start - 1].norm in COORDINATORS | PREPOSITIONS | {"or"}:
        return True
    before = found[start - 1].norm
    return is_finite_verb(before) and before not in AUXILIARIES


def _broken(sentence: str, left: Word, right: Word) -> bool:
    """Whether punctuation that ends a phrase stands between two words ("Dr. Amsel" has none)."""
    between = sentence[left.end : max(left.end, right.start)]
    if between.strip() == "." and left.norm in _TITLES | {"st", "co"}:
        return False
    return any(char in ",;:()—–." for char in between)


def _phrase(sentence: str, found: Sequence[Word], start: int, end: int) -> NounPhrase:
    inside = found[start:end]
    indefinite = inside[0].norm in ("a", "an")
    span = Span(inside[0].start, inside[-1].end)
    text = span.cut(sentence)
    if indefinite:
        text = "the" + text[len(inside[0].norm) :]
    after = found[start - 1].norm if start and found[start - 1].norm in PREPOSITIONS else ""
    return NounPhrase(
        span,
        text,
        plural=_plural(inside),
        person=_person(inside),
        subject=False,
        indefinite=indefinite,
        after=after,
    )


def _plural(inside: Sequence[Word]) -> bool:
    head = _head(inside)
    if inside[0].norm in _NUMBERS or (inside[0].numeric and len(inside) > 1):
        return True
    if inside[0].norm in ("a", "an"):
        return False
    name = head.capital and inside[0].capital and inside[0].norm not in ARTICLES
    name = name and len(inside) > 1
    if head.norm in _PLURALS:
        return True
    return not name and head.norm.endswith("s") and not head.norm.endswith(_SINGULAR_S)


def _head(inside: Sequence[Word]) -> Word:
    """The noun that the phrase is about: the last word before an "of"."""
    for at, word in enumerate(inside):
        if word.norm == "of" and at:
            return inside[at - 1]
    return inside[-1]


def _person(inside: Sequence[Word]) -> bool | None:
    norms = {word.norm for word in inside}
    if any(norm.endswith("-year-old") for norm in norms):
        return True
    if inside[0].norm in _TITLES or (norms & _TITLES and inside[0].capital):
        return True
    if inside[0].norm in ARTICLES or norms & _NOT_PERSONS or any(word.numeric for word in inside):
        return False if norms & _NOT_PERSONS else None
    if all(word.capital for word in inside):
        return True if len(inside) < 5 and (len(inside) > 1 or inside[0].start > 0) else None
    return None
