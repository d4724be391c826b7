"""Answers that give no answer: "I don't know.", "The context does not mention it.", a refusal."""

from __future__ import annotations

import re

_SOURCE = (
    r"(?:(?:the|this|that|your|any(?: of the)?|these|those)\s+)?"
    r"(?:(?:above|given|provided|supplied|attached|retrieved|available|source|search)\s+){0,2}"
    r"(?:documents?|reports?|texts?|passages?|sources?|contexts?|articles?|polic(?:y|ies)|manual|"
    r"guide|handbook|leaflet|contract|agreement|minutes|transcript|conversation|table|data|"
    r"information|materials?|content|excerpts?|page|file|results?|documentation|knowledge base)"
)
_GIVE = (
    r"(?:mention|say|state|specify|provide|include|contain|give|indicate|disclose|address|cover|"
    r"answer|discuss|explain|reveal|describe|list|tell|have|offer|name|record|report|"
    r"make (?:it )?clear)"
)
_CANNOT = (
    r"(?:cannot|can't|can not|could not|couldn't|am unable to|'m unable to|am not able to|"
    r"'m not able to|was unable to|was not able to|do not|don't|did not|didn't)"
)
_ABSTENTION = re.compile(
    r"(?:(?:i'm |i am )?(?:sorry|afraid|apologi[sz]e)[,.]?\s*(?:but\s+)?(?:that\s+)?"
    r"|unfortunately,?\s*|however,?\s*)?(?:"
    rf"i {_CANNOT}\s+(?:know|answer|find|determine|say|tell|provide|help|assist|confirm|verify|"
    r"comply|do that|see|locate|have (?:enough|any|access|sufficient|that|this|the))\b.*"
    r"|i have no (?:information|idea|data|knowledge)\b.*"
    r"|as an ai\b.*\b(?:cannot|can't|unable)\b.*"
    rf"|{_SOURCE}\s+(?:does not|doesn't|do not|don't|did not|didn't)\s+"
    rf"(?:explicitly\s+|directly\s+|seem to\s+|appear to\s+|clearly\s+)?{_GIVE}\b.*"
    r"|(?:there (?:is|are|was)|i (?:see|found|find|have)) (?:no|not enough|insufficient) "
    r"(?:information|mention|data|answer|details?|evidence|indication|context)\b.*"
    r"|(?:no|not enough|insufficient) (?:information|details?|data|context)"
    r"(?: (?:is|are|was|were) (?:given|available|provided|included))?\b.*"
    r"|.{1,80} (?:is|are|was|were) not (?:mentioned|specified|stated|disclosed|discussed|indicated)"
    rf"(?: (?:in|by|from) {_SOURCE})?"
    r"|(?:this|that|it|the answer) (?:is|was) not (?:given|provided|known|available|clear|covered)"
    rf"(?: (?:in|by|from) {_SOURCE})?"
    r"|.{1,80} (?:is|are|was|were) not (?:given|provided|included|addressed|covered|available)"
    rf" (?:in|by|from) {_SOURCE}"
    rf"|not (?:mentioned|specified|stated|given|provided|available|known|answerable)"
    rf"(?: (?:in|by) {_SOURCE})?"
    r"|unknown|n/a|unanswerable|no answer|(?:the )?answer (?:is )?not found"
    r"|(?:it is |it's )?(?:not clear|unclear)(?: from| in| whether| how| who| what| when)?.*"
    r")[.!…\s]*",
    re.IGNORECASE | re.DOTALL,
)
_SORRY = re.compile(
    r"^(?:(?:i'm |i am )?(?:sorry|afraid)[,.]?\s*but|unfortunately|however),?\s*", re.IGNORECASE
)
# A further clause may state something, so that the sentence is no mere abstention.
_FURTHER = re.compile(
    r"[,;:(–—]\s*(?:but|which|who|because|since|as|and|although|though|yet|so|however|it|they|"
    r"he|she|the|this|despite|even)\b|[;:(–—]|\b(?:but|because|although|despite|since)\b",
    re.IGNORECASE,
)

_SHORTEST_CLAUSE = 3
_PRESUPPOSED = re.compile(r"\b(?:why|the fact that)\s+(?=\w)", re.IGNORECASE)


def presupposed(sentence: str) -> int | None:
    """Where the clause begins that a sentence takes for true: "does not say why it sank"."""
    match = _PRESUPPOSED.search(sentence)
    if match is None or len(sentence[match.end() :].split()) < _SHORTEST_CLAUSE:
        return None
    return match.end()


def abstains(sentence: str) -> bool:
    """Whether a sentence only says that no answer is given."""
    if len(sentence) > 300:
        return False
    plain = sentence.replace("’", "'").strip()
    if _ABSTENTION.fullmatch(plain) is None:
        return False
    return _FURTHER.search(_SORRY.sub("", plain)) is None
