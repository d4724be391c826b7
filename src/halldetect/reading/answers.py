"""Questions and their answers: what a bare answer says, and where a source may answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from halldetect.reading.assertions import NUMBER_WORDS, is_sentence
from halldetect.reading.document import Document
from halldetect.reading.language import is_foreign
from halldetect.reading.overlap import WordIndex
from halldetect.reading.tracked import TrackedText
from halldetect.reading.units import Unit
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    MONTHS,
    PREPOSITIONS,
    WEEKDAYS,
    may_be_verb,
    words,
)

# A sentence with so much of what a question asks about may answer it.
MIN_SHARE = 0.6
MAX_SHOWN = 300
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b", re.IGNORECASE)
_TIME = re.compile(
    rf"\b(?:{'|'.join((*MONTHS, *WEEKDAYS))}|noon|midnight|today|tomorrow|yesterday|spring|summer|"
    r"autumn|winter|morning|evening|night|when|after|before|until|daily|weekly|soon|century)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:because|since|due to|owing to|caused?|reasons?|so that|in order to|led to|result\w*|"
    r"therefore|after|for)\b",
    re.IGNORECASE,
)
# What the answer to a question must have, by how the question is put.
_ASKED_FOR = (
    (re.compile(r"\bhow (?:many|much|old|long|far|often|tall)\b", re.IGNORECASE), (_NUMBER,)),
    (
        re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|time)\b", re.IGNORECASE),
        (_NUMBER, _TIME),
    ),
    (re.compile(r"\bwhy\b", re.IGNORECASE), (_CAUSE,)),
)
_NO_QUESTION = "an answer without its question: what it says is not clear"
# A longer text is no bare answer.
MAX_WORDS = 6
_POLAR = re.compile(r"(yes|no|correct|right|true|false|yep|nope|yeah)[.!]*", re.IGNORECASE)
_DENIALS = frozenset({"no", "false", "nope"})
# What cannot be judged without its question: yes and no, numbers, times and places.
_LEANING = re.compile(
    r"(?:yes|no|correct|right|true|false|yep|nope|yeah|maybe)[.!]*"
    r"|(?:(?:in|on|at|by|from|since|until|about|around|after|before|for)\s+)?"
    r"[€$£]?\d[\d.,:/%-]*(?:\s+\w+)?[.!]*"
    r"|(?:in|on|at|by|from|since|until|after|before|for|with)\s+\w+(?:\s+\w+)?[.!]*",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:(?P<asked>who|whom|what|which|when|where|why|how)\b(?P<kind>[^?]*?)\s+)?"
    r"(?P<verb>is|are|was|were|does|do|did|can|could|will|would|has|have|had|should|may|must)\s+"
    r"(?P<rest>[^?]+)\?",
    re.IGNORECASE,
)
_BE = frozenset({"is", "are", "was", "were"})
_LOWERED = PREPOSITIONS | ARTICLES | NUMBER_WORDS | frozenset("more less about up every".split())
_WHO_DID = re.compile(r"(?:who|what|which\s+\w+)\s+(?P<rest>[^?]+)\?", re.IGNORECASE)


def is_bare(answer: str) -> bool:
    """Whether a text is an answer that says something only together with its question."""
    return len(answer.split()) <= MAX_WORDS and not is_sentence(answer) and not is_foreign(answer)


def needs_question(answer: str) -> bool:
    """Whether a text cannot be judged at all without its question."""
    return _LEANING.fullmatch(answer.strip()) is not None


def with_question(question: str, answer: TrackedText) -> TrackedText:
    """A bare answer as a statement; the question before the answer where no rule makes one.

    question  what was asked
    answer    the answer, as it stands in the response
    """
    asked = " ".join(question.split())
    bare = answer.stripped(" .!")
    polar = _POLAR.fullmatch(bare.text)
    match = _QUESTION.fullmatch(asked)
    if match is not None:
        verb = match["verb"].lower()
        subject, predicate = _subject(match["rest"])
        if verb not in _BE and not _starts_with_verb(predicate):
            subject = ""  # "the policy cover": where the subject ends is not clear
        if subject and polar is not None and match["asked"] is None:
            denied = " not" if polar[1].lower() in _DENIALS else ""
            said = f"{subject} {verb}{denied} {predicate}".strip()
            # all of it stands for the answer
            return TrackedText(_sentence(said), (answer.origins[0],) * len(_sentence(said)))
        if subject and polar is None and match["asked"] is not None:
            lead = f"{subject} {verb} {predicate}".strip() + " "
            if match["kind"].strip().lower().startswith(("many ", "much ")):
                unit = match["kind"].split(maxsplit=1)[1]
                bare = TrackedText.joined([bare, TrackedText.added(f" {unit}")])
            return _joined(_sentence(lead)[:-1] + " ", bare)
    who = _WHO_DID.fullmatch(asked)
    if who is not None and polar is None and match is None:
        return TrackedText.joined([bare, TrackedText.added(f" {who['rest']}.")])
    return TrackedText.joined([TrackedText.added(f"{asked} "), answer])


def _joined(lead: str, answer: TrackedText) -> TrackedText:
    first = answer.text.split(maxsplit=1)[0]
    if first.lower() in _LOWERED:
        answer = TrackedText(answer.text[:1].lower() + answer.text[1:], answer.origins)
    return TrackedText.joined([TrackedText.added(lead), answer, TrackedText.added(".")])


def _starts_with_verb(predicate: str) -> bool:
    found = words(predicate)
    return bool(found) and (may_be_verb(found[0].norm) or found[0].norm in {"open", "not"})


def is_yes_or_no(answer: str) -> bool:
    """Whether a text only says yes or no."""
    return _POLAR.fullmatch(answer.strip()) is not None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip() + "."


def _subject(rest: str) -> tuple[str, str]:
    """The subject after the verb of a question, and what follows it; empty where unclear."""
    found = words(rest)
    for position in range(1, len(found)):
        word = found[position]
        ends = (
            may_be_verb(word.norm)
            or word.norm in AUXILIARIES
            or word.norm in (PREPOSITIONS - {"of"}) | ARTICLES
            or word.norm in {"open", "closed", "free", "allowed", "available", "not", "called"}
        )
        if ends and found[position - 1].norm not in ARTICLES | {"of"}:
            return rest[: word.start].strip(), rest[word.start :].strip()
    return rest.strip(), ""


def answering(units: tuple[Unit, ...], question: str | None) -> tuple[Unit, ...]:
    """The units, with the question where the first statement is an answer that leans on it."""
    asserting = [number for number, unit in enumerate(units) if unit.asserts]
    if not asserting:
        return units
    first = units[asserting[0]]
    if first.lead_in is not None or first.problem is not None or not is_bare(first.text):
        return units
    alone = len(asserting) == 1
    if question is not None and (alone or is_yes_or_no(first.text)):
        read = replace(first, tracked=with_question(question, first.tracked), lead_in=question)
    elif is_yes_or_no(first.text) and not alone:
        read = replace(first, asserts=False)  # what it says yes to is said by what follows
    elif alone and needs_question(first.text):
        read = replace(first, problem=_NO_QUESTION)
    else:
        return units
    return (*units[: asserting[0]], read, *units[asserting[0] + 1 :])


def likely_answer(question: str, documents: Sequence[Document]) -> str | None:
    """The sentence of the documents that shares most with a question; None if none shares much.

    Only sentences count that have what is asked for: a number for "how many", a number or a time
    for "when", a cause for "why".

    question   what was asked
    documents  of the source
    """
    places = [
        (number, sentence)
        for number, document in enumerate(documents)
        for sentence in document.sentences
        if _has_what_is_asked(question, sentence.cut(document.text))
    ]
    shares = WordIndex(documents).shares(question, places)
    best = max(range(len(places)), key=lambda at: shares[at], default=None)
    if best is None or shares[best] < MIN_SHARE:
        return None
    number, sentence = places[best]
    return " ".join(sentence.cut(documents[number].text).split())[:MAX_SHOWN]


def _has_what_is_asked(question: str, sentence: str) -> bool:
    for asked, wanted in _ASKED_FOR:
        if asked.search(question):
            return any(pattern.search(sentence) for pattern in wanted)
    return True
