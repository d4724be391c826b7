"""Rules for the turns of an agent: values in tool calls, its own actions, corrections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from halldetect.facts.recogniser import Fact, FactKind, find_facts
from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, MONTHS, WEEKDAYS, words
from halldetect.report import Status

Place = tuple[int, Span]  # a document, and a span in it


# Values in tool calls

_KEY_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_AMOUNT_KEYS = frozenset("amount price total sum fee cost balance quantity qty refund".split())
_ID_KEYS = frozenset("id ids number no code reference ref sku account iban order ticket".split())
_NAME_KEYS = frozenset(
    "name customer recipient contact person author assignee owner passenger guest patient company "
    "employee attendee attendees user participants".split()
)
# The value is a free choice: a search, a setting, code.
_FREE_KEYS = frozenset(
    "query q search pattern regex command cmd code script sql format encoding model version unit "
    "currency type language locale limit offset page timeout line lines title subject".split()
)
_SEARCH_KEYS = frozenset("query q search prompt question pattern".split())
_CREATES = re.compile(r"write|create|save|export|new|mkdir|touch|generate|upload", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE = re.compile(r"(?P<y>\d{4})-(?P<m>0[1-9]|1[0-2])-(?P<d>\d\d)(?:[T ][\d:.+Z-]*)?")
_PATH = re.compile(r"[~.]{0,2}/?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,5}|[~.]*(?:/[\w.@+-]+)+/?")
_CODE = re.compile(r"(?=(?:.*\d){2})(?=.*[A-Za-z])[\w#/.-]{5,60}|(?=(?:.*\d){6})[A-Z0-9 ]{8,40}")
_CAPITALISED = re.compile(r"[^\W\d_a-z][\w’'.&-]*(?: (?:[^\W\d_a-z][\w’'.&-]*|de|van|von|of|&))*")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
_RELATIVE_DAY = re.compile(
    r"\b(?:to(?:day|morrow|night)|yesterday|(?:next|last|this|coming) \w+|weekend|in \w+ "
    rf"(?:days?|weeks?|months?)|{'|'.join(WEEKDAYS)})\b",
    re.IGNORECASE,
)
_COUNTS = {
    word: float(at)
    for at, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), 2
    )
}
_COUNT = re.compile(rf"\b(?:{'|'.join(_COUNTS)})\b", re.IGNORECASE)
# Among more numbers, any sum is likely.
_MAX_TERMS = 40
_MAX_VALUE = 120
_IDENTIFIER = re.compile(
    rf"{_ADDRESS.pattern}|\b10\.\d{{4,}}/\S+|(?<![\w.,])\d{{5,}}(?![\w.,]\d|\w)"
    r"|\b(?=[\w-]*\d[\w-]*\d)(?=[\w-]*[A-Z])[A-Z\d][A-Z\d-]{4,}\b"
)


def is_text(value: Any) -> bool:
    """Return True for an argument that says something, such as the body of a mail."""
    if not isinstance(value, str) or len(value.split()) < 4:
        return False
    return value.rstrip().endswith((".", "!")) or len(value) > _MAX_VALUE


def is_search(key: str) -> bool:
    """Return True if an argument of this name holds words to search for."""
    return key.lower() in _SEARCH_KEYS


def value_kind(tool: str, key: str, value: Any) -> str | None:
    """Return the kind of an argument that must come from somewhere; None for a free choice."""
    parts = {part.lower() for part in _KEY_PARTS.findall(key)}
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or parts & _FREE_KEYS:
        return None
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        if parts & _AMOUNT_KEYS:
            return None if _number(text) in (0.0, 1.0) else "amount"
        is_id = bool(parts & _ID_KEYS) or isinstance(value, str)
        return "id" if is_id and len(text) >= 3 else None
    if _DATE.fullmatch(text):
        return "date"
    if _ADDRESS.fullmatch(text):
        return "address"
    if _PATH.fullmatch(text):
        return None if _CREATES.search(tool) else "path"
    if _CODE.fullmatch(text):
        return "id"
    return "name" if parts & _NAME_KEYS and _CAPITALISED.fullmatch(text) else None


def find_value(kind: str, value: Any, documents: Sequence[str]) -> Place | None:
    """Return the place where a value occurs, in any usual notation; None if it is invented.

    A date may follow from "tomorrow", and an amount from two others.
    """
    text = str(value).strip()
    if kind == "date":
        return _find(_date_pattern(text), documents) or _find(_RELATIVE_DAY, documents)
    if kind == "amount":
        return _find_amount(_number(text), documents)
    if kind == "name":
        places = [_find(_spelled(word), documents) for word in re.findall(r"[^\W\d_]{2,}", text)]
        return None if None in places else places[0]
    found = _find(_spelled(text), documents)
    # A listing has the names of files without their folder.
    return _find(_spelled(text.split("/")[-1]), documents) if kind == "path" else found


def _find(pattern: re.Pattern[str], documents: Sequence[str]) -> Place | None:
    for number, document in enumerate(documents):
        if (match := pattern.search(document)) is not None:
            return number, Span(*match.span())
    return None


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _spelled(text: str) -> re.Pattern[str]:
    """Return the pattern of a value with any separators: "AT48 3200" is "AT48-3200"."""
    letters = r"[\s\-_./@:]*".join(re.escape(char) for char in text if char.isalnum())
    return re.compile(rf"(?<![^\W_]){letters}(?![^\W_])", re.IGNORECASE)


def _date_pattern(text: str) -> re.Pattern[str]:
    year, month, day = (int(part) for part in text[:10].split("-"))
    name = rf"{MONTHS[month - 1][:3]}(?:{MONTHS[month - 1][3:]})?\.?"
    return re.compile(
        rf"{year}-{month:02}-{day:02}|\b{day}(?:st|nd|rd|th)?(?: of)? {name}|\b{name} {day}(?!\d)"
        rf"|\b0?{day}[./]0?{month}\b|\b0?{month}/0?{day}\b",
        re.IGNORECASE,
    )


@lru_cache(maxsize=256)
def _numbers(document: str) -> dict[float, Span]:
    found = [(_number(match[0]), match.span()) for match in _NUMBER.finditer(document)]
    found += [(_COUNTS[match[0].lower()], match.span()) for match in _COUNT.finditer(document)]
    return {number: Span(*span) for number, span in reversed(found)}


def _find_amount(value: float, documents: Sequence[str]) -> Place | None:
    terms: dict[float, Place] = {}
    for at, document in enumerate(documents):
        for number, span in _numbers(document).items():
            terms.setdefault(number, (at, span))
    if value in terms or len(terms) > _MAX_TERMS:
        return terms.get(value)
    for one, two in combinations(terms, 2):
        if any(abs(made - value) < 0.005 for made in (one + two, abs(one - two), one * two)):
            return terms[two]
    return None


# Actions of the agent


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call and its result as one text, and the index of the document with the result.

    `recent` is True after the last message of the user.
    """

    tool: str
    text: str
    document: int
    failed: bool
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of a claim by rule; a certain one counts whatever the verifier says."""

    status: Status
    reason: str
    document: int | None = None
    certain: bool = False
    invented: str = ""


# Verbs: the stems that show them in a call or its result.
_ACTIONS = """\
sent emailed mailed texted messaged notified forwarded shared: send sent mail messag notif forward \
text sms share post invit
booked reserved scheduled rescheduled arranged: book reserv schedul appoint event slot
cancelled canceled unsubscribed: cancel unsubscri
refunded reimbursed credited paid charged transferred issued: refund reimburs credit pay charg \
transfer issu
created opened filed submitted registered raised: creat open file submit regist rais ticket add new
deleted removed erased: delet remov eras rm drop edit
updated changed modified edited fixed corrected replaced renamed moved added patched set: updat \
chang modif edit fix correct replac renam mov mv add patch writ sed set remind creat
ran run executed tested: run ran exec test bash shell command
deployed: deploy
pushed committed merged: push commit merg
published released uploaded installed: publish releas upload instal put
restarted started stopped rebooted enabled disabled unlocked locked activated: start stop boot \
enabl disabl lock activ
saved exported stored downloaded: sav export writ stor dump backup download
copied: copy copied cp rsync
encrypted: encrypt
wrote written: writ edit creat send letter mail post
ordered placed purchased bought: order plac purchas buy
accepted confirmed approved: accept confirm approv
"""
_STEMS = {
    verb: stems.split()
    for verbs, stems in (line.split(": ") for line in _ACTIONS.splitlines())
    for verb in verbs.split()
}
_VERB = rf"(?P<verb>{'|'.join(_STEMS)})\b"
_ADVERBS = r"(?: (?:just|now|already|also|successfully|then|not|never))*"
_OWN = re.compile(rf"\b(?:I|[Ww]e)(?:['’]ve| have)?{_ADVERBS} {_VERB}")
_PASSIVE = re.compile(rf"\b(?:(?:has|have)(?:{_ADVERBS} been)?|is|are|was|were){_ADVERBS} {_VERB}")
_FURTHER = re.compile(rf"\b(?:and|then)(?: was| were| have)? {_VERB}")
_DONE = re.compile(r"(?:all )?(?:done|set|fixed|finished|completed?|sorted)[.! ]*", re.IGNORECASE)
_PASSES = re.compile(
    r"\b(?:tests?|checks?|specs?|suite|build|linter)\b.{0,40}\b(?:pass(?:es|ed|ing)?"
    r"|succeed(?:s|ed)?|green|clean)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|never|no|failed|could|cannot)\b", re.IGNORECASE)
_FAILED = re.compile(
    r'"(?:errors?|exception)"\s*:\s*(?!null|""|\[\]|false|0\b|\{\})|"(?:success|ok)"\s*:\s*false'
    r'|"(?:status|state|result)"\s*:\s*"(?:fail|error|reject|den|declin|not.found|invalid|abort)'
    r"|^\s*(?:error|traceback|fatal|exception)\b|\bexit (?:code|status):? [1-9]"
    r"|\b[1-9]\d* (?:failed|errors?)\b|^FAILED\b|\bcommand not found\b",
    re.IGNORECASE | re.MULTILINE,
)
_PENDING = re.compile(r"\b(?:pending|queued|waiting|in progress|partial)", re.IGNORECASE)


def has_failed(result: str) -> bool:
    """Return True if the result of a tool reports an error."""
    return _FAILED.search(result) is not None


def find_invented(claim: str, known: Sequence[str]) -> Finding | None:
    """Return the finding for an address, code or long number that occurs in no text."""
    for match in _IDENTIFIER.finditer(claim):
        item = match[0].rstrip(".,;:)")
        if _find(_spelled(item), known) is None:
            reason = f"{item} occurs in nothing before"
            return Finding(Status.UNSUPPORTED, reason, certain=True, invented=item)
    return None


def find_action(claim: str, calls: Sequence[AnsweredCall], said: str) -> Finding | None:
    """Compare a statement about the agent's own actions with the results of its tools.

    Returns None if the statement is about something else. A passive that is in the words that the
    user `said` is not an action of the agent.
    """
    claim = re.sub(r"n['’]t\b", " not", claim)
    own = list(_OWN.finditer(claim))
    if _NEGATION.search(claim):
        if not own or _matching(calls, _STEMS[own[0]["verb"]]):
            return None
        return Finding(Status.SUPPORTED, "no tool result shows otherwise")
    if _PASSES.search(claim):
        return _finding(claim, [_matching(calls, ["test", "check", "lint", "build", "spec"])])
    if _DONE.fullmatch(claim):
        return _finding(claim, [[call for call in calls if call.recent]])
    own += [
        match for match in _PASSIVE.finditer(claim) if not re.search(rf"\b{match['verb']}\b", said)
    ]
    if not own:
        return None
    own += _FURTHER.finditer(claim)
    return _finding(claim, [_matching(calls, _STEMS[match["verb"]]) for match in own])


def _matching(calls: Sequence[AnsweredCall], stems: Sequence[str]) -> list[AnsweredCall]:
    pattern = re.compile(rf"(?:\b|_|(?<=[a-z])(?=[A-Z]))(?:{'|'.join(stems)})", re.IGNORECASE)
    return [call for call in calls if pattern.search(call.text)]


def _finding(claim: str, found: Sequence[Sequence[AnsweredCall]]) -> Finding:
    """Return the finding for the calls that match each verb; the last call of each counts."""
    if not all(found):
        return Finding(Status.UNSUPPORTED, "no tool result shows this action")
    last = [calls[-1] for calls in found]
    for call in last:
        if call.failed:
            reason = f"tool {call.tool} reported an error"
            return Finding(Status.CONTRADICTED, reason, call.document, certain=True)
    text, call = "\n".join(call.text for call in last), last[0]
    if _PENDING.search(text) or not _has_facts(claim, text):
        return Finding(Status.UNSUPPORTED, "the tool result does not show all of this")
    return Finding(Status.SUPPORTED, f"the result of tool {call.tool} shows it", call.document)


def _has_facts(claim: str, text: str) -> bool:
    numbers = {_number(match[0]) for match in _NUMBER.finditer(text)}
    for fact in find_facts(claim):
        plain = fact.key.lstrip("$€£¥ ")
        is_there = _NUMBER.fullmatch(plain) is not None and _number(plain) in numbers
        if not is_there and _spelled(fact.text).search(text) is None:
            return False
    return True


# Corrections by the user

_CORRECTS = re.compile(
    r"\b(?:actually|sorry|correction|wait|no|oops|meant?|instead|rather|scratch|wrong|not|now|"
    r"misread|misspelled|make|changed?|says?|mistake|only)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"(?P<new>\w+)(?:,? (?:and )?not(?: in| on| at| for)?| instead of) (?P<old>[^\W\d]\w*)"
)


def find_corrections(earlier: Sequence[str], later: str) -> Iterator[tuple[str, str]]:
    """Yield what a message of the user replaces in earlier ones: the old and the new words."""
    if _CORRECTS.search(later) is None:
        return
    for match in _REPLACES.finditer(later):
        if _find(_spelled(match["old"]), earlier):
            yield match["old"], match["new"]
    for span in sentences(later):
        for new in _plain_facts(span.cut(later)):
            old = _replaced_fact(new, span.cut(later), earlier)
            if old is not None:
                yield old, new.text.rstrip(".")


def _plain_facts(text: str) -> list[Fact]:
    """Return the facts of a text without numbers that begin a code, such as "7b"."""
    return [fact for fact in find_facts(text) if not text[fact.end : fact.end + 1].isalpha()]


def _replaced_fact(new: Fact, sentence: str, earlier: Sequence[str]) -> str | None:
    """Return the fact of an earlier message that a new one replaces; None if it is unclear."""
    shared = {word.norm for word in words(sentence)} - FUNCTION_WORDS - {new.unit}
    for text in reversed(earlier):
        near: dict[str, list[int]] = {}
        for word in words(text):
            if word.norm in shared:
                near.setdefault(word.norm, []).append(word.start)
        candidates = {
            # How far the fact is from the words that both messages have.
            sum(min(abs(at - fact.start) for at in places) for places in near.values()): fact
            for fact in _plain_facts(text)
            if (fact.form, fact.unit) == (new.form, new.unit)
            and (new.kind is not FactKind.NAME or {*fact.text.split()} & {*new.text.split()})
        }
        if any(fact.key == new.key for fact in candidates.values()):
            return None
        if candidates:
            return candidates[min(candidates)].text.rstrip(".")
    return None


def replaced_words(text: str, old: str, new: str) -> str:
    """Return a text with whole words replaced."""
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


# Sentences that are not statements of fact

_INTENTION = re.compile(
    r"(?:(?:now|first|next|then|okay|ok|sure|great|one moment|just a moment|hold on)[,.]? )?"
    r"(?:i['’]ll|i will|let me|let['’]s|i['’]m going to|i am going to|i can|i could|shall i|"
    r"i['’]d (?:be|like)|i would (?:be|like)|please|one moment)\b",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"i(?:['’]m| am) (?:very |so )?(?:sorry|glad|happy) to hear that |(?:(?:you(?:['’]re| are)"
    r"(?: absolutely| quite)? right|got it|understood|okay|ok|all right|alright|thanks|thank you|"
    r"sorry|apologies|my (?:mistake|apologies)|no problem|noted|congratulations|good to know|"
    r"i see|of course|sure|great|perfect|yes|no|right|done)\s*(?:[,.:;!–—-]+\s*|$))+",
    re.IGNORECASE,
)
_REGRET = re.compile(
    r"(?:i['’]m |i am |i )?(?:very |so )?(?:sorry|apolog\w+|thanks?)\b[^,.;:]{0,50}[.!]?",
    re.IGNORECASE,
)
# A longer question may tell something.
_MAX_QUESTION = 7


def statement_in(text: str) -> tuple[str, str | None]:
    """Return the part of a sentence to judge, or why it is not a statement of fact."""
    if _DONE.fullmatch(text):
        return text, None
    opener = _OPENER.match(text)
    rest = text if opener is None else text[opener.end() :]
    if not rest or _REGRET.fullmatch(rest):
        return text, "a courtesy"
    if rest.endswith("?") and len(rest.split()) < _MAX_QUESTION:
        return text, "a question"
    if _INTENTION.match(rest):
        return text, "an intention"
    return rest[:1].upper() + rest[1:], None
