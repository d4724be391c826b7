"""What kind of error a failing claim has, by rule: its words beside those of the source.

The sentence of the evidence that shares most words with the claim is laid beside it. What the two
say differently is compared by type: a number with a number, a name with a name. Where no rule fits,
the kind is not known and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from halldetect.report import ErrorKind, ErrorReport
from halldetect.text.noun_phrases import noun_phrases
from halldetect.text.overlap import content_keys, content_words, shared_part
from halldetect.text.sentences import sentences
from halldetect.text.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, Word, words

# Below this share of common words the source speaks of something else.
MIN_SHARED = 0.3
# From this share on, single words such as "not" and "may" are what makes the difference.
MOST_SHARED = 0.5
# And from this one on, which word stands with which.
NEARLY_ALL_SHARED = 0.7
# With this share of its words not in the source, a claim is not just told in other words.
MIN_INVENTED = 0.6
# A clause with this share of the words that its sentence shares with the claim stands for it.
CLAUSE_SHARE = 0.8
_CLAUSE_END = re.compile(r"[;:]\s|,\s(?:and|but|though|although|while|so|which|who)\s|\sbut\s")
_MAX_WORDS = 6
_MONTHS = frozenset(
    [*map(str.lower, MONTHS), *"jan feb mar apr jun jul aug sep sept oct nov dec".split()]
)
_DAYS = frozenset(map(str.lower, WEEKDAYS))
_SEASONS = frozenset("spring summer autumn fall winter".split())
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion trillion dozen half third quarter twice double first second "
    "fourth fifth".split()
)
# These are numbers in a measure, but seldom the number that a sentence is about.
_VAGUE_NUMBERS = frozenset("one first second third half quarter".split())
_UNITS = frozenset(
    "% percent cents cent euros euro dollars dollar pounds pound kg kilograms kilogram grams gram "
    "tonnes tons mg milligrams micrograms metres meters metre meter km kilometres kilometers "
    "centimetres millimetres miles mile feet inches litres liters litre ml seconds minutes hours "
    "days weeks months years second minute hour day week month year degrees celsius fahrenheit "
    "watts kilowatts megawatts gigawatts volts bytes kilobytes megabytes gigabytes mb gb kb tb ms "
    "hectares acres kelvin joules bar hertz mm cm m l g".split()
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_NEGATIVE = frozenset(
    "not no never none nobody nothing neither nor without nowhere failed fails fail refused "
    "refuses unable cannot hardly denied rejected".split()
)
_QUANTIFIERS = frozenset(
    "all every each most many some several few none any both only half majority minority always "
    "sometimes often rarely usually everyone everybody nobody always never at least".split()
) - {"at"}
_CERTAINTY = frozenset(
    "may might could can must should would will shall possibly probably perhaps likely unlikely "
    "plans plan planned expects expected hopes hoped wants intends intended considering considers "
    "proposed proposes allegedly reportedly suspected suggests suggested certainly definitely "
    "optional required mandatory allowed recommended seems appears potential possible aims "
    "believed thought estimated".split()
)
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


@dataclass(frozen=True, slots=True)
class _Typed:
    """A word of a text and where it stands among the others."""

    word: Word
    place: int


class _Side:
    """The claim or the source sentence, with its words by type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)

    @cached_property
    def norms(self) -> frozenset[str]:
        """All its words."""
        return frozenset(word.norm for word in self.words)

    def of_type(self, fits: Callable[[Sequence[Word], int], bool]) -> list[_Typed]:
        """The words that fit, in order."""
        return [
            _Typed(word, place) for place, word in enumerate(self.words) if fits(self.words, place)
        ]

    def run(self, place: int, fits: Callable[[Sequence[Word], int], bool]) -> str:
        """The words around a place that fit as well, as they are written: "12 March 2021"."""
        first = last = place
        while first > 0 and fits(self.words, first - 1):
            first -= 1
        while last + 1 < len(self.words) and fits(self.words, last + 1):
            last += 1
        return self.text[self.words[first].start : self.words[last].end]

    def before(self, place: int, fits: Callable[[Sequence[Word], int], bool]) -> str:
        """The word before the run of fitting words around a place."""
        while place > 0 and fits(self.words, place):
            place -= 1
        return self.words[place].norm

    def near(self, place: int, reach: int = 3) -> frozenset[str]:
        """The words around a place."""
        return frozenset(
            word.norm
            for word in self.words[max(place - reach, 0) : place + reach + 1]
            if word is not self.words[place]
        )


def error_kind(claim: str, source: str, *, contradicted: bool) -> ErrorReport | None:
    """The kind of error of a claim that a passage does not support; None where it is not known.

    claim         as the verifier has read it
    source        the passage that decides, of any length
    contradicted  whether the passage says otherwise; else it does not say it
    """
    said = _Side(claim)
    keys = content_keys(claim)
    candidates = [span.cut(source) for span in sentences(source)] or [source]
    nearest = max(candidates, key=lambda text: shared_part(keys, content_keys(text)))
    share = shared_part(keys, content_keys(nearest))
    invented = None if contradicted else _invented(said, source)
    if share < MIN_SHARED:
        return invented
    clause, sentence = _Side(_clause(nearest, keys)), _Side(nearest)
    everywhere = _Side(source).norms
    for kind, fits in _TYPES:
        if report := _compare(kind, said, clause, fits, everywhere):
            return report
    if share >= MOST_SHARED:
        for rule in (_other_quantifier, _role):
            if report := rule(said, clause):
                return report
        for kind, fits in _MOVABLE if share >= NEARLY_ALL_SHARED else ():
            if report := _moved(kind, said, sentence, fits):
                return report
        for rule in (_certainty, _negation, _opposite, _quantifier, _cause):
            if report := rule(said, clause):
                return report
    return invented


def _clause(sentence: str, keys: frozenset[str]) -> str:
    """The clause that has nearly all words that the sentence shares with the claim, if one has."""
    shared = len(keys & content_keys(sentence))
    for clause in _CLAUSE_END.split(sentence):
        if shared > 1 and len(keys & content_keys(clause)) >= CLAUSE_SHARE * shared:
            return clause
    return sentence


# Words that have a counterpart of the same type


def _is_year(found: Sequence[Word], at: int) -> bool:
    return _YEAR.fullmatch(found[at].norm) is not None


def _is_date(found: Sequence[Word], at: int) -> bool:
    word = found[at]
    if word.norm in _MONTHS | _SEASONS:
        return word.capital or word.norm in _SEASONS
    if word.norm in _DAYS or _is_year(found, at):
        return True
    beside = [found[near].norm for near in (at - 1, at + 1) if 0 <= near < len(found)]
    return word.numeric and any(norm in _MONTHS and norm != "may" for norm in beside)


def _is_number(found: Sequence[Word], at: int) -> bool:
    word = found[at]
    counts = word.numeric or word.norm in _NUMBER_WORDS - _VAGUE_NUMBERS
    return counts and not _is_date(found, at)


def _is_unit(found: Sequence[Word], at: int) -> bool:
    if found[at].norm not in _UNITS or at == 0:
        return False
    return found[at - 1].numeric or found[at - 1].norm in _NUMBER_WORDS


def _is_name(found: Sequence[Word], at: int) -> bool:
    word = found[at]
    if not word.capital or word.numeric or _is_date(found, at) or word.norm in FUNCTION_WORDS:
        return False
    if word.norm in _QUANTIFIERS | _NEGATIVE | _NUMBER_WORDS | _CERTAINTY:
        return False
    # The first word of a sentence may have its capital for that alone.
    return at > 0 or (len(found) > 1 and found[1].capital and not found[1].numeric)


def _compare(
    kind: ErrorKind,
    said: _Side,
    found: _Side,
    fits: Callable[[Sequence[Word], int], bool],
    everywhere: frozenset[str],
) -> ErrorReport | None:
    """The first word of a type that the source has not, beside the source's nearest of its type."""
    own = [item for item in said.of_type(fits) if item.word.norm not in everywhere]
    others = [item for item in found.of_type(fits) if item.word.norm not in said.norms]
    if not own or not others:
        return None
    item = own[0]
    near = said.near(item.place)

    def likeness(other: _Typed) -> tuple[bool, int, int]:
        same_before = said.before(item.place, fits) == found.before(other.place, fits)
        return same_before, len(near & found.near(other.place)), -abs(other.place - item.place)

    counterpart = max(others, key=likeness)
    return ErrorReport(kind, said.run(item.place, fits), found.run(counterpart.place, fits))


def _moved(
    kind: ErrorKind, said: _Side, found: _Side, fits: Callable[[Sequence[Word], int], bool]
) -> ErrorReport | None:
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


def _anchor(
    said: _Side, found: _Side, place: int, fits: Callable[[Sequence[Word], int], bool]
) -> int | None:
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
    (ErrorKind.DATE, _is_date),
    (ErrorKind.UNIT, _is_unit),
    (ErrorKind.NUMBER, _is_number),
    (ErrorKind.NAME, _is_name),
)
_MOVABLE = ((ErrorKind.DATE, _is_date), (ErrorKind.NUMBER, _is_number), (ErrorKind.NAME, _is_name))


# Words that change what the rest says


def _words_of(side: _Side, norms: frozenset[str]) -> str:
    return ", ".join(
        dict.fromkeys(side.text[word.start : word.end] for word in side.words if word.norm in norms)
    )


def _one_sided(
    kind: ErrorKind, said: _Side, found: _Side, listed: frozenset[str]
) -> ErrorReport | None:
    """Words of a list that stand on one side only."""
    own, other = said.norms & listed, found.norms & listed
    if own == other:
        return None
    return ErrorReport(kind, _words_of(said, own - other), _words_of(found, other - own))


def _negation(said: _Side, found: _Side) -> ErrorReport | None:
    if bool(said.norms & _NEGATIVE) == bool(found.norms & _NEGATIVE):
        return None
    return _one_sided(ErrorKind.NEGATION, said, found, _NEGATIVE)


def _other_quantifier(said: _Side, found: _Side) -> ErrorReport | None:
    """A quantifier in the place of another one."""
    own, other = said.norms & _QUANTIFIERS, found.norms & _QUANTIFIERS
    if not own - other or not other - own:
        return None
    return _one_sided(ErrorKind.QUANTIFIER, said, found, _QUANTIFIERS)


def _quantifier(said: _Side, found: _Side) -> ErrorReport | None:
    own, other = said.norms & _QUANTIFIERS, found.norms & _QUANTIFIERS
    if not (own or other) or own == other or (other and not own and len(said.words) < 5):
        return None
    return _one_sided(ErrorKind.QUANTIFIER, said, found, _QUANTIFIERS)


def _certainty(said: _Side, found: _Side) -> ErrorReport | None:
    return _one_sided(ErrorKind.CERTAINTY, said, found, _CERTAINTY)


def _opposite(said: _Side, found: _Side) -> ErrorReport | None:
    """A word and its opposite: the claim says the contrary without a negation."""
    for pair in _OPPOSITES:
        own, other = said.norms & pair, found.norms & pair
        if len(own) == 1 and len(other) == 1 and own != other:
            return ErrorReport(ErrorKind.NEGATION, _words_of(said, own), _words_of(found, other))
    return None


# The same words in another place, a cause, and what the source does not have


def _role(said: _Side, found: _Side) -> ErrorReport | None:
    """Who does it to whom, the other way round: the same verb between the same two."""
    for key in content_keys(said.text) & content_keys(found.text):
        own, other = _parties(said.text, key), _parties(found.text, key)
        if own is None or other is None:
            continue
        if own[0] & other[1] and own[1] & other[0] and not own[0] & other[0]:
            return ErrorReport(ErrorKind.ROLE, _shortened(said.text), _shortened(found.text))
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


def _cause(said: _Side, found: _Side) -> ErrorReport | None:
    cause = _CAUSES.search(said.text)
    if cause is None or _CAUSES.search(found.text):
        return None
    return ErrorReport(ErrorKind.CAUSE, _shortened(said.text[cause.start() :]), "")


def _invented(said: _Side, source: str) -> ErrorReport | None:
    """Most words of the claim, or a name or number of it, are nowhere in the source."""
    known, norms = content_keys(source), _Side(source).norms
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


def _shortened(text: str) -> str:
    parts = text.split()
    return " ".join(parts[:14]) + (" …" if len(parts) > 14 else "")
