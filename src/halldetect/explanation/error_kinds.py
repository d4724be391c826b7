"""What kind of error a failing claim has, by rule: its words beside those of the source.

The sentence of the evidence that shares most words with the claim is laid beside it. What the two
say differently is compared by type: a number with a number, a name with a name. Where no rule fits,
the kind is not known and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halldetect.explanation.word_types import (
    CERTAINTY,
    NEGATIVE,
    QUANTIFIERS,
    Fits,
    Side,
    TypedWord,
    is_date,
    is_name,
    is_number,
    is_unit,
)
from halldetect.reading.noun_phrases import noun_phrases
from halldetect.reading.overlap import content_keys, content_words, shared_part
from halldetect.reading.sentences import sentences
from halldetect.reading.words import words
from halldetect.report import ErrorKind, ErrorReport

# Below this share of common words the source speaks of something else.
MIN_SHARED = 0.3
# From this share on, single words such as "not" and "may" are what makes the difference.
MOST_SHARED = 0.5
# With this share of the clause's words in the claim, what the clause has besides is missing there.
MOST_SAID = 0.6
# And from this one on, which word stands with which.
NEARLY_ALL_SHARED = 0.7
# With this share of its words not in the source, a claim is not just told in other words.
MIN_INVENTED = 0.6
# A clause with this share of the words that its sentence shares with the claim stands for it.
CLAUSE_SHARE = 0.8
_CLAUSE_END = re.compile(r"[;:]\s|,\s(?:and|but|though|although|while|so|which|who)\s|\sbut\s")
_MAX_WORDS = 6
_CAUSES = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result|led to|leads to|caused?|causes|since|"
    r"therefore|so that|in order to|result(?:ed|s)? in|triggered|prompted)\b",
    re.IGNORECASE,
)
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


def error_kind(claim: str, source: str, *, contradicted: bool) -> ErrorReport | None:
    """The kind of error of a claim that a passage does not support; None where it is not known.

    claim         as the verifier has read it
    source        the passage that decides, of any length
    contradicted  whether the passage says otherwise; else it does not say it
    """
    return next(error_candidates(claim, source, contradicted=contradicted), None)


def error_candidates(claim: str, source: str, *, contradicted: bool) -> Iterator[ErrorReport]:
    """The kinds of error whose rule fits, the one that is most often right first.

    claim, source, contradicted  as for `error_kind`
    """
    said = Side(claim)
    keys = content_keys(claim)
    candidates = [span.cut(source) for span in sentences(source)] or [source]
    nearest = max(candidates, key=lambda text: shared_part(keys, content_keys(text)))
    share = shared_part(keys, content_keys(nearest))
    if share >= MIN_SHARED:
        yield from filter(None, _differences(said, nearest, Side(source).norms, share))
    if not contradicted and (invented := _invented(said, source)):
        yield invented


def _differences(
    said: Side, nearest: str, everywhere: frozenset[str], share: float
) -> Iterator[ErrorReport | None]:
    """What each rule finds in a claim and the sentence of the source that is nearest to it.

    said        the claim
    nearest     the sentence
    everywhere  all words of the source
    share       of the claim's words that the sentence has
    """
    clause = Side(_clause(nearest, content_keys(said.text)))
    for kind, fits in _TYPES:
        yield _compare(kind, said, clause, fits, everywhere)
    if share < MOST_SHARED:
        return
    for rule in (_other_quantifier, _role):
        yield rule(said, clause)
    for kind, fits in _MOVABLE if share >= NEARLY_ALL_SHARED else ():
        yield _moved(kind, said, Side(nearest), fits)
    for rule in (_certainty, _negation, _opposite, _quantifier, _cause):
        yield rule(said, clause)


def _clause(sentence: str, keys: frozenset[str]) -> str:
    """The clause that has nearly all words that the sentence shares with the claim, if one has."""
    shared = len(keys & content_keys(sentence))
    for clause in _CLAUSE_END.split(sentence):
        if shared > 1 and len(keys & content_keys(clause)) >= CLAUSE_SHARE * shared:
            return clause
    return sentence


def _compare(
    kind: ErrorKind,
    said: Side,
    found: Side,
    fits: Fits,
    everywhere: frozenset[str],
) -> ErrorReport | None:
    """The first word of a type that the source has not, beside the source's nearest of its type."""
    own = [item for item in said.of_type(fits) if item.word.norm not in everywhere]
    others = [item for item in found.of_type(fits) if item.word.norm not in said.norms]
    if not own or not others:
        return None
    item = own[0]
    near = said.near(item.place)

    def likeness(other: TypedWord) -> tuple[bool, int, int]:
        same_before = said.before(item.place, fits) == found.before(other.place, fits)
        return same_before, len(near & found.near(other.place)), -abs(other.place - item.place)

    counterpart = max(others, key=likeness)
    return ErrorReport(kind, said.run(item.place, fits), found.run(counterpart.place, fits))


def _moved(kind: ErrorKind, said: Side, found: Side, fits: Fits) -> ErrorReport | None:
    """A word of a type that the source has, but with something else that the claim speaks of."""
    others = found.of_type(fits)
    for item in said.of_type(fits):
        if item.word.norm not in found.norms or len(others) < 2:
            continue
        anchor = _anchor(said, found, item.place, fits)
        if anchor is None:
            continue
        nearest = min(others, key=lambda other: abs(other.place - anchor))
        run = found.run(nearest.place, fits)
        if item.word.norm not in {word.norm for word in words(run)}:
            return ErrorReport(kind, said.run(item.place, fits), run)
    return None


def _anchor(said: Side, found: Side, place: int, fits: Fits) -> int | None:
    """Where the source has the content word that stands nearest to a place of the claim."""
    near = sorted(range(len(said.words)), key=lambda at: abs(at - place))
    for at in near:
        keys = content_keys(said.text[said.words[at].start : said.words[at].end])
        if not keys or fits(said.words, at):
            continue
        places = [
            number
            for number, word in enumerate(found.words)
            if keys & content_keys(found.text[word.start : word.end])
        ]
        if places:
            return places[0] if len(places) == 1 else None
    return None


_TYPES = (
    (ErrorKind.DATE, is_date),
    (ErrorKind.UNIT, is_unit),
    (ErrorKind.NUMBER, is_number),
    (ErrorKind.NAME, is_name),
)
_MOVABLE = ((ErrorKind.DATE, is_date), (ErrorKind.NUMBER, is_number), (ErrorKind.NAME, is_name))


# Words that change what the rest says


def _words_of(side: Side, norms: frozenset[str]) -> str:
    return ", ".join(
        dict.fromkeys(side.text[word.start : word.end] for word in side.words if word.norm in norms)
    )


def _one_sided(
    kind: ErrorKind, said: Side, found: Side, listed: frozenset[str]
) -> ErrorReport | None:
    """Words of a list that stand on one side only.

    Those of the source alone count only where the claim has most of what the clause says.
    """
    own, other = said.norms & listed, found.norms & listed
    if own == other or (not own - other and not _says_most(said, found)):
        return None
    return ErrorReport(kind, _words_of(said, own - other), _words_of(found, other - own))


def _says_most(said: Side, found: Side) -> bool:
    """Whether the claim has most words of the clause beside it."""
    keys = content_keys(found.text)
    return shared_part(keys, content_keys(said.text)) >= MOST_SAID


def _negation(said: Side, found: Side) -> ErrorReport | None:
    if bool(said.norms & NEGATIVE) == bool(found.norms & NEGATIVE):
        return None
    return _one_sided(ErrorKind.NEGATION, said, found, NEGATIVE)


def _other_quantifier(said: Side, found: Side) -> ErrorReport | None:
    """A quantifier in the place of another one."""
    own, other = said.norms & QUANTIFIERS, found.norms & QUANTIFIERS
    if not own - other or not other - own:
        return None
    return _one_sided(ErrorKind.QUANTIFIER, said, found, QUANTIFIERS)


def _quantifier(said: Side, found: Side) -> ErrorReport | None:
    own, other = said.norms & QUANTIFIERS, found.norms & QUANTIFIERS
    if not (own or other) or own == other or (other and not own and len(said.words) < 5):
        return None
    return _one_sided(ErrorKind.QUANTIFIER, said, found, QUANTIFIERS)


def _certainty(said: Side, found: Side) -> ErrorReport | None:
    return _one_sided(ErrorKind.CERTAINTY, said, found, CERTAINTY)


def _opposite(said: Side, found: Side) -> ErrorReport | None:
    """A word and its opposite: the claim says the contrary without a negation."""
    for pair in _OPPOSITES:
        own, other = said.norms & pair, found.norms & pair
        if len(own) == 1 and len(other) == 1 and own != other:
            return ErrorReport(ErrorKind.NEGATION, _words_of(said, own), _words_of(found, other))
    return None


# The same words in another place, a cause, and what the source does not have


def _role(said: Side, found: Side) -> ErrorReport | None:
    """Who does it to whom, the other way round: the same verb between the same two."""
    for key in content_keys(said.text) & content_keys(found.text):
        own, other = _parties(said.text, key), _parties(found.text, key)
        if own is None or other is None:
            continue
        if own[0] & other[1] and own[1] & other[0] and not own[0] & other[0]:
            return ErrorReport(ErrorKind.ROLE, shortened(said.text), shortened(found.text))
    return None


def _parties(text: str, key: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of who does and of whom it is done to, around the word of this key."""
    verb = next((word for word in content_words(text) if word.key == key), None)
    if verb is None:
        return None
    phrases = noun_phrases(text)
    before = [item for item in phrases if item.span.end <= verb.start]
    after = [item for item in phrases if item.span.start >= verb.end]
    if not before or not after or text[verb.start].isupper():
        return None
    passive = re.search(r"\b(?:was|were|is|are|been|be)\b[^,;]{0,12}$", text[: verb.start])
    by = next((item for item in after if item.after == "by"), None)
    left, right = content_keys(before[-1].text), content_keys((by or after[0]).text)
    return (right, left) if passive and by is not None else (left, right)


def _cause(said: Side, found: Side) -> ErrorReport | None:
    cause = _CAUSES.search(said.text)
    if cause is None or _CAUSES.search(found.text) or not _says_most(said, found):
        return None
    return ErrorReport(ErrorKind.CAUSE, shortened(said.text[cause.start() :]), "")


def _invented(said: Side, source: str) -> ErrorReport | None:
    """Most words of the claim, or a name or number of it, are nowhere in the source."""
    known, norms = content_keys(source), Side(source).norms
    content = content_words(said.text)
    missing = [word for word in content if word.key not in known]
    if content and len(missing) >= MIN_INVENTED * len(content):
        # From the first of them to the last, so that the words are those of the claim.
        last = missing[:_MAX_WORDS][-1]
        return ErrorReport(ErrorKind.INVENTED, said.text[missing[0].start : last.end], "")
    for _, fits in _MOVABLE:
        for item in said.of_type(fits):
            if item.word.norm not in norms:
                return ErrorReport(ErrorKind.INVENTED, said.run(item.place, fits), "")
    return None


def shortened(text: str) -> str:
    """The first words of a text."""
    parts = text.split()
    return " ".join(parts[:14]) + (" …" if len(parts) > 14 else "")
