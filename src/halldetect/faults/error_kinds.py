"""Find the kind of error of a failing claim by rule.

The claim is compared with the sentence of the evidence that shares most words with it. Facts of
one kind are compared: a number with a number, a name with a name. If no rule fits, the kind is
unknown and no error is reported. `benchmarks/error_kinds.py` measures each kind: a kind that is
right in fewer than 80 % of its cases has no rule.
"""

from __future__ import annotations

import re

from halldetect.facts.quantities import equal, read_quantities, unknown_numerals
from halldetect.facts.recogniser import Fact, FactKind, find_facts
from halldetect.reading.overlap import content_keys, content_words, shared_part
from halldetect.reading.sentences import sentences
from halldetect.reading.words import words
from halldetect.report import ErrorKind, ErrorReport

# Below this share of common words, the source is about something else.
MIN_SHARED = 0.3
# From this share on, a single word such as "not" can be the difference.
MOST_SHARED = 0.5
# A claim with this share of the words of a clause repeats the clause.
MOST_SAID = 0.6
# A claim that lacks this share of its words in the source is more than a paraphrase.
MIN_INVENTED = 0.6
# A clause represents its sentence if it has this share of the words shared with the claim.
CLAUSE_SHARE = 0.8
_IN_WORD = re.compile(r"\w")
_CLAUSE_END = re.compile(r"[;:]\s|,\s(?:and|but|though|although|while|so|which|who)\s|\sbut\s")
_MAX_WORDS = 6
# Numbers that are seldom the topic of a sentence.
_VAGUE = frozenset("1 first second third half quarter".split())
# In a claim alone, these words are often true: "left no memo".
_WEAK_NEGATIVES = frozenset("no none nowhere without".split())
_NEGATIVES = _WEAK_NEGATIVES | frozenset(
    "not never nobody nothing neither nor failed fails fail refused refuses unable cannot hardly "
    "denied rejected".split()
)
_OPPOSITES = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "rose/fell increased/decreased increase/decrease rise/fall higher/lower opened/closed "
        "won/lost accepted/rejected approved/rejected bought/sold began/ended started/ended "
        "earlier/later above/below inside/outside legal/illegal safe/unsafe cheaper/dearer "
        "older/younger larger/smaller longer/shorter faster/slower better/worse best/worst "
        "positive/negative supported/opposed enabled/disabled allowed/forbidden allowed/banned "
        "included/excluded passed/failed improved/worsened gained/lost possible/impossible"
    ).split()
)


class _Side:
    """The claim, the source or a clause of it, with its words and facts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.norms = frozenset(word.norm for word in words(text))
        self.keys = content_keys(text)
        self.facts = [fact for fact in find_facts(text) if fact.key not in _VAGUE]
        self._fact_keys = {fact.key for fact in self.facts}

    def lacks(self, fact: Fact) -> bool:
        """Return True if it has neither a fact nor its words: "Holm" is in "Anna Holm"."""
        norms = {word.norm for word in words(fact.text)}
        return fact.key not in self._fact_keys and not norms <= self.norms

    def shown(self, norms: frozenset[str]) -> str:
        """Return the words among `norms`, as written."""
        found = [word for word in words(self.text) if word.norm in norms]
        return ", ".join(dict.fromkeys(self.text[word.start : word.end] for word in found))


def error_kind(
    claim: str, passage: str, *, contradicted: bool, source: str = ""
) -> ErrorReport | None:
    """Return the kind of error of an unsupported claim; None if it is unknown.

    `passage` decides the claim; words that the source has elsewhere are not an error.
    """
    said, whole = _Side(claim), _Side(passage)
    read = [one for one in read_quantities(claim)[::-1] if one.bound not in ("over", "under")]
    agrees = {a.start: any(equal(a, b) for b in read_quantities(passage)) for a in read}
    new = [fact for fact in said.facts if whole.lacks(fact) and not _occurs(fact.text, source)]
    new = [fact for fact in new if not agrees.get(fact.start)]
    candidates = [span.cut(passage) for span in sentences(passage)] or [passage]
    nearest = max(candidates, key=lambda text: shared_part(said.keys, content_keys(text)))
    if shared_part(said.keys, content_keys(nearest)) >= MIN_SHARED:
        clause = _Side(_clause(nearest, said.keys))
        first = {fact.kind: fact for fact in reversed(new)}
        facts = (first[kind] for kind in FactKind if kind in first)
        found = next(filter(None, (_other_fact(fact, said, clause) for fact in facts)), None)
        if found is None and shared_part(said.keys, clause.keys) >= MOST_SHARED:
            found = _negation(said, clause)
        if found is not None:
            return found
    if contradicted:
        return None
    missing = [
        word
        for word in content_words(claim)
        if word.key not in whole.keys and not _occurs(claim[word.start : word.end], source)
    ]
    if missing and len(missing) >= MIN_INVENTED * len(content_words(claim)):
        # Quote from the first to the last of them, in the words of the claim.
        last = missing[:_MAX_WORDS][-1]
        return ErrorReport(ErrorKind.INVENTED, claim[missing[0].start : last.end], "")
    return ErrorReport(ErrorKind.INVENTED, new[0].text, "") if new else None


def other_number(claim: str, passage: str) -> ErrorReport | None:
    """Return the number in which a claim differs from its passage, in any language."""
    said, theirs = unknown_numerals(claim, [passage]), unknown_numerals(passage, [claim])
    return ErrorReport(ErrorKind.NUMBER, said[0], theirs[0]) if said and theirs else None


def _occurs(text: str, source: str) -> bool:
    """Return True if a source has these words; a new pattern for each would take longer."""
    text, source = text.lower(), source.lower()
    at = source.find(text)
    while at >= 0:
        end = at + len(text)
        if not _IN_WORD.match(source[max(at - 1, 0) : at]) and not _IN_WORD.match(source, end):
            return True
        at = source.find(text, at + 1)
    return False


def _clause(sentence: str, keys: frozenset[str]) -> str:
    """Return the clause with nearly all words that the sentence shares with the claim."""
    shared = len(keys & content_keys(sentence))
    for clause in _CLAUSE_END.split(sentence):
        if shared > 1 and len(keys & content_keys(clause)) >= CLAUSE_SHARE * shared:
            return clause
    return sentence


def _other_fact(fact: Fact, said: _Side, clause: _Side) -> ErrorReport | None:
    """Compare a fact that the source lacks with the most similar one of its form."""
    others = [other for other in clause.facts if other.form == fact.form and said.lacks(other)]
    if not others:
        return None
    near = _near(said.text, fact)

    def likeness(other: Fact) -> tuple[bool, bool, int]:
        around = _near(clause.text, other)
        same_after = other.following == fact.following
        return near[:1] == around[:1], same_after, len({*near} & {*around})

    other = max(others, key=likeness)
    return ErrorReport(ErrorKind(fact.kind), fact.text, other.text)


def _near(text: str, fact: Fact) -> list[str]:
    """Return the words around a fact, the one before it first."""
    before, after = words(text[: fact.start])[-3:], words(text[fact.end :])[:3]
    return [word.norm for word in [*reversed(before), *after]]


def _negation(said: _Side, clause: _Side) -> ErrorReport | None:
    """Compare opposites and negations; a negation counts in a clause that the claim repeats."""
    for pair in _OPPOSITES:
        own, other = said.norms & pair, clause.norms & pair
        if len(own) == 1 and len(other) == 1 and own != other:
            return ErrorReport(ErrorKind.NEGATION, said.shown(own), clause.shown(other))
    own, other = said.norms & _NEGATIVES, clause.norms & _NEGATIVES
    repeats = shared_part(clause.keys, said.keys) >= MOST_SAID
    if bool(own) == bool(other) or (other and not repeats) or (own and own <= _WEAK_NEGATIVES):
        return None
    return ErrorReport(ErrorKind.NEGATION, said.shown(own), clause.shown(other))
