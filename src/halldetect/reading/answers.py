"""Answers to questions: bare answers and abstentions."""

from __future__ import annotations

import re
from dataclasses import replace

from halldetect.reading.assertions import is_sentence
from halldetect.reading.citations import NAMED_SOURCE
from halldetect.reading.document import TrackedText, Unit
from halldetect.reading.words import count_words

_THE_SOURCE = rf"(?:any of )?(?:{NAMED_SOURCE}|(?:the )?(?:(?:search )?results?|knowledge base))"
_IN_SOURCE = rf"(?: (?:in|by|from) {_THE_SOURCE})"
_ABSTENTION = re.compile(
    r"(?:(?:i'm |i am )?(?:sorry|afraid|apologi[sz]e)[,.]?\s*(?:but\s+)?(?:that\s+)?"
    r"|unfortunately,?\s*|however,?\s*)?(?:"
    r"i (?:can ?not|can't|could not|couldn't|(?:am|'m|was) (?:unable|not able) to|do not|don't|"
    r"did not|didn't)\s+(?:know|answer|find|determine|say|tell|provide|help|assist|confirm|verify|"
    r"comply|do that|see|locate|have (?:enough|any|access|sufficient|that|this|the))\b.*"
    r"|i have no (?:information|idea|data|knowledge)\b.*"
    r"|as an ai\b.*\b(?:cannot|can't|unable)\b.*"
    rf"|{_THE_SOURCE}\s+(?:does not|doesn't|do not|don't|did not|didn't)\s+"
    r"(?:explicitly\s+|directly\s+|seem to\s+|appear to\s+|clearly\s+)?"
    r"(?:mention|say|state|specify|provide|include|contain|give|indicate|disclose|address|cover|"
    r"answer|discuss|explain|reveal|describe|list|tell|have|offer|name|record|report|"
    r"make (?:it )?clear)\b.*"
    r"|(?:(?:there (?:is|are|was)|i (?:see|found|find|have)) )?(?:no|not enough|insufficient) "
    r"(?:information|mention|data|answer|details?|evidence|indication|context)\b.*"
    r"|(?:.{1,80} (?:is|are|was|were) )?not (?:mentioned|specified|stated|disclosed|discussed|"
    rf"indicated|answerable){_IN_SOURCE}?"
    r"|(?:(?:this|that|it|the answer) (?:is|was) )?not (?:given|provided|known|available|clear|"
    rf"covered){_IN_SOURCE}?"
    r"|.{1,80} (?:is|are|was|were) not (?:given|provided|included|addressed|covered|available)"
    rf"{_IN_SOURCE}"
    r"|unknown|n/a|unanswerable|(?:the )?answer (?:is )?not found"
    r"|(?:it is |it's )?(?:not clear|unclear)\b.*"
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

_NO_QUESTION = "an answer without its question: its meaning is not clear"
ANSWER_TO = "The answer to the question"
# A longer text is more than a bare answer.
MAX_WORDS = 6
_POLAR = re.compile(r"(?:yes|no|correct|right|true|false|yep|nope|yeah)[.!]*", re.IGNORECASE)
# "Sure!" is a courtesy, unless it answers a question that asks for yes or no.
_ASSENT = re.compile(r"(?:absolutely|certainly|definitely|of course|sure)[.!]*", re.IGNORECASE)
_ASKS_YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must)\b"
    r"(?! you\b)",
    re.IGNORECASE,
)
# Numbers, times and places, which cannot be judged without the question.
_NEEDS_QUESTION = re.compile(
    r"maybe[.!]*|(?:(?:in|on|at|by|from|since|until|about|around|after|before|for)\s+)?"
    r"[€$£]?\d[\d.,:/%-]*(?:\s+\w+)?[.!]*"
    r"|(?:in|on|at|by|from|since|until|after|before|for|with)\s+\w+(?:\s+\w+)?[.!]*",
    re.IGNORECASE,
)


def abstains(sentence: str, *, asks_why: bool = False) -> bool:
    """Return True if a sentence only declines to answer: "The context does not mention it.".

    A sentence that presupposes a fact ("does not say why it sank") is a statement, unless the
    question asks why.
    """
    if len(sentence) > _MAX_ABSTENTION:
        return False
    plain = sentence.replace("’", "'").strip()
    return (
        _ABSTENTION.fullmatch(plain) is not None
        and _FURTHER.search(_SORRY.sub("", plain)) is None
        and (asks_why or _PRESUPPOSED.search(sentence) is None)
    )


def answering(
    units: tuple[Unit, ...], question: str | None, *, english: bool = True
) -> tuple[Unit, ...]:
    """Add the question to the first statement if that answers it and needs it."""
    asked = "" if question is None else " ".join(question.split())
    if english and units and _ASKS_YES_OR_NO.match(asked):
        first = units[0]
        if first.reason is not None and _ASSENT.fullmatch(first.text):
            return (_after(f'{ANSWER_TO} "{asked}" is yes: ', first, question), *units[1:])
    asserting = [number for number, unit in enumerate(units) if unit.asserts]
    if not asserting:
        return units
    first, alone = units[asserting[0]], len(asserting) == 1
    text = first.text.strip()
    short = count_words(text) <= MAX_WORDS
    if first.lead_in is not None or first.problem is not None:
        return units
    polar = english and _POLAR.fullmatch(text) is not None
    if english and (len(text.split()) > MAX_WORDS or is_sentence(text)):
        return units
    lettered = any(map(str.isalpha, text))
    unclear = (polar or _NEEDS_QUESTION.fullmatch(text)) if english else not lettered
    if question is not None and (polar or (alone and (english or short))):
        before = f'{ANSWER_TO} "{asked}" is ' if english else f"{asked} "
        read = _after(before, first, question)
    elif polar and not alone:
        read = replace(first, reason="a repeated answer")
    elif question is None and alone and unclear:
        read = replace(first, problem=_NO_QUESTION)
    else:
        return units
    return (*units[: asserting[0]], read, *units[asserting[0] + 1 :])


def _after(before: str, answer: Unit, question: str | None) -> Unit:
    tracked = TrackedText.joined([TrackedText.added(before), answer.tracked])
    return replace(answer, tracked=tracked, lead_in=question, reason=None)
