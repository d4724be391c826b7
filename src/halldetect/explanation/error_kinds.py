"""Find the kind of error of a failing claim by rule.

The claim is compared with the sentence of the evidence that shares most words with it. Facts of
one kind are compared: a number with a number, a name with a name. If no rule fits, the kind is
unknown and no error is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halldetect.facts import Fact, FactKind, find_facts
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
# From this share on, a fact may be attached to the wrong thing.
NEARLY_ALL_SHARED = 0.7
# A claim that lacks this share of its words in the source is more than a paraphrase.
MIN_INVENTED = 0.6
# A clause represents its sentence if it has this share of the words shared with the claim.
CLAUSE_SHARE = 0.8
_CLAUSE_END = re.compile(r"[;:]\s|,\s(?:and|but|though|although|while|so|which|who)\s|\sbut\s")
_MAX_WORDS = 6
# Numbers that are seldom the topic of a sentence.
_VAGUE = frozenset("1 first second third half quarter".split())
_NEGATIVE = frozenset(
    "not no never none nobody nothing neither nor without nowhere failed fails fail refused "
    "refuses unable cannot hardly denied rejected".split()
)
_CAUSES = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result|led to|leads to|caused?|causes|since|"
    r"therefore|so that|in order to|result(?:ed|s)? in|triggered|prompted)\b",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|be)\b[^,;]{0,12}$")
_OPPOSITES = tuple(
    frozenset(pair.split("/"))
    for pair in (
        "rose/fell increased/decreased increase/decrease rise/fall up/down higher/lower more/less "
        "more/fewer opened/closed open/closed won/lost win/lose accepted/rejected "
        "approved/rejected before/after first/last bought/sold buy/sell began/ended start/end "
        "started/stopped started/ended early/late earlier/later above/below over/under "
        "inside/outside present/absent true/false legal/illegal safe/dangerous safe/unsafe "
        "cheap/expensive cheaper/dearer strong/weak hot/cold old/new older/newer older/younger "
        "large/small larger/smaller long/short longer/shorter high/low fast/slow faster/slower "
        "north/south east/west left/right front/back male/female public/private better/worse "
        "best/worst positive/negative supported/opposed support/oppose for/against with/without "
        "enabled/disabled allowed/forbidden allowed/banned included/excluded passed/failed "
        "arrived/left improved/worsened gained/lost same/different hired/fired guilty/innocent "
        "success/failure successful/unsuccessful able/unable possible/impossible"
    ).split()
)
_KINDS = {
    FactKind.DATE: ErrorKind.DATE,
    FactKind.NUMBER: ErrorKind.NUMBER,
    FactKind.NAME: ErrorKind.NAME,
}


class _Side:
    """The claim or a clause of the source, with its words and facts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.norms = _norms(text)
        self.keys = content_keys(text)
        self.facts = [fact for fact in find_facts(text) if fact.key not in _VAGUE]

    def shown(self, norms: frozenset[str]) -> str:
        """Return the words among `norms`, as written."""
        found = [
            self.text[word.start : word.end] for word in words(self.text) if word.norm in norms
        ]
        return ", ".join(dict.fromkeys(found))

    def says_most_of(self, other: _Side) -> bool:
        """Return True if it contains most words of the other."""
        return shared_part(other.keys, self.keys) >= MOST_SAID


def error_kind(claim: str, source: str, *, contradicted: bool) -> ErrorReport | None:
    """Return the kind of error of an unsupported claim; None if it is unknown.

    Args:
        claim: The claim as the verifier has read it.
        source: The passage that decides, of any length.
        contradicted: True if the passage contradicts the claim.
    """
    said = _Side(claim)
    candidates = [span.cut(source) for span in sentences(source)] or [source]
    nearest = max(candidates, key=lambda text: shared_part(said.keys, content_keys(text)))
    share = shared_part(said.keys, content_keys(nearest))
    if share >= MIN_SHARED:
        for found in _differences(said, _Side(nearest), _norms(source), share):
            if found is not None:
                return found
    return None if contradicted else _invented(said, source)


def _differences(
    said: _Side, nearest: _Side, everywhere: frozenset[str], share: float
) -> Iterator[ErrorReport | None]:
    """Yield the result of each rule, the most reliable rule first."""
    clause = _Side(_clause(nearest.text, said.keys))
    for kind in FactKind:
        yield _other_fact(kind, said, clause, everywhere)
    if share < MOST_SHARED:
        return
    yield _role(said, clause)
    if share >= NEARLY_ALL_SHARED:
        for kind in FactKind:
            yield _moved(kind, said, nearest)
    for rule in (_negation, _opposite, _cause):
        yield rule(said, clause)


def _norms(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text))


def _clause(sentence: str, keys: frozenset[str]) -> str:
    """Return the clause with nearly all words that the sentence shares with the claim."""
    shared = len(keys & content_keys(sentence))
    for clause in _CLAUSE_END.split(sentence):
        if shared > 1 and len(keys & content_keys(clause)) >= CLAUSE_SHARE * shared:
            return clause
    return sentence


def _other_fact(
    kind: FactKind, said: _Side, clause: _Side, everywhere: frozenset[str]
) -> ErrorReport | None:
    """Compare the first fact that the source lacks with the most similar one of its kind."""
    known = {fact.key for fact in clause.facts}
    same = {fact.key: fact for fact in clause.facts if fact.unit}
    own = [
        fact
        for fact in said.facts
        if fact.kind is kind and fact.key not in known and not _norms(fact.text) <= everywhere
    ]
    for fact in said.facts:
        if fact.kind is kind and fact.unit and fact.key in same:
            report = _compared(fact, same[fact.key])
            if report.kind is ErrorKind.UNIT:
                return report
    mine = {fact.key for fact in said.facts}
    others = [fact for fact in clause.facts if fact.kind is kind and fact.key not in mine]
    others = [fact for fact in others if not _norms(fact.text) <= said.norms]
    if not own or not others:
        return None
    fact = own[0]
    near = _near(said.text, fact)

    def likeness(other: Fact) -> tuple[bool, bool, bool, int]:
        same_before = _before(said.text, fact) == _before(clause.text, other)
        same_after = other.following == fact.following
        shared = len(near & _near(clause.text, other))
        return other.form == fact.form, same_before, same_after, shared

    return _compared(fact, max(others, key=likeness))


def _compared(fact: Fact, other: Fact) -> ErrorReport:
    """Return the difference between two facts, with their units if these differ."""
    if fact.unit.rstrip("s") == other.unit.rstrip("s") or not (fact.unit and other.unit):
        return ErrorReport(_KINDS[fact.kind], fact.text, other.text)
    if fact.key == other.key:
        return ErrorReport(ErrorKind.UNIT, fact.unit, other.unit)
    shown = [f"{item.text} {item.unit}" for item in (fact, other)]
    return ErrorReport(ErrorKind.UNIT, *shown)


def _moved(kind: FactKind, said: _Side, nearest: _Side) -> ErrorReport | None:
    """Find a fact that the source attaches to something else.

    The source has another fact of the kind next to the content word nearest in the claim.
    """
    others = [fact for fact in nearest.facts if fact.kind is kind]
    for fact in said.facts if len(others) > 1 else ():
        if fact.kind is not kind or fact.key not in {other.key for other in others}:
            continue
        place = _anchor(said, nearest, fact)
        if place is None:
            continue
        closest = min(others, key=lambda other: abs(other.start - place))
        if closest.key != fact.key:
            return ErrorReport(_KINDS[kind], fact.text, closest.text)
    return None


def _anchor(said: _Side, nearest: _Side, fact: Fact) -> int | None:
    """Return the place in the source of the shared content word nearest to a fact."""
    facts = [(other.start, other.end) for other in said.facts]
    own = [
        word
        for word in content_words(said.text)
        if not any(start <= word.start < end for start, end in facts)
    ]
    places: dict[str, list[int]] = {}
    for word in content_words(nearest.text):
        places.setdefault(word.key, []).append(word.start)
    for word in sorted(own, key=lambda word: abs(word.start - fact.start)):
        if found := places.get(word.key):
            return found[0] if len(found) == 1 else None
    return None


def _before(text: str, fact: Fact) -> str:
    """Return the word before a fact."""
    return next((word.norm for word in reversed(words(text[: fact.start]))), "")


def _near(text: str, fact: Fact) -> frozenset[str]:
    """Return the words around a fact."""
    before = words(text[: fact.start])[-3:]
    return frozenset(word.norm for word in [*before, *words(text[fact.end :])[:3]])


def _negation(said: _Side, clause: _Side) -> ErrorReport | None:
    """Compare negations; one only in the source counts in a clause that the claim repeats."""
    own, other = said.norms & _NEGATIVE, clause.norms & _NEGATIVE
    if bool(own) == bool(other) or (other and not said.says_most_of(clause)):
        return None
    return ErrorReport(ErrorKind.NEGATION, said.shown(own), clause.shown(other))


def _opposite(said: _Side, clause: _Side) -> ErrorReport | None:
    """Compare a word and its opposite: a denial without a negation."""
    for pair in _OPPOSITES:
        own, other = said.norms & pair, clause.norms & pair
        if len(own) == 1 and len(other) == 1 and own != other:
            return ErrorReport(ErrorKind.NEGATION, said.shown(own), clause.shown(other))
    return None


def _role(said: _Side, clause: _Side) -> ErrorReport | None:
    """Find the same verb with subject and object exchanged."""
    for key in said.keys & clause.keys:
        own, other = _parties(said.text, key), _parties(clause.text, key)
        if own is None or other is None:
            continue
        if own[0] & other[1] and own[1] & other[0] and not own[0] & other[0]:
            return ErrorReport(ErrorKind.ROLE, _shortened(said.text), _shortened(clause.text))
    return None


def _parties(text: str, key: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the content words nearest to a verb, of its subject and of its object."""
    content = content_words(text)
    at = next((at for at, word in enumerate(content) if word.key == key), None)
    if at is None or text[content[at].start].isupper():
        return None
    before = frozenset(word.key for word in content[max(at - 2, 0) : at])
    after = frozenset(word.key for word in content[at + 1 : at + 3])
    passive = _PASSIVE.search(text[: content[at].start]) and " by " in text[content[at].end :]
    return (after, before) if passive else (before, after)


def _cause(said: _Side, clause: _Side) -> ErrorReport | None:
    cause = _CAUSES.search(said.text)
    if cause is None or _CAUSES.search(clause.text) or not said.says_most_of(clause):
        return None
    return ErrorReport(ErrorKind.CAUSE, _shortened(said.text[cause.start() :]), "")


def _invented(said: _Side, source: str) -> ErrorReport | None:
    """Find words, a name or a number of the claim that the source does not contain."""
    known, norms = content_keys(source), _norms(source)
    content = content_words(said.text)
    missing = [word for word in content if word.key not in known]
    if content and len(missing) >= MIN_INVENTED * len(content):
        # Quote from the first to the last of them, in the words of the claim.
        last = missing[:_MAX_WORDS][-1]
        return ErrorReport(ErrorKind.INVENTED, said.text[missing[0].start : last.end], "")
    new = (fact for fact in said.facts if not _norms(fact.text) <= norms)
    return next((ErrorReport(ErrorKind.INVENTED, fact.text, "") for fact in new), None)


def _shortened(text: str) -> str:
    """Return the first words of a text."""
    parts = text.split()
    return " ".join(parts[:14]) + (" …" if len(parts) > 14 else "")
