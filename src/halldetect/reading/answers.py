"""Answers to questions: bare answers, abstentions, and sentences of a source that may answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from halldetect.reading.assertions import is_sentence
from halldetect.reading.citations import SOURCE
from halldetect.reading.document import Document, TrackedText, Unit
from halldetect.reading.language import is_foreign
from halldetect.reading.overlap import WordIndex
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    MONTHS,
    NUMBER_WORDS,
    PREPOSITIONS,
    WEEKDAYS,
    may_be_verb,
    words,
)

_THE_SOURCE = (
    r"(?:(?:the|this|that|your|any(?: of the)?|these|those)\s+)?"
    r"(?:(?:above|given|provided|supplied|attached|retrieved|available|source|search)\s+){0,2}"
    rf"(?:{SOURCE}|results?|knowledge base)"
)
_ABSTENTION = re.compile(
    r"(?:(?:i'm |i am )?(?:sorry|afraid|apologi[sz]e)[,.]?\s*(?:but\s+)?(?:that\s+)?"
    r"|unfortunately,?\s*|however,?\s*)?(?:"
    r"i (?:cannot|can't|can not|could not|couldn't|am unable to|'m unable to|am not able to|"
    r"'m not able to|was unable to|was not able to|do not|don't|did not|didn't)"
    r"\s+(?:know|answer|find|determine|say|tell|provide|help|assist|confirm|verify|"
    r"comply|do that|see|locate|have (?:enough|any|access|sufficient|that|this|the))\b.*"
    r"|i have no (?:information|idea|data|knowledge)\b.*"
    r"|as an ai\b.*\b(?:cannot|can't|unable)\b.*"
    rf"|{_THE_SOURCE}\s+(?:does not|doesn't|do not|don't|did not|didn't)\s+"
    r"(?:explicitly\s+|directly\s+|seem to\s+|appear to\s+|clearly\s+)?"
    r"(?:mention|say|state|specify|provide|include|contain|give|indicate|disclose|address|cover|"
    r"answer|discuss|explain|reveal|describe|list|tell|have|offer|name|record|report|"
    r"make (?:it )?clear)\b.*"
    r"|(?:there (?:is|are|was)|i (?:see|found|find|have)) (?:no|not enough|insufficient) "
    r"(?:information|mention|data|answer|details?|evidence|indication|context)\b.*"
    r"|(?:no|not enough|insufficient) (?:information|details?|data|context)"
    r"(?: (?:is|are|was|were) (?:given|available|provided|included))?\b.*"
    r"|.{1,80} (?:is|are|was|were) not (?:mentioned|specified|stated|disclosed|discussed|indicated)"
    rf"(?: (?:in|by|from) {_THE_SOURCE})?"
    r"|(?:this|that|it|the answer) (?:is|was) not (?:given|provided|known|available|clear|covered)"
    rf"(?: (?:in|by|from) {_THE_SOURCE})?"
    r"|.{1,80} (?:is|are|was|were) not (?:given|provided|included|addressed|covered|available)"
    rf" (?:in|by|from) {_THE_SOURCE}"
    rf"|not (?:mentioned|specified|stated|given|provided|available|known|answerable)"
    rf"(?: (?:in|by) {_THE_SOURCE})?"
    r"|unknown|n/a|unanswerable|no answer|(?:the )?answer (?:is )?not found"
    r"|(?:it is |it's )?(?:not clear|unclear)(?: from| in| whether| how| who| what| when)?.*"
    r")[.!…\s]*",
    re.IGNORECASE | re.DOTALL,
)
_SORRY = re.compile(
    r"^(?:(?:i'm |i am )?(?:sorry|afraid)[,.]?\s*but|unfortunately|however),?\s*", re.IGNORECASE
)
# A further clause may make a statement.
_FURTHER = re.compile(
    r"[,;:(–—]\s*(?:but|which|who|because|since|as|and|although|though|yet|so|however|it|they|"
    r"he|she|the|this|despite|even)\b|[;:(–—]|\b(?:but|because|although|despite|since)\b",
    re.IGNORECASE,
)
# A clause that presupposes a fact: "does not say why it sank".
_PRESUPPOSED = re.compile(r"\b(?:why|the fact that)(?:\s+\w+){3}", re.IGNORECASE)
# A longer sentence is more than an abstention.
_MAX_ABSTENTION = 300

# A sentence with this share of a question's words may answer it.
MIN_SHARE = 0.6
MAX_SHOWN = 300
_NUMBER = rf"\d|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b"
_TIME = rf"\b(?:{'|'.join((*MONTHS, *WEEKDAYS))}|noon|midnight|spring|summer|autumn|winter|daily)\b"
_ASKED_FOR = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(wanted, re.IGNORECASE))
    for asked, wanted in (
        (r"\bhow (?:many|much|old|long|far|often|tall)\b", _NUMBER),
        (r"\bwhen\b|\b(?:what|which) (?:year|date|day|time)\b", f"{_NUMBER}|{_TIME}"),
    )
)
_NO_QUESTION = "an answer without its question: its meaning is not clear"
# A longer text is more than a bare answer.
MAX_WORDS = 6
_POLAR = re.compile(r"(yes|no|correct|right|true|false|yep|nope|yeah)[.!]*", re.IGNORECASE)
_DENIALS = frozenset({"no", "false", "nope"})
# Numbers, times and places, which cannot be judged without the question.
_NEEDS_QUESTION = re.compile(
    r"maybe[.!]*|(?:(?:in|on|at|by|from|since|until|about|around|after|before|for)\s+)?"
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
_ENDS_SUBJECT = (
    AUXILIARIES
    | (PREPOSITIONS - {"of"})
    | ARTICLES
    | frozenset("open closed free allowed available not called".split())
)
_WHO_DID = re.compile(r"(?:who|what|which\s+\w+)\s+(?P<rest>[^?]+)\?", re.IGNORECASE)


def abstains(sentence: str, *, asks_why: bool = False) -> bool:
    """Return True if a sentence only declines to answer: "The context does not mention it.".

    A sentence that presupposes a fact ("does not say why it sank") is a statement.

    Args:
        sentence: The sentence.
        asks_why: True if the question asks why.
    """
    if len(sentence) > _MAX_ABSTENTION or (not asks_why and _PRESUPPOSED.search(sentence)):
        return False
    plain = sentence.replace("’", "'").strip()
    return (
        _ABSTENTION.fullmatch(plain) is not None and _FURTHER.search(_SORRY.sub("", plain)) is None
    )


def with_question(question: str, answer: TrackedText) -> TrackedText:
    """Turn a bare answer into a statement; prepend the question if no rule fits."""
    asked = " ".join(question.split())
    bare = answer.stripped(" .!")
    polar = _POLAR.fullmatch(bare.text)
    match = _QUESTION.fullmatch(asked)
    who = _WHO_DID.fullmatch(asked)
    if match is not None:
        subject, predicate = _subject(match["rest"], match["verb"].lower())
        said = f"{subject[:1].upper()}{subject[1:]} {match['verb'].lower()}"
        if subject and polar is not None and match["asked"] is None:
            denied = " not" if polar[1].lower() in _DENIALS else ""
            said = f"{said}{denied} {predicate}".rstrip() + "."
            return TrackedText(said, (answer.origins[0],) * len(said))
        if subject and polar is None and match["asked"] is not None:
            kind = match["kind"].strip().lower()
            counted = f" {kind.split(maxsplit=1)[1]}" if kind.startswith(("many ", "much ")) else ""
            said = f"{said} {predicate}".rstrip() + " "
            parts = [TrackedText.added(said), _lowered(bare), TrackedText.added(f"{counted}.")]
            return TrackedText.joined(parts)
    elif who is not None and polar is None:
        return TrackedText.joined([bare, TrackedText.added(f" {who['rest']}.")])
    return TrackedText.joined([TrackedText.added(f"{asked} "), answer])


def _lowered(answer: TrackedText) -> TrackedText:
    if answer.text.split(maxsplit=1)[0].lower() not in _LOWERED:
        return answer
    return TrackedText(answer.text[:1].lower() + answer.text[1:], answer.origins)


def _subject(rest: str, verb: str) -> tuple[str, str]:
    """Split the words after the verb of a question; the subject is empty if it is unclear."""
    found = words(rest)
    for position in range(1, len(found)):
        norm = found[position].norm
        ends = may_be_verb(norm) or norm in _ENDS_SUBJECT
        if ends and found[position - 1].norm not in ARTICLES | {"of"}:
            if verb in _BE or may_be_verb(norm) or norm in ("open", "not"):
                return rest[: found[position].start].strip(), rest[found[position].start :].strip()
            return "", ""
    return (rest.strip(), "") if verb in _BE else ("", "")


def answering(units: tuple[Unit, ...], question: str | None) -> tuple[Unit, ...]:
    """Add the question to the first statement if that answers it and needs it."""
    asserting = [number for number, unit in enumerate(units) if unit.asserts]
    if not asserting:
        return units
    first = units[asserting[0]]
    text = first.text.strip()
    bare = len(text.split()) <= MAX_WORDS and not is_sentence(text) and not is_foreign(text)
    if first.lead_in is not None or first.problem is not None or not bare:
        return units
    alone, polar = len(asserting) == 1, _POLAR.fullmatch(text) is not None
    if question is not None and (alone or polar):
        read = replace(first, tracked=with_question(question, first.tracked), lead_in=question)
    elif polar and not alone:
        read = replace(first, asserts=False)  # the next sentence repeats it
    elif alone and (polar or _NEEDS_QUESTION.fullmatch(text)):
        read = replace(first, problem=_NO_QUESTION)
    else:
        return units
    return (*units[: asserting[0]], read, *units[asserting[0] + 1 :])


def likely_answer(question: str, documents: Sequence[Document]) -> str | None:
    """Return the sentence that shares most words with a question; None if none shares enough.

    A "how many" question needs a sentence with a number, a "when" question one with a number or a
    time.
    """
    wanted = next((wanted for asked, wanted in _ASKED_FOR if asked.search(question)), None)
    places = [
        (number, sentence)
        for number, document in enumerate(documents)
        for sentence in document.sentences
        if wanted is None or wanted.search(sentence.cut(document.text))
    ]
    shares = WordIndex(documents).shares(question, places)
    best = max(range(len(places)), key=lambda at: shares[at], default=None)
    if best is None or shares[best] < MIN_SHARE:
        return None
    number, sentence = places[best]
    return " ".join(sentence.cut(documents[number].text).split())[:MAX_SHOWN]
