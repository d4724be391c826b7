"""Rules for the turns of an agent: values in tool calls, its own actions, the user's corrections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from halldetect.facts.recogniser import Fact, FactKind, find_facts
from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, words

Place = tuple[int, Span]  # a document, and a span in it

# Values in tool calls.
_KEY_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_AMOUNT_KEYS = frozenset("amount price total sum fee cost balance quantity qty refund value".split())
_ID_KEYS = frozenset("id ids number no code reference ref sku account iban order ticket".split())
_NAME_KEYS = frozenset(
    "name customer recipient contact person author assignee owner passenger guest patient company "
    "employee attendees attendee user participants".split()
)
_PATH_KEYS = frozenset("path file filename directory dir folder".split())
# Keys of free choices: a search, a setting, code.
_FREE_KEYS = frozenset(
    "query q search pattern regex command cmd code script sql format encoding model version unit "
    "currency type language locale limit offset page timeout line lines title subject".split()
)
_CREATES = re.compile(r"write|create|save|export|new|mkdir|touch|generate|upload", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE = re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[T ][\d:.+Z-]*)?")
_FILE = re.compile(r"[~.]{0,2}/?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,5}|[~.]{0,2}(?:/[\w.@+-]+)+/?")
_CODE = re.compile(r"(?=(?:.*\d){2})(?=.*[A-Za-z])[\w#/.-]{5,60}|(?=(?:.*\d){6})[A-Z0-9 ]{8,40}")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w’'.&-]*(?: (?:[^\W\d_a-z][\w’'.&-]*|de|van|von|of|&))*")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
_RELATIVE = re.compile(
    rf"\b(?:to(?:day|morrow|night)|yesterday|(?:next|last|this|coming) \w+|{'|'.join(WEEKDAYS)}|"
    r"in \w+ (?:days?|weeks?|months?)|weekend)\b",
    re.IGNORECASE,
)
# More numbers than these make any sum likely.
_MAX_TERMS = 40
# Identifiers in the text of a turn: addresses, codes, long numbers.
_IDENTIFIER = re.compile(
    rf"{_ADDRESS.pattern}|\b10\.\d{{4,}}/\S+|\b(?=[\w-]*\d[\w-]*\d)(?=[\w-]*[A-Z])[A-Z\d][A-Z\d-]{{4,}}\b"
    r"|(?<![\w.,])\d{5,}(?![\w.,]\d|\w)"
)


def value_kind(tool: str, key: str, value: Any) -> str | None:
    """Return the kind of a value that must come from somewhere; None for a free choice.

    Args:
        tool: The name of the tool.
        key: The name of the argument.
        value: The value: a text or a number.
    """
    parts = {part.lower() for part in _KEY_PARTS.findall(key)}
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or parts & _FREE_KEYS:
        return None
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        if parts & _AMOUNT_KEYS and float(text.replace(",", "")) not in (0.0, 1.0):
            return "amount"
        long = len(re.sub(r"\D", "", text)) >= 3
        return "id" if long and (parts & _ID_KEYS or isinstance(value, str)) else None
    if _ADDRESS.fullmatch(text):
        return "address"
    if _DATE.fullmatch(text):
        return "date"
    if _FILE.fullmatch(text) and (parts & _PATH_KEYS or "/" in text):
        return None if _CREATES.search(tool) or "*" in text else "path"
    if _CODE.fullmatch(text):
        return "id"
    return "name" if parts & _NAME_KEYS and _CAPITALISED.fullmatch(text) else None


def find_value(kind: str, value: Any, documents: Sequence[str]) -> Place | None:
    """Return the place where a value occurs, in any usual notation; None if it is invented.

    A date may follow from a relative one and an amount from two others: both count as found, at
    the place of a term.
    """
    text = str(value).strip()
    if kind == "path":
        return _find(_spelled(text), documents) or _find(_spelled(text.split("/")[-1]), documents)
    if kind == "name":
        places = [_find(_spelled(word), documents) for word in re.findall(r"[^\W\d_]{2,}", text)]
        return places[0] if places and None not in places else None
    if kind == "date":
        found = _find(_date_pattern(text), documents) or _find(_RELATIVE, documents)
        return found
    if kind == "amount":
        return _find_amount(float(text.replace(",", "")), documents)
    return _find(_spelled(text), documents)


def _find(pattern: re.Pattern[str], documents: Sequence[str]) -> Place | None:
    for number, document in enumerate(documents):
        if (match := pattern.search(document)) is not None:
            return number, Span(*match.span())
    return None


def _spelled(text: str) -> re.Pattern[str]:
    """Return the pattern of a value with any separators: "AT48 3200" is "AT48-3200"."""
    letters = r"[\s\-_./]*".join(re.escape(char) for char in text if char.isalnum())
    return re.compile(rf"(?<![^\W_]){letters}(?![^\W_])", re.IGNORECASE)


def _date_pattern(text: str) -> re.Pattern[str]:
    found = _DATE.fullmatch(text)
    assert found is not None
    month, day = MONTHS[int(found["m"]) - 1] if 0 < int(found["m"]) < 13 else "-", int(found["d"])
    name = rf"{month[:3]}(?:{month[3:]})?\.?"
    return re.compile(
        rf"{found['y']}-{found['m']}-{found['d']}|\b{day}(?:st|nd|rd|th)?(?: of)? {name}"
        rf"|\b{name} {day}(?!\d)|\b0?{day}[./]0?{int(found['m'])}\b|\b0?{int(found['m'])}/0?{day}\b",
        re.IGNORECASE,
    )


def _find_amount(value: float, documents: Sequence[str]) -> Place | None:
    terms: dict[float, Place] = {}
    for number, document in enumerate(documents):
        for match in _NUMBER.finditer(document):
            terms.setdefault(float(match[0].replace(",", "")), (number, Span(*match.span())))
        for fact in find_facts(document) if len(document) < 2000 else ():
            if fact.key.isdecimal():
                terms.setdefault(float(fact.key), (number, Span(fact.start, fact.end)))
    if value in terms or len(terms) > _MAX_TERMS:
        return terms.get(value)
    for one, two in combinations(terms, 2):
        if any(abs(made - value) < 0.005 for made in (one + two, abs(one - two), one * two)):
            return terms[two]
    return None


def unknown_identifiers(text: str, documents: Sequence[str]) -> list[str]:
    """Return the addresses, codes and long numbers of a text that occur in no document."""
    found = (match[0].rstrip(".,;:)") for match in _IDENTIFIER.finditer(text))
    return [item for item in found if _find(_spelled(item), documents) is None]


# The agent's own actions: verbs, and the stems that show them in a call or its result.
_ACTIONS = {
    "sent emailed mailed texted messaged notified forwarded shared": (
        "send sent mail messag notif forward text sms share post invit"
    ),
    "booked reserved scheduled rescheduled arranged": (
        "book reserv schedul appoint event slot calendar"
    ),
    "cancelled canceled unsubscribed": "cancel unsubscri",
    "refunded reimbursed credited paid charged transferred issued": (
        "refund reimburs credit pay charg transfer issu"
    ),
    "created opened filed submitted registered raised": (
        "creat open file submit regist rais ticket add new post"
    ),
    "deleted removed erased": "delet remov eras rm drop edit",
    "updated changed modified edited fixed corrected replaced renamed moved added adjusted patched "
    "implemented set": (
        "updat chang modif edit fix correct replac renam mov mv add adjust patch writ sed set apply "
        "remind creat"
    ),
    "ran executed tested": "run ran exec test bash shell command",
    "deployed": "deploy",
    "pushed committed merged": "push commit merg",
    "published released uploaded installed": "publish releas upload instal put",
    "restarted started stopped rebooted enabled disabled unlocked locked activated": (
        "start stop boot enabl disabl unlock lock activ"
    ),
    "saved exported written stored copied downloaded encrypted": (
        "sav export writ stor copy copied cp dump backup download encrypt"
    ),
    "ordered placed purchased bought": "order plac purchas buy",
    "accepted confirmed approved": "accept confirm approv",
}
_STEMS = {verb: stems.split() for verbs, stems in _ACTIONS.items() for verb in verbs.split()}
_VERB = "|".join(_STEMS)
_ADVERBS = r"(?: (?:just|now|already|also|successfully|then|not|never))*"
_OWN = re.compile(rf"\b(?:I|[Ww]e)(?:['’]ve| have)?{_ADVERBS} (?P<verb>{_VERB})\b")
_PASSIVE = re.compile(
    rf"\b(?:(?:has|have)(?:{_ADVERBS} been)?|is|are|was|were){_ADVERBS} (?P<verb>{_VERB})\b"
)
_SECOND = re.compile(rf"\b(?:and|then)(?: was| were| have)? (?P<verb>{_VERB})\b")
_DONE = re.compile(r"(?:all )?(?:done|set|fixed|finished|completed?|sorted)\b[.!,:; –—-]*", re.I)
_CHECKS = re.compile(
    r"\b(?:tests?|checks?|specs?|suite|build|linter)\b.{0,40}\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?"
    r"|green|clean)\b",
    re.IGNORECASE,
)
_CHECK_STEMS = ["test", "check", "lint", "build", "spec", "passed"]
_NEGATED = re.compile(r"\b(?:not|never|no|yet|failed|could|cannot)\b|n['’]t\b", re.IGNORECASE)
_FAILED = re.compile(
    r'"(?:errors?|exception)"\s*:\s*(?!null|""|\[\]|false|0\b|\{\})|"(?:success|ok)"\s*:\s*false'
    r'|"(?:status|state|result)"\s*:\s*"(?:fail|error|reject|den|declin|not.found|invalid|abort)'
    r"|^\s*(?:error|traceback|fatal|exception)\b|\bexit (?:code|status):? [1-9]"
    r"|\b[1-9]\d* (?:failed|errors?)\b|^FAILED\b|\bcommand not found\b",
    re.IGNORECASE | re.MULTILINE,
)
_PENDING = re.compile(r"\b(?:pending|queued|waiting|in progress|partial|scheduled)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call with its result.

    Attributes:
        tool: The name of the tool.
        text: The name, the arguments and the result, to search in.
        document: The index of the document with the result.
        failed: True if the tool reported an error.
        recent: True if it came after the last message of the user.
    """

    tool: str
    text: str
    document: int
    failed: bool
    recent: bool = False


def has_failed(result: str) -> bool:
    """Return True if the result of a tool reports an error."""
    return _FAILED.search(result) is not None


@dataclass(frozen=True, slots=True)
class ActionFinding:
    """What the tool results say about an action: shown (True), denied (False) or nothing (None)."""

    shown: bool | None
    reason: str
    document: int | None = None


def find_action(claim: str, calls: Sequence[AnsweredCall], said: str) -> ActionFinding | None:
    """Compare a statement about the agent's own actions with the results of its tools.

    Args:
        claim: The statement.
        calls: The calls before it, in order.
        said: The words of the user; a passive that the user used is not the agent's action.

    Returns:
        The finding; None if the statement is about something else.
    """
    if _NEGATED.search(claim):
        return None
    if _CHECKS.search(claim):
        return _finding([_matching(calls, _CHECK_STEMS)], claim)
    if _DONE.match(claim) and _DONE.sub("", claim, count=1) == "":
        return _finding([[call for call in calls if call.recent]], claim)
    own = list(_OWN.finditer(claim))
    passive = [
        match for match in _PASSIVE.finditer(claim) if not re.search(rf"\b{match['verb']}\b", said)
    ]
    if not own and not passive:
        return None
    verbs = [match["verb"] for match in (*own, *passive, *_SECOND.finditer(claim))]
    return _finding([_matching(calls, _STEMS[verb]) for verb in verbs], claim)


def _matching(calls: Sequence[AnsweredCall], stems: Sequence[str]) -> list[AnsweredCall]:
    pattern = re.compile(rf"(?:\b|_|(?<=[a-z])(?=[A-Z]))(?:{'|'.join(stems)})", re.IGNORECASE)
    return [call for call in calls if pattern.search(call.text)]


def _finding(found: Sequence[Sequence[AnsweredCall]], claim: str) -> ActionFinding:
    """Return the finding for the calls that match each verb; the last call of a verb counts."""
    if not all(found):
        return ActionFinding(None, "no tool result shows this action")
    last = [calls[-1] for calls in found]
    for call in last:
        if call.failed:
            return ActionFinding(False, f"tool {call.tool} reported an error", call.document)
    text = "\n".join(call.text for call in last)
    if _PENDING.search(text) or not _has_facts(claim, text):
        return ActionFinding(None, "the tool result does not show all of this", last[0].document)
    return ActionFinding(True, f"the result of tool {last[0].tool} shows it", last[0].document)


def _has_facts(claim: str, text: str) -> bool:
    numbers = {float(match[0].replace(",", "")) for match in _NUMBER.finditer(text)}
    for fact in find_facts(claim):
        plain = fact.key.lstrip("$€£¥ ")
        if _NUMBER.fullmatch(plain) and float(plain) in numbers:
            continue
        if _spelled(fact.text).search(text) is None:
            return False
    return True


# Corrections by the user.
_CORRECTS = re.compile(
    r"\b(?:actually|sorry|correction|wait|no|oops|meant?|instead|rather|scratch|wrong|not|now|"
    r"misread|misspelled|make|changed?|says?|since|mistake|only)\b",
    re.IGNORECASE,
)
_EXPLICIT = (
    re.compile(r"(?P<new>\w+),? (?:and )?not (?:in |on |at |for )?(?P<old>\w+)", re.IGNORECASE),
    re.compile(r"(?P<new>\w+) instead of (?P<old>\w+)", re.IGNORECASE),
    re.compile(r"\bnot (?:in |on |at |for )?(?P<old>\w+),? but (?P<new>\w+)", re.IGNORECASE),
)


def find_corrections(earlier: Sequence[str], later: str) -> Iterator[tuple[str, str]]:
    """Yield what a message of the user replaces in earlier ones: the old and the new words."""
    if _CORRECTS.search(later) is None:
        return
    for pattern in _EXPLICIT:
        for match in pattern.finditer(later):
            if not match["old"][0].isdigit() and _find(_spelled(match["old"]), earlier):
                yield match["old"], match["new"]
    for span in sentences(later):
        for new in find_facts(span.cut(later)):
            old = _replaced_fact(new, span.cut(later), earlier)
            if old is not None:
                yield old, new.text.rstrip(".")


def _replaced_fact(new: Fact, sentence: str, earlier: Sequence[str]) -> str | None:
    """Return the fact of an earlier message that a new one replaces; None if it is unclear."""
    shared = {word.norm for word in words(sentence)} - FUNCTION_WORDS - {new.following}
    for text in reversed(earlier):
        near = [word.start for word in words(text) if word.norm in shared]
        candidates = [
            (min((abs(at - fact.start) for at in near), default=0), fact)
            for fact in find_facts(text)
            if (fact.form, fact.unit) == (new.form, new.unit)
            and not text[fact.end : fact.end + 1].isalpha()
            and (new.kind is not FactKind.NAME or {*fact.text.split()} & {*new.text.split()})
        ]
        if any(fact.key == new.key for _, fact in candidates):
            return None
        if len(candidates) == 1 or (candidates and near):
            return min(candidates, key=lambda item: item[0])[1].text.rstrip(".")
    return None


# From the user's side to the agent's: "I live in Graz" is "you live in Graz".
_SWAPS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "we": "you", "us": "you",
    "our": "your", "you": "I", "your": "my", "yours": "mine", "you're": "I'm", "you've": "I've",
}  # fmt: skip
_PRONOUN = re.compile(rf"\b(?:{'|'.join(sorted(_SWAPS, key=len, reverse=True))})\b", re.IGNORECASE)


def from_the_agents_side(text: str) -> str:
    """Return a sentence of the user with its pronouns as the agent would use them."""

    def swapped(match: re.Match[str]) -> str:
        new = _SWAPS[match[0].lower()]
        return new[:1].upper() + new[1:] if match.start() == 0 else new

    return _PRONOUN.sub(swapped, text.replace("’", "'"))


def replaced_words(text: str, old: str, new: str) -> str:
    """Return a text with whole words replaced."""
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new.replace("\\", r"\\"), text)


# Sentences of an agent that are not statements of fact.
_INTENTION = re.compile(
    r"(?:(?:now|first|next|then|okay|ok|sure|great|one moment|just a moment|hold on)[,.]? )?"
    r"(?:i['’]ll|i will|let me|let['’]s|i['’]m going to|i am going to|i can|i could|shall i|"
    r"i['’]d (?:be|like)|i would (?:be|like)|please|one moment)\b",
    re.IGNORECASE,
)
_ACKNOWLEDGEMENT = re.compile(
    r"(?:(?:you(?:['’]re| are)(?: absolutely| quite)? right|got it|understood|okay|ok|all right|"
    r"alright|thanks|thank you|sorry|apologies|my (?:mistake|apologies)|no problem|noted|"
    r"congratulations|good to know|i see|of course|sure|great|perfect|yes|no|right|done)"
    r"\s*(?:[,.:;!–—-]+\s*|$))+",
    re.IGNORECASE,
)
_REGRET = re.compile(
    r"(?:i(?:['’]m| am) (?:very |so )?sorry|sorry|apologies|i apologi[sz]e|thanks?(?: you)?)"
    r"(?: (?:about|for|to hear)\b[^,.;:]{0,40})?[.!]?",
    re.IGNORECASE,
)


def statement_in(text: str) -> tuple[str, str | None]:
    """Return the part of a sentence to judge, or why it is not a statement of fact."""
    if _DONE.fullmatch(text):
        return text, None
    rest = _ACKNOWLEDGEMENT.sub("", text, count=1) if _ACKNOWLEDGEMENT.match(text) else text
    if not rest or _REGRET.fullmatch(rest):
        return text, "a courtesy"
    if _INTENTION.match(rest):
        return text, "an intention"
    return (rest if rest == text else rest[:1].upper() + rest[1:]), None
