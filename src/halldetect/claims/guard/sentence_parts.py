"""The parts of a sentence, found by rule: clauses, predicates, and what is said when and where.

Each rule looks for one plain shape and splits only where it is sure of it; a sentence that has
none of these shapes has no parts. A part is one or two pieces of the sentence, word for word.
Clauses and predicates are taken whole, so that negations, modals and quantifiers stay with what
they govern; sentences with a condition, a quotation or hearsay are not split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from halldetect.claims.guard.omissions import Omissions, is_plain
from halldetect.reading.document import Span
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    MODALS,
    MONTHS,
    NEGATIONS,
    PREPOSITIONS,
    RELATIVES,
    SUBJECTS,
    WEEKDAYS,
    Word,
    is_finite_verb,
    is_past_verb,
    may_be_past,
    may_be_verb,
    without_fillers,
    words,
)

MIN_WORDS, MAX_WORDS = 5, 60
MAX_PARTS = 3
_MAX_SUBJECT = 6
_OWNERS = frozenset({"his", "her", "its", "their"})
_NOMINATIVES = frozenset({"he", "she", "they", "we", "i"})
# Past forms that are no participles: a verb for certain, wherever they stand.
_ONLY_PAST = frozenset(
    "became began came chose drew drove fell flew gave grew knew ran rose sang saw spoke took "
    "threw went wore wrote broke ate drank froze hid rode rang sank shook shrank sprang stole swam "
    "swore tore woke wove arose forgot was were is are has had did does".split()
)
_BE = frozenset({"was", "were", "is", "are"})
# Clauses that begin so, and what follows them, stay together.
_SUBORDINATORS = frozenset(
    "because although though while whereas when whenever if unless until since so that which who "
    "whom whose where after before as once than how why what whether".split()
)
_ADVERBS = frozenset("also already still now then later once never always often again".split())
_TOGETHER = frozenset("between both together either neither each other merge merged".split())
# Conditions, and words that make what stands near them somebody's opinion.
_HEARSAY = frozenset(
    "if unless whether provided assuming otherwise except lest according allegedly alleged "
    "alleges reportedly supposedly purportedly apparently seemingly presumably possibly perhaps "
    "maybe probably likely unlikely potentially say says said saying tell tells told claim "
    "claims claimed claiming stated stating announce announces announced argue argues argued "
    "assert asserts asserted believe believes believed think thinks thought suggest suggests "
    "suggested deny denies denied doubt admit admits admitted insist insists insisted note "
    "notes noted add adds added explain explains explained wrote tweeted estimate estimates "
    "estimated predict predicts predicted expect expects expected accuse accused confirm "
    "confirms confirmed speculated rumour rumor seem seems seemed appear appears appeared "
    "consider considered regarded assume assumed conclude concluded warn warns warned imply "
    "implies implied mention mentioned describe described describes ask asks asked wonder "
    "wondered dispute disputed testified pretend pretended imagine imagined dream dreamed false "
    "falsely myth hoax fictional".split()
)
# A subject with one of these says less of each predicate than of both.
_NOT_EACH = NEGATIONS | frozenset("only fewer less most half all every each some any".split())
_YEAR = r"(?:1[0-9]|20)\d\d"
_MONTH = f"(?:{'|'.join(MONTHS)})"
_NAME = r"(?:the )?[A-Z][\w'’.-]*(?: (?:of |the |de |and )?[A-Z][\w'’.-]*){0,3}"
_TIME = (
    rf"(?:in (?:{_MONTH} )?{_YEAR}|in {_MONTH}|on (?:\d{{1,2}} {_MONTH}(?: {_YEAR})?|"
    rf"{_MONTH} \d{{1,2}}(?:, {_YEAR})?|(?:{'|'.join(WEEKDAYS)})))"
)
_PLACE = rf"(?:in|at) {_NAME}"
_AGENT = r"by (?:the |an? )?(?:[\w'’-]+ ){0,3}[\w'’-]+"
_ADJUNCT = re.compile(rf"(?: |, )(?:(?P<time>{_TIME})|(?P<place>{_PLACE})|(?P<agent>{_AGENT}))$")
# "In 2013, she raced and was crowned in 2014": when the second happened is not said.
_OPENING_TIME = re.compile(
    rf"[^,]*(?:\d|{_MONTH}|\b(?:day|days|week|weeks|month|months|year|years|season|morning|evening|"
    r"night|century|time|\w+day)\b)[^,]*,",
)

Pieces = tuple[Span, ...]


def sentence_parts(sentence: str) -> list[tuple[str, Pieces]]:
    """The parts of a sentence, each with its pieces, at most `MAX_PARTS`.

    None where no rule is sure.
    """
    found = words(sentence)
    norms = {word.norm for word in found}
    if not MIN_WORDS <= len(found) <= MAX_WORDS or "\n" in sentence or norms & _TOGETHER:
        return []
    if not is_plain(sentence, norms) or norms & _HEARSAY:
        return []
    rules: tuple[Callable[[str, Sequence[Word]], list[Pieces]], ...] = (
        _clauses,
        _aside,
        _predicates,
        _adjuncts,
    )
    for rule in rules:
        parts = rule(sentence, found)
        if 1 < len(parts) <= MAX_PARTS or (parts and rule is _adjuncts):
            tidied = [_tidy(sentence, pieces) for pieces in parts]
            return [(" ".join(span.cut(sentence) for span in spans), spans) for spans in tidied]
    return []


def _tidy(sentence: str, pieces: Pieces) -> Pieces:
    """The pieces without punctuation at their ends; two with only a space between are one."""
    tidy: list[Span] = []
    for piece in pieces:
        text = piece.cut(sentence)
        end = piece.start + len(text.rstrip(" .!,;"))
        if text.count("(") > text.count(")") and sentence[end : end + 1] == ")":
            end += 1
        span = Span(piece.start + len(text) - len(text.lstrip(" ,;")), end)
        if tidy and not sentence[tidy[-1].end : span.start].strip():
            tidy[-1] = Span(tidy[-1].start, span.end)
        else:
            tidy.append(span)
    return tuple(tidy)


def _between(sentence: str, left: Word, right: Word) -> str:
    return sentence[left.end : max(left.end, right.start)].strip()


def _sure_verb(found: Sequence[Word], at: int) -> bool:
    """Whether the word is a finite verb, as its form or its object shows."""
    norm = found[at].norm
    if norm in _ONLY_PAST | MODALS:
        return True
    following = found[at + 1] if at + 1 < len(found) else None
    if not is_past_verb(norm) or following is None:
        return False
    return following.norm in ARTICLES | _OWNERS or following.numeric


def _has_verb(found: Sequence[Word]) -> bool:
    return any(is_finite_verb(word.norm) and "-" not in word.norm for word in found)


# "Ann moved to Rome, and her brother stayed in Leeds."


def _clauses(sentence: str, found: Sequence[Word]) -> list[Pieces]:
    cuts: list[tuple[int, int]] = []  # where a clause ends and where the next begins
    begin = 0
    for at in range(1, len(found) - 2):
        mark = _between(sentence, found[at - 1], found[at])
        if mark == ";":
            start = at
        elif mark == "," and found[at].norm in COORDINATORS:
            start = at + 1
        else:
            continue  # without a comma a list is as likely
        left = found[begin:at]
        if not _whole_clause(sentence, left) or not _own_subject(sentence, found, start):
            continue
        cuts.append((found[at - 1].end, found[start].start))
        begin = start
    if not cuts:
        return []
    starts = [0, *(start for _, start in cuts)]
    ends = [*(end for end, _ in cuts), len(sentence)]
    return [(Span(start, end),) for start, end in zip(starts, ends, strict=True)]


def _whole_clause(sentence: str, left: Sequence[Word]) -> bool:
    """Whether a clause is closed: a verb, nothing subordinate, no list left open."""
    if not _has_verb(left) or {word.norm for word in left} & _SUBORDINATORS:
        return False
    last = left
    for at in range(len(left) - 1, 0, -1):
        if "," in _between(sentence, left[at - 1], left[at]):
            last = left[at:]
            break
    return _has_verb(last)


def _own_subject(sentence: str, found: Sequence[Word], start: int) -> bool:
    """Whether a clause with its own subject, no pronoun, and a certain verb starts here."""
    first = found[start]
    if first.norm in SUBJECTS:
        return False  # "and he left" cannot be judged alone
    if first.norm in PREPOSITIONS | _SUBORDINATORS | NEGATIONS or _verb_like(first.norm):
        return False
    for at in range(start + 1, min(start + _MAX_SUBJECT + 1, len(found))):
        if _between(sentence, found[at - 1], found[at]):
            return False
        if _sure_verb(found, at):
            return True
        if found[at].norm in COORDINATORS | RELATIVES | PREPOSITIONS or _verb_like(found[at].norm):
            return False
    return False


def _verb_like(norm: str) -> bool:
    return may_be_verb(norm) or may_be_past(norm) or norm.endswith("ing")


# "Ann Holm, who was born in Rome, left in 1990."


def _aside(sentence: str, found: Sequence[Word]) -> list[Pieces]:
    at = next((at for at, word in enumerate(found) if word.norm in ("who", "which")), 0)
    if not 0 < at <= _MAX_SUBJECT or _between(sentence, found[at - 1], found[at]) != ",":
        return []
    subject = found[:at]
    if _has_verb(subject) or subject[0].norm in PREPOSITIONS | SUBJECTS | _SUBORDINATORS:
        return []
    if any(word.norm in COORDINATORS for word in subject):
        return []
    closing = [
        number
        for number in range(at + 2, len(found))
        if _between(sentence, found[number - 1], found[number]) == ","
    ]
    if len(closing) != 1 or not (_sure_verb(found, at + 1) or is_past_verb(found[at + 1].norm)):
        return []
    end = closing[0]
    if found[end].norm not in AUXILIARIES and not is_past_verb(found[end].norm):
        return []
    inner = {word.norm for word in found[at + 1 : end]}
    if inner & _SUBORDINATORS or {word.norm for word in found[end:]} & _SUBORDINATORS:
        return []
    name = Span(0, found[at - 1].end)
    return [
        (name, Span(found[at + 1].start, found[end - 1].end)),
        (name, Span(found[end].start, len(sentence))),
    ]


# "The tower was finished in 1902 and is 80 metres tall."


def _predicates(sentence: str, found: Sequence[Word]) -> list[Pieces]:
    verb = next((at for at, word in enumerate(found) if is_finite_verb(word.norm)), 0)
    if not _plain_subject(sentence, found[:verb]) or _OPENING_TIME.match(
        sentence[: found[verb].start]
    ):
        return []
    joints = [
        at
        for at in range(verb + 1, len(found) - 2)
        if found[at].norm in COORDINATORS and _sure_predicate(found, verb, at)
    ]
    if len(joints) != 1:
        return []
    joint = joints[0]
    first = found[verb:joint]
    # One verb before the joint and nothing that it could belong to.
    extra = [word for word in first[1:] if _verb_like(word.norm)]
    passive = found[verb].norm in AUXILIARIES and len(extra) == 1 and extra[0] is first[1]
    if (extra and not passive) or {word.norm for word in found} & _SUBORDINATORS:
        return []
    if (
        any(word.norm in COORDINATORS for word in first)
        or "," in sentence[: first[-1].end][found[verb].end :]
    ):
        return []
    last = verb - 1
    while last and (found[last].norm in _ADVERBS or found[last].norm.endswith("ly")):
        last -= 1  # "Ann already left and moved": the adverb belongs to the first verb
    lead = Span(0, found[last].end)
    return [
        (Span(0, found[joint - 1].end),),
        (lead, Span(found[joint + 1].start, len(sentence))),
    ]


def _plain_subject(sentence: str, subject: Sequence[Word]) -> bool:
    """A short phrase before the verb, perhaps after "In 1990,"."""
    commas = [
        at for at in range(1, len(subject)) if _between(sentence, subject[at - 1], subject[at])
    ]
    if len(commas) == 1 and subject[0].norm in ("in", "on", "at", "during"):
        subject = subject[commas[0] :]
    elif commas:
        return False
    norms = {word.norm for word in subject}
    return (
        0 < len(subject) <= _MAX_SUBJECT
        and subject[0].norm not in PREPOSITIONS | _SUBORDINATORS
        and not norms & (RELATIVES | COORDINATORS | _NOT_EACH)
        and not norms & (PREPOSITIONS - {"of", "in", "at", "from", "for"})
        and not any(_verb_like(word.norm) and not word.capital for word in subject[1:])
        and not any(word.norm.endswith("s") and not word.capital for word in subject[:-1])
    )


def _sure_predicate(found: Sequence[Word], verb: int, joint: int) -> bool:
    """Whether a second predicate of the same subject starts behind the joint."""
    after = found[joint + 1]
    if after.capital:
        return False
    if after.norm in _ONLY_PAST:
        return True
    # "studied law and moved to Rome"; behind "was" the second may be passive too
    following = found[joint + 2]
    plain = found[verb].norm not in AUXILIARIES and is_past_verb(found[verb].norm)
    return (
        plain
        and is_past_verb(after.norm)
        and following.norm in ARTICLES | _OWNERS | PREPOSITIONS
        and following.norm not in ("by", "as", "of")
    )


# "Norvik was fined in Spain in 2016 by the tax office."


def _adjuncts(sentence: str, found: Sequence[Word]) -> list[Pieces]:
    if sum(is_finite_verb(word.norm) for word in found) > 2:
        return []
    if {word.norm for word in found} & (_SUBORDINATORS | COORDINATORS | RELATIVES):
        return []
    verb = next((at for at, word in enumerate(found) if is_finite_verb(word.norm)), 0)
    if not is_past_verb(found[verb].norm) or not _plain_subject(sentence, found[:verb]):
        return []
    passive = found[verb].norm in _BE
    end = len(sentence.rstrip(" .!"))
    spans: list[Span] = []
    kinds: set[str] = set()
    while match := _ADJUNCT.search(sentence[:end]):
        kind = str(match.lastgroup)
        if kind in kinds or (kind == "agent" and not passive):
            break
        kinds.add(kind)
        spans.insert(0, Span(match.start(kind), end))
        end = match.start()
    base = [word for word in found if word.end <= end]
    if len(base) <= verb + 1 or not _complete(base, verb, passive):
        return []
    lead = Span(0, end)
    parts: list[Pieces] = [(lead,)] if len(spans) == 1 else [(lead, span) for span in spans]
    # Words that govern a whole part forbid leaving anything out of it.
    plain = without_fillers(list(found))
    rules = Omissions(sentence, plain)
    for pieces in parts:
        chosen = [
            at
            for at, word in enumerate(plain)
            if any(piece.start <= word.start and word.end <= piece.end for piece in pieces)
        ]
        if not rules.allowed(chosen):
            return []
    return parts


def _complete(base: Sequence[Word], verb: int, passive: bool) -> bool:
    """Whether a sentence may end here: behind an object or a participle."""
    last = base[-1]
    if last.norm in PREPOSITIONS | ARTICLES | AUXILIARIES | _OWNERS or last.norm.endswith("ing"):
        return False
    if passive:
        # "was fined", "was elected mayor": not "was mayor", whose place and time go together
        return base[verb + 1].norm.endswith(("d", "n", "t"))
    return not is_finite_verb(last.norm)
