"""Tests of a piece of text: an assertion, a sentence, code.

Questions, exact forms of courtesy, code, bare links and tags assert nothing. In doubt, a text is an
assertion: an unneeded check is a smaller mistake than an unchecked false statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import category

from halldetect.reading.normalise import has_letters
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    NEGATIONS,
    NUMBER_WORDS,
    Word,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

_LINK = re.compile(r"<?(?:https?://|ftp://|www\.)\S+|(?<!\S)[^\s@]++@[^\s@.]++(?:\.[^\s@.]++)++")
_TAG = re.compile(r"</?[\w:.-]+/?>|<\|[\w:.-]*\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|<!--|-->")
_CODE_LINE = re.compile(
    r"[{}\\]|;\s*$|[=(\[<]\S*[)\]>]?$|\w\(.*\)|[=!<>]=|\s=\s|->|=>|::|^[$>@#]|^\w+\.\w+|"
    r"^(?:import|from|def|class|return|const|let|var|if|else|for|while|print|echo|SELECT|sudo)\b"
)
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")

_COURTESY = re.compile(
    r"(?:hello|hi|hey|dear|greetings|good (?:morning|afternoon|evening|day|luck)|welcome|bye)"
    r"(?: (?:there|everyone|all|again|team|(?:(?:mr|mrs|ms|dr|prof) )?[a-z'-]+))?"
    r"|(?:thanks|thank you)(?: (?:so|very) much| a lot)?(?: for (?:asking|reading|your [a-z]+))?"
    r"|you(?:'| a)re (?:very |most )?welcome|no problem|(?:my|with) pleasure|(?:happy|glad) to"
    r"|(?:good|great|nice) (?:idea|choice|thinking)|sounds good|all right|alright|understood|noted"
    r"|(?:it|that|this)(?: all)? depends on (?:what (?:matters|you)|your (?:needs|preferences|"
    r"priorities|taste|goals))[a-z' ]*"
    r"|(?=.* you\b)(?!.* that\b)(?:if you(?:'d)? (?:like|want|wish|prefer) )?i(?:'d be| would be|'m"
    r"|'ll| can| could| will)(?: also| gladly| then| happy to| glad to)* (?:look (?:up|into)|find|"
    r"compare|check|prepare|draft|write|list|calculate|work out|put together|summari[sz]e|explain|"
    r"translate|go (?:through|over)|help) [a-z' ]+"
    r"|(?:sure|certainly|of course|absolutely|okay|ok|great|gladly)(?: thing)?|cheers"
    r"|(?:that's |that is |what )?(?:an? )?(?:great|good|excellent|interesting) question"
    r"|i(?:'d|'m| would| am)(?: be)? (?:happy|glad) to (?:help|assist)(?: you)?(?: with [a-z]+)?"
    r"|(?:i |we )?hope (?:this|that|it|these) (?:helps?|answers?|clarif|e ?mail|is|are|was)[a-z' ]*"
    r"|(?:please )?(?:let me know|feel free to (?:ask|contact|reach out)|(?:don't|do not) hesitate)"
    r"(?: (?:if|to|for) [a-z' ]+)?|(?:i'm |we |i )?(?:sorry|apologi[sz]e) for \w+ inconvenience"
    r"|if you (?:have|need|would like) (?:any|more|further|help)(?: [a-z' ]+)?"
    r"|if you(?:'d| would)? (?:like|want|wish|prefer)|for (?:more|further) (?:information|details)"
    r"|here you (?:go|are)|(?:i'm |i am )?(?:so )?(?:sorry|glad) to hear (?:that|it)"
    r"|(?:safe|happy|pleasant) (?:travels?|journey|trip|cooking|reading)"
    r"|(?:for (?:more|further) (?:information|details) )?(?:please )?"
    r"(?:see|read|visit|check|click|refer to|go to|consult)(?: (?:also|the|this|that|our|your|full|"
    r"links?|pages?|website|site|sources?|documents?|articles?|here|above|below|report|section))+"
    r"|(?:best|kind|warm)? ?regards|sincerely(?: yours)?|yours (?:truly|sincerely|faithfully)|enjoy"
    r"|(?:have|enjoy) (?:a|your) (?:nice |great |good |lovely )?(?:day|meal|stay|visit|trip)"
    r"|(?:i |we )?wish (?:you|everyone)(?: both| all)? (?:an?|all|much|the|good|lots) [a-z' ]+"
    r"|(?:hearty |warm )?congratulations(?: to (?:you|all|everyone|the) ?[a-z' ]*)?"
)
# A courtesy with one of these words may tell a fact.
_TELLS = frozenset("because since although though despite why how who which but while when".split())
_MAX_COURTESY = 25
_NUMBERED = re.compile(r"(?:step|part|phase|option|day|question) \d{1,3}[.:]?", re.IGNORECASE)
# A longer heading is judged, and one with a word that states something: "No refunds".
MAX_TOPIC = 3
_STATES = NEGATIONS | frozenset(
    "free banned closed forbidden prohibited mandatory compulsory allowed illegal unlimited "
    "cancelled dead unsafe guaranteed".split()
)
_PART = re.compile(r"[,;:(–—](?:\s+and\b)?")
_WRITER_OR_READER = frozenset("i i'd i'll we you also please and if".split())
_ANSWER = frozenset("it this that these what".split())
# "Here is a summary of the article in 118 words:", "Below are the steps to fold a quilt:"
_ANNOUNCED = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|great)[,!.]? )?"
    r"(?:(?:below|here)(?:'s| is| are)|the following (?:is|are))(?P<rest> [^:]+|):",
    re.IGNORECASE,
)
_LENGTH_OR_READER = re.compile(
    r"\d+ words|\b(?:provided|structured|given|found|asked|requested|based|need)\b", re.IGNORECASE
)
_QUESTION_END = re.compile(r"[?？؟][!?？؟\s\"'”’»)\]*_]*$")
_WH = frozenset({"who", "what", "which", "whom", "whose", "why", "when", "where", "how"})
_LEADING_QUESTION = re.compile(
    r"(?:do|did|have|can|could|would|will|are|were) you (?:know|hear|heard|realis|realiz|remember|"
    r"see|seen|notice|believe|imagine|forget|forgotten|aware|surpris|familiar)|[,;:(—–]\s*(?:which|who|that|right|correct|no|"
    r"yes|is|was|are|were|do|does|did|has|have)\b|\b(?:given|considering|since|because|although|"
    r"though|after all|despite|fact that|true that|have (?:thought|guessed|known|believed|expected|"
    r"imagined) that|who knew that)\b|[;:(—–]"
)
# Other reasons, such as a courtesy, assert nothing.
_MAY_TELL = frozenset(
    ["a question", "code", "an abstention", "symbols", "a link", "a reference", "mark-up",
     "struck out", "a table header", "a lead-in"]
)  # fmt: skip
OF_SOURCE = re.compile(r"https?://|\bwww\.|\b(?:19|20)\d\d\b|\bpp?\.|\bpages?\b|\bdoi\b|\bet al\b")
_TAG_PART = re.compile(r"</?[\w-]+|^[\w-]+(?=[\s>])|[\w-]+(?:=|$)")
# A longer line that declares something false may tell more: "Common myths:"
_MAX_DENIAL = 6
# Fewer words make no statement; fewer symbols are decoration.
_MIN_STATEMENT = _MIN_SYMBOLS = 3
_TO_READER = frozenset("you your i me my we us".split())
# A shorter question presupposes little: "What does it cost?"
_MIN_PRESUPPOSING = 7
# Longer than any greeting or heading; the patterns are slow on long words.
_LONG = 1000
_PUNCTUATION = re.compile(r"[^\w\s']")


def no_assertion(content: str, *, english: bool = True) -> str | None:
    """Return why a sentence asserts nothing: "a courtesy", "a question"; None if it may assert.

    In other languages than English, a question is known by its mark.
    """
    if len(content) > _LONG:
        return None if has_letters(content) else "symbols"
    content, link = _without_mark_up(content)
    if not has_letters(content):
        return "a link" if link else "symbols"
    if not english:
        return "a question" if _QUESTION_END.search(content) else None
    said = _spoken(content)
    if len(said) <= _MAX_COURTESY and _TELLS.isdisjoint(said) and _is_courtesy(content):
        return "a courtesy"
    if _is_question(content):
        return "a question"
    return "an announcement of the answer" if _announces(content) else None


def _is_courtesy(content: str) -> bool:
    """Return True for exact forms of courtesy without a main clause about something else."""
    parts = [_spoken(part) for part in _PART.split(content)]
    exact = [not part or _COURTESY.fullmatch(" ".join(part)) is not None for part in parts]
    if all(exact) and any(parts):
        return not any(_tells(part, _WRITER_OR_READER | _ANSWER) for part in parts)
    whole = _COURTESY.fullmatch(" ".join(_spoken(content))) is not None
    return whole and not any(_tells(part, _WRITER_OR_READER) for part in parts)


def _tells(said: Sequence[str], subjects: frozenset[str]) -> bool:
    """Return True for a verb after a word outside these subjects."""
    pairs = pairwise(said)
    return any(is_finite_verb(word) and before not in subjects for before, word in pairs)


def _spoken(content: str) -> list[str]:
    return _PUNCTUATION.sub(" ", content.replace("’", "'")).casefold().split()


def _without_mark_up(content: str) -> tuple[str, bool]:
    """Return a text without links and tags, and True if it has a link."""
    plain = content
    if "@" in content or "//" in content or "www." in content:
        plain = _LINK.sub(" ", content)
    return _TAG.sub(" ", plain).strip(), plain != content


def _announces(content: str) -> bool:
    """Return True for "Here is a summary in 118 words:", False if it has a verb or a number."""
    match = _ANNOUNCED.fullmatch(content.replace("’", "'")) if content.endswith(":") else None
    rest = [] if match is None else words(_LENGTH_OR_READER.sub("", match["rest"]))
    return match is not None and not any(
        word.numeric or (is_finite_verb(word.norm) and not word.capital) or word.norm in _TELLS
        for word in rest
    )


def could_assert(content: str, reason: str) -> bool:
    """Return True if a text that is not judged for this reason may still tell something."""
    if reason not in _MAY_TELL:
        return False
    content = content[:_LONG]
    if reason == "a link":
        content = re.sub(r"[\W_]+|%20", " ", content)
    elif reason == "mark-up":
        content = _TAG_PART.sub(" ", content)
    sequence = words(content)
    norms = [word.norm for word in sequence]
    spelled_number = not NUMBER_WORDS.isdisjoint(norms)
    number = spelled_number or any(word.numeric for word in sequence)
    if reason == "a question":
        presupposes = number or len(norms) >= _MIN_PRESUPPOSING
        return presupposes and _TO_READER.isdisjoint(norms)
    if reason in ("code", "an abstention"):
        return number or (reason == "code" and _STRING.search(content) is not None)
    if reason == "symbols":
        return len({char for char in content if category(char) == "So"}) >= _MIN_SYMBOLS
    if reason == "a lead-in":
        return len(norms) > _MAX_DENIAL
    if reason in ("a link", "a reference"):
        return spelled_number or is_sentence(content)
    if reason in ("mark-up", "struck out") and len(norms) < _MIN_STATEMENT:
        return False
    return reason != "a table header" or number or is_sentence(content)


def is_topic(content: str) -> bool:
    """Return True for a heading or label of a few words that state nothing: "Pay and leave"."""
    if _NUMBERED.fullmatch(content):
        return True
    norms = [word.norm for word in words(content)]
    return (
        len(norms) <= MAX_TOPIC
        and _STATES.isdisjoint(norms)
        and not any(norm in NUMBER_WORDS or any(map(str.isdigit, norm)) for norm in norms)
        and not is_sentence(content)
    )


def is_sentence(content: str) -> bool:
    """Return True if a text is independent: it has a subject and a verb."""
    sequence = words(content)
    return any(
        is_verb(sequence, position)
        or (len(sequence[position].norm) == 4 and sequence[position].norm.endswith("ed"))
        for position in range(1, len(sequence))
        if sequence[position - 1].norm not in ARTICLES
    )


def is_verb(sequence: Sequence[Word], position: int) -> bool:
    """Return True if the form of a word, and the word before it, may be those of a verb."""
    norm, before = sequence[position].norm, sequence[position - 1].norm
    agrees = norm.endswith("s") or before.endswith("s")
    finite = is_finite_verb(norm) and (norm != "am" or before == "i")  # not "11 am"
    return finite or may_be_past(norm) or (agrees and may_be_verb(norm))


def _is_question(content: str) -> bool:
    """Return True for a question in form and meaning, not for a statement with a question mark."""
    content = re.sub(r"\AQ(?:uestion)? ?\d{0,2}[.:]\s+", "", content)
    if _QUESTION_END.search(content) is None:
        return False
    if content.startswith("¿"):
        return True
    norms = [word.norm for word in words(content)]
    if not norms or len(norms) > 30 or NEGATIONS & set(norms):
        return False
    if _LEADING_QUESTION.search(content.casefold()) is not None:
        return False
    if norms[0] == "why" or norms[:2] == ["how", "come"]:  # the rest is presupposed
        return len(norms) <= 4
    if norms[0] in AUXILIARIES or norms[0] in {"who", "what", "which", "whose", "whom"}:
        return True
    return norms[0] in _WH and bool(AUXILIARIES & set(norms[1:7]))


def is_code(content: str) -> bool:
    """Return True for code, unless it has a string or a verb that reads like a sentence."""
    if any(len(match[0].split()) >= 3 for match in _STRING.finditer(content)):
        return False
    norms = [word.norm for word in words(content)]
    if len(norms) >= 4 and any(map(is_finite_verb, norms)) and not content.startswith("if "):
        return False
    if len(content.split()) < 3:
        return not content.endswith((".", "!", "。")) and not is_sentence(content)
    return _CODE_LINE.search(content) is not None
