"""Rules for the turns of an agent: values in tool calls, its own actions, corrections."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations, islice
from typing import Any

from halldetect.facts.quantities import read_quantities
from halldetect.facts.recogniser import Fact, FactKind, find_facts
from halldetect.faults.identifiers import Place, find_spelled
from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, WEEKDAYS, remembered, words
from halldetect.report import Status

# Values in tool calls

_KEY_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_AMOUNT_KEYS = frozenset("amount price total sum fee cost balance quantity qty refund".split())
_ID_KEYS = frozenset("id ids number no code reference ref sku account iban order ticket".split())
SEARCH_KEYS = frozenset("query q search prompt question pattern".split())
# The value is a free choice: a search, a setting, code.
_FREE_KEYS = SEARCH_KEYS | frozenset(
    "regex command cmd code script sql format encoding model version unit currency type language "
    "locale limit offset page timeout line lines title subject".split()
)
_CREATES = re.compile(r"write|create|save|export|new|mkdir|touch|generate|upload", re.IGNORECASE)
_ADDRESS = r"https?://\S+|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SHAPES = {
    "date": r"\d{4}-(?:0[1-9]|1[0-2])-\d\d(?:[T ][\d:.+Z-]*)?",
    "address": _ADDRESS,
    "path": r"[~.]{0,2}/?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,5}|[~.]*(?:/[\w.@+-]+)+/?",
    "id": r"(?=(?:.*\d){2})(?=.*[A-Za-z])[\w#/.-]{5,60}|(?=(?:.*\d){6})[A-Z0-9 ]{8,40}",
}
# A date may follow from one of these words.
_RELATIVE = re.compile(
    rf"\b(?:to(?:day|morrow|night)|yesterday|next|last|coming|weekend|{'|'.join(WEEKDAYS)})\b",
    re.IGNORECASE,
)
_DAYS = ("day", "day of year")
_MAX_TERMS = 40  # among more numbers, any sum is likely
_MAX_VALUE = 120


def is_text(value: Any) -> bool:
    """Return True for an argument that says something, such as the body of a mail."""
    if not isinstance(value, str) or len(value.split()) < 4:
        return False
    return value.rstrip().endswith((".", "!")) or len(value) > _MAX_VALUE


def value_kind(tool: str, key: str, value: Any) -> str | None:
    """Return the kind of an argument that must come from somewhere; None for a free choice."""
    parts = {part.lower() for part in _KEY_PARTS.findall(key)}
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or parts & _FREE_KEYS:
        return None
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        if parts & _AMOUNT_KEYS:
            return None if text in ("0", "1") else "amount"
        is_id = bool(parts & _ID_KEYS) or isinstance(value, str)
        return "id" if is_id and len(text) >= 3 else None
    kind = next((kind for kind, shape in _SHAPES.items() if re.fullmatch(shape, text)), None)
    return None if kind == "path" and _CREATES.search(tool) else kind


def find_value(kind: str, value: Any, texts: Sequence[str]) -> Place | None:
    """Return the place where a value occurs, in any usual notation; None if it is invented.

    A date may follow from "tomorrow", and an amount from two others.
    """
    text = str(value).strip()
    if kind == "amount":
        return _find_amount(float(text.replace(",", "")), texts)
    if kind == "date":
        return _find_date(text, texts)
    # A listing has the names of files without their folder.
    return find_spelled(text.split("/")[-1] if kind == "path" else text, texts)


def _find_date(value: str, texts: Sequence[str]) -> Place | None:
    wanted = {(item.kind, item.value) for item in read_quantities(value[:10])}
    month, day = int(value[5:7]), int(value[8:10])
    numeric = rf"\b0?(?:{month}[./]0?{day}|{day}[./]0?{month})\b"  # "5/4" or "04.05."
    for at, text in enumerate(texts):
        for found in read_quantities(text):
            if found.kind in _DAYS and (found.kind, found.value) in wanted:
                return at, Span(found.start, found.end)
    for pattern in (re.compile(numeric), _RELATIVE):
        for at, text in enumerate(texts):
            if match := pattern.search(text):
                return at, Span(*match.span())
    return None


def _find_amount(value: float, texts: Sequence[str]) -> Place | None:
    terms = {
        number: (at, span)
        for at, text in reversed([*enumerate(texts)])
        for number, span in _amounts(text).items()
    }
    if value in terms or len(terms) > _MAX_TERMS:
        return terms.get(value)
    for one, two in combinations(terms, 2):
        if any(abs(made - value) < 0.005 for made in (one + two, abs(one - two), one * two)):
            return terms[two]
    return None


@lru_cache(maxsize=4096)
def _amounts(text: str) -> dict[float, Span]:
    found = {_amount(fact): Span(fact.start, fact.end) for fact in find_facts(text)}
    return {number: span for number, span in found.items() if number == number}


def _amount(fact: Fact) -> float:
    plain = fact.key.strip("$€£¥% ")
    return float(plain) if _NUMBER.fullmatch(plain) else math.nan  # equal to no number


# Actions of the agent


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call and its result as one text, and the index of the document with the result."""

    tool: str
    text: str
    document: int
    failed: bool


Calls = Sequence[AnsweredCall]
Finding = tuple[Status, str, int | None]  # state, reason, the document that shows it

# Verbs, then other stems than theirs that show one of them in a call or its result.
_ACTIONS = """\
sent emailed mailed texted messaged notified forwarded shared: send post sms invit
booked reserved scheduled rescheduled arranged: appoint event slot
refunded reimbursed credited paid charged transferred issued: pay
created opened filed submitted registered raised: ticket add new
deleted removed erased: rm drop edit
updated changed modified edited fixed corrected replaced renamed moved added patched set: mv writ
ran run executed tested: bash shell command
pushed committed merged published released uploaded installed: put
restarted started stopped rebooted enabled disabled unlocked locked activated: stop boot
saved exported stored downloaded wrote written: writ edit creat dump backup
copied: copy cp rsync
ordered placed purchased bought: buy
accepted confirmed approved
cancelled canceled unsubscribed
deployed
encrypted
"""
_STEMS = {
    verb: [*more.split(), *(other.removesuffix("ed")[:5] for other in verbs.split())]
    for verbs, _, more in (line.partition(":") for line in _ACTIONS.splitlines())
    for verb in verbs.split()
}
_VERB = rf"(?P<verb>{'|'.join(_STEMS)})\b"
_ADVERBS = r"(?: (?:just|now|already|also|successfully|then|not|never))*"
_OWN = re.compile(rf"\b(?:I|[Ww]e)(?:['’]ve| have)?{_ADVERBS} {_VERB}")
_PASSIVE = re.compile(rf"\b(?:(?:has|have)(?:{_ADVERBS} been)?|is|are|was|were){_ADVERBS} {_VERB}")
_FURTHER = re.compile(rf"\b(?:and|then) {_VERB}")
_DONE = re.compile(r"(?:all )?(?:done|set|fixed|finished|completed?|sorted)[.! ]*", re.IGNORECASE)
_PASSES = re.compile(
    r"(?i)\b(?:tests?|checks?|suite|build|linter)\b.{0,40}\b(?:pass|succeed|green\b|clean\b)"
)
_NEGATION = re.compile(r"\b(?:not|never|no|failed|could|cannot)\b", re.IGNORECASE)
_FAILED = re.compile(
    r'"(?:errors?|exception)"\s*:(?!\s*(?:null|""|\[\]|false|0\b|\{\}))|"(?:success|ok)"\s*:\s*false'
    r'|"(?:status|state|result)"\s*:\s*"(?:fail|error|reject|den|declin|not.found|invalid|abort)'
    r"|^[^\S\n]*(?:error|traceback|fatal|exception)\b|\bexit (?:code|status):? [1-9]"
    r"|\b[1-9]\d* (?:failed|errors?)\b|^FAILED\b|\bcommand not found\b",
    re.IGNORECASE | re.MULTILINE,
)


@remembered(1024)
def reports_failure(result: str) -> bool:
    """Return True if the result of a tool says that the call failed."""
    return _FAILED.search(result) is not None


_RECENT = 50  # calls among which the one with the facts of a claim is looked for
_PENDING = re.compile(r"\b(?:pending|queued|waiting|in progress|partial)", re.IGNORECASE)


def find_action(claim: str, calls: Calls, said: str, since: int = 0) -> Finding | None:
    """Compare a statement about the agent's own actions with the results of its tools.

    Returns None if the statement is about something else. A passive that is in the words that the
    user `said` is not an action of the agent. "Done" is about results in documents from `since` on.
    """
    claim = re.sub(r"n['’]t\b", " not", claim)
    verbs = [match["verb"] for match in _OWN.finditer(claim)]
    if _NEGATION.search(claim):
        if not verbs or _last_call(calls, _STEMS[verbs[0]]):
            return None
        return Status.SUPPORTED, "no tool result shows otherwise", None
    if _PASSES.search(claim):
        found = [_last_call(calls, ["test", "check", "lint", "build", "spec"])]
    elif _DONE.fullmatch(claim):
        found = [calls[-1] if calls and calls[-1].document >= since else None]
    else:
        passive = (match["verb"] for match in _PASSIVE.finditer(claim))
        verbs += [verb for verb in passive if not re.search(rf"\b{verb}\b", said)]
        further = [match["verb"] for match in _FURTHER.finditer(claim)] if verbs else []
        every = dict.fromkeys(verbs + further)
        found = [_last_call(calls, _STEMS[verb], claim) for verb in every]
    if not found:
        return None
    last = [call for call in found if call is not None]
    if len(last) < len(found):
        return Status.UNSUPPORTED, "no tool result shows this action", None
    if failed := next((call for call in last if call.failed), None):
        return Status.CONTRADICTED, f"tool {failed.tool} reported an error", failed.document
    text = "\n".join(call.text for call in last)
    if _PENDING.search(text) or not _has_facts(claim, text):
        return Status.UNSUPPORTED, "the tool result does not show all of this", None
    return Status.SUPPORTED, f"the result of tool {last[0].tool} shows it", last[0].document


def _last_call(calls: Calls, stems: Sequence[str], claim: str = "") -> AnsweredCall | None:
    """Return the last call with one of the stems, if possible one with the facts of the claim."""
    pattern = re.compile(rf"(?:\b|_|(?<=[a-z])(?=[A-Z]))(?:{'|'.join(stems)})", re.IGNORECASE)
    found = [*islice((call for call in reversed(calls) if pattern.search(call.text)), _RECENT)]
    return next((call for call in found if _has_facts(claim, call.text)), next(iter(found), None))


def _has_facts(claim: str, text: str) -> bool:
    spelled = [fact.text for fact in find_facts(claim) if _amount(fact) not in _amounts(text)]
    spelled += [address.rstrip(".,;:!?)") for address in re.findall(_ADDRESS, claim)]
    return all(find_spelled(item, [text]) for item in spelled)


# Corrections by the user

_CORRECTS = re.compile(
    r"(?i)\b(?:actually|sorry|correction|wait|no|oops|meant?|instead|rather|wrong|not|now|make|"
    r"changed?|says?|mistake|only|mis\w+)\b"
)
# A message that replaces more than this is a new one.
_MOST_CORRECTIONS = 20
_REPLACES = re.compile(
    r"\b(?P<new>\w++)(?:,? (?:and )?not(?: in| on| at| for)?| instead of) (?P<old>[^\W\d]\w*)"
)


def find_corrections(earlier: Sequence[str], later: str) -> Iterator[tuple[str, str]]:
    """Yield what a message of the user replaces in earlier ones: the old and the new words."""
    if _CORRECTS.search(later) is None:
        return
    for match in islice(_REPLACES.finditer(later), _MOST_CORRECTIONS):
        if find_spelled(match["old"], earlier):
            yield match["old"], match["new"]
    texts = (span.cut(later) for span in sentences(later))
    said = ((text, {word.norm for word in words(text)} - FUNCTION_WORDS) for text in texts)
    stated = ((new, content) for text, content in said for new in _plain_facts(text))
    for new, content in islice(stated, _MOST_CORRECTIONS):
        old = _replaced_fact(new, content - {new.unit}, earlier)
        if old is not None:
            yield old, new.text.rstrip(".")


def _plain_facts(text: str) -> list[Fact]:
    """Return the facts of a text without numbers that begin a code, such as "7b"."""
    return [fact for fact in find_facts(text) if not text[fact.end : fact.end + 1].isalpha()]


def _replaced_fact(new: Fact, shared: Set[str], earlier: Sequence[str]) -> str | None:
    """Return the fact of an earlier message that a new one replaces; None if it is unclear.

    `shared` has the words of the sentence with the new one, which may stand near the earlier one.
    """
    for text in reversed(earlier):
        near = [word.start for word in words(text) if word.norm in shared]
        candidates = [
            fact
            for fact in _plain_facts(text)
            if (fact.form, fact.unit) == (new.form, new.unit)
            and (new.kind is not FactKind.NAME or {*fact.text.split()} & {*new.text.split()})
        ]
        if any(fact.key == new.key for fact in candidates):
            return None
        if candidates:  # the nearest to the words that both messages have
            sums = [0, *accumulate(near)]

            def distance(fact: Fact, near: list[int] = near, sums: list[int] = sums) -> int:
                before = bisect_left(near, fact.start)
                return fact.start * (2 * before - len(near)) + sums[-1] - 2 * sums[before]

            return min(candidates, key=distance).text.rstrip(".")
    return None


# The words of the user, as the assistant repeats them

_SPEAKER = {
    "i am": "you are", "i'm": "you are", "i was": "you were", "i": "you", "me": "you",
    "my": "your", "mine": "yours", "we": "you", "us": "you", "our": "your", "ours": "yours",
}  # fmt: skip
_FIRST_PERSON = re.compile(rf"\b(?:{'|'.join(_SPEAKER)})\b(?!['’.]\w)", re.IGNORECASE)


def readdressed(text: str) -> str:
    """Return a sentence of the user in the second person: "My cat" is "Your cat"."""

    def other(match: re.Match[str]) -> str:
        said = match[0] if match[0] == "US" else _SPEAKER[match[0].lower()]
        return said[:1].upper() + said[1:] if match.start() == 0 else said

    return _FIRST_PERSON.sub(other, text.replace("’", "'"))


# Sentences that are not statements of fact

_INTENTION = re.compile(
    r"(?i)(?:(?:now|first|next|then|okay|ok|sure|great|hold on)[,.]? )?(?:(?:i['’]|i )(?:ll|will|"
    r"am going to|m going to|can|could|d (?:be|like)|would (?:be|like))|let me|let['’]s|shall i|"
    r"please|(?:one|just a) moment)\b"
)
_OPENER = re.compile(
    r"(?i)(?:i['’]m |i am |i )?(?:very |so )?(?:sorry|apolog\w+|thanks?)\b[^,.;:]{0,50}[.!]?$"
    r"|(?:(?:you(?:['’]re| are)(?: \w+)? right|got it|understood|okay|ok|all right|thanks|sorry|"
    r"thank you|apologies|my mistake|no problem|noted|congratulations|i see|of course|sure|great|"
    r"perfect|yes|no|right|done)\s*(?:[,.:;!–—-]+\s*|$))+"
)
_MAX_QUESTION = 7  # a longer question may tell something


def statement_in(text: str) -> tuple[str, str | None]:
    """Return the part of a sentence to judge, or why it is not a statement of fact."""
    if _DONE.fullmatch(text):
        return text, None
    opener = _OPENER.match(text)
    rest = text if opener is None else text[opener.end() :]
    if not rest:
        return text, "a courtesy"
    if rest.endswith("?") and len(rest.split()) < _MAX_QUESTION:
        return text, "a question"
    if _INTENTION.match(rest):
        return text, "an intention"
    return rest[:1].upper() + rest[1:], None
