"""Conversations with tool calls: messages in, one report per turn of the assistant out.

A turn is checked against all that came before it: documents, system messages, tool results, and
the user's words, which count as given. Earlier turns of the assistant are not a source. Messages
have the form of OpenAI or Anthropic, or just a role and a text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from halldetect.agents import rules
from halldetect.agents.messages import Call, Message, read_messages
from halldetect.conclusion import graded_score
from halldetect.errors import InputError
from halldetect.inputs import ASSERTS_NOTHING, NOTHING_ASSERTED, Pair, Source, clean_pair
from halldetect.reading.assertions import no_assertion
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document, Span, UncheckedPart
from halldetect.reading.overlap import WordIndex
from halldetect.reading.reader import Reading, Refused
from halldetect.reading.sentences import sentences
from halldetect.report import (
    ClaimReport,
    ErrorKind,
    ErrorReport,
    Evidence,
    MessageReport,
    Report,
    Status,
    Verdict,
    decided_again,
)
from halldetect.scoring import response_score

# The source of a turn that begins a conversation.
_NOTHING = [{"id": "nothing before", "text": "Nothing was said before."}]
# In a conversation with more texts than the first number, a claim is judged by this many of them.
_READ_WHOLE, _NEAREST = 24, 3
_WORST_FIRST = (Verdict.HALLUCINATED, Verdict.UNCHECKABLE, Verdict.FAITHFUL, Verdict.ABSTAINED)


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The report of one assistant message; `index` is its place in the messages.

    The tool calls begin at `end` of the response. `places` has the message of each document.
    """

    index: int
    report: Report
    end: int = 0
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """The reports of the turns, and what was not read: "messages[2].content[1]: image"."""

    turns: tuple[TurnReport, ...]
    unread: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict; a turn that asserts nothing does not count."""
        reports = [turn.report for turn in self.turns]
        found = {item.verdict for item in reports if item.reason not in ASSERTS_NOTHING}
        return next((item for item in _WORST_FIRST if item in found), Verdict.UNCHECKABLE)

    @property
    def ok(self) -> bool:
        """Return True if no turn fails or could not be checked."""
        return self.verdict is Verdict.FAITHFUL

    def __bool__(self) -> bool:
        """Return True if no turn fails, as `ok` says."""
        return self.ok

    def merged(self) -> Report:
        """Return one report of all turns, with the text of each after "[message 3]"."""
        if not self.turns:
            raise InputError("the conversation has no message of the assistant to check")
        text, claims, unchecked = "", [], []
        messages = [(at, MessageReport(doc)) for doc, at in enumerate(self.turns[-1].places)]
        for turn in self.turns:
            text += f"[message {turn.index}]\n"
            spans = Span(0, turn.end), Span(turn.end, len(turn.report.response))
            said, calls = (Span(span.start + len(text), span.end + len(text)) for span in spans)
            judged = MessageReport(None, said, calls, turn.report.verdict, turn.report.reason)
            messages.append((turn.index, judged))
            claims += [_moved(claim, len(text)) for claim in turn.report.claims]
            unchecked += [_moved(part, len(text)) for part in turn.report.unchecked]
            text += f"{turn.report.response}\n\n"
        reasons = [turn.report.reason for turn in self.turns if turn.report.reason]
        last = self.turns[-1].report  # sources only grow, so it has those of all turns
        return replace(
            last, verdict=self.verdict, reason=None if claims else reasons[0], response=text,
            score=response_score(claims), graded=graded_score(claims), claims=tuple(claims),
            unchecked=tuple(unchecked), question=None,
            messages=tuple(item for at, item in sorted(messages, key=itemgetter(0)) if at >= 0),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the reports in plain dicts, lists and strings."""
        turns = [{"index": turn.index, "report": turn.report.to_dict()} for turn in self.turns]
        return {"verdict": self.verdict.value, "turns": turns, "unread": list(self.unread)}

    def __str__(self) -> str:
        """Return the verdict of each turn, and its claims that are not supported."""
        lines = [f"message {turn.index}: {turn.report}" for turn in self.turns]
        return "\n".join([*lines, *(f"not read: {item}" for item in self.unread)])


def _moved(item: Any, by: int) -> Any:
    """Return a claim or an unchecked part with its span moved."""
    span = item.span
    return item if span is None else replace(item, span=Span(span.start + by, span.end + by))


class _Before:
    """All that came before a turn: sources, the user's words, answered tool calls.

    `given` has the indices of the user's messages among the sources, `corrections` the index of
    the correcting one, the old and the new words. Lists are replaced: a copy keeps its own.
    """

    def __init__(self, documents: Source | None) -> None:
        first = clean_pair(Pair([] if documents is None else documents, ""))
        self.texts = [*first.documents]
        self.metadata = dict(enumerate(first.document_metadata))
        numbers = range(1, len(self.texts) + 1)
        self.names = [*first.document_names] or [f"document {at}" for at in numbers]
        # Documents without a name are numbered; those of a message continue the count.
        self.counts = Counter({"document ": 0 if first.document_names else len(self.texts)})
        self.index = -1  # of the message that is read
        self.places = [self.index for _ in self.texts]
        self.calls: dict[str, list[Call]] = {}  # by id, or else by tool in their order
        self.answered: list[rules.AnsweredCall] = []
        self.given: list[int] = []
        self.corrections: list[tuple[int, str, str]] = []
        self.question: str | None = None
        self.unread: list[str] = []

    def add(self, kind: str, text: str) -> int:
        """Add a source, named after its kind and number; return its index."""
        self.counts[kind] += 1
        self.names = [*self.names, f"{kind}{self.counts[kind]}"]
        self.texts = [*self.texts, text]
        self.places = [*self.places, self.index]
        return len(self.texts) - 1

    def take(self, message: Message) -> None:
        """Add the sources in a message; the text of the assistant is not one."""
        self.index, self.unread = message.index, self.unread + message.unread
        self.calls = self.calls | {call.id: [] for call in message.calls}
        for call in message.calls:
            self.calls[call.id].append(call)
        for document in message.documents:
            self.add("document ", document)
        for result in message.results:
            self.add_result(*result)
        text = "\n\n".join(message.texts)
        if text.strip() and message.role == "user":
            self.add_user(text)
        elif text.strip() and message.role == "system":
            self.add("system message ", text)

    def add_result(self, id: str, result: str, failed: bool) -> None:
        """Add the result of a tool call, with the arguments of the call before it."""
        call, *later = self.calls.get(id) or [Call(id, id)]
        self.calls = self.calls | {id: later or [call]}
        kept = {
            name: value
            for name, value in call.values
            if name.lower() not in rules.SEARCH_KEYS and not rules.is_text(value)
            if (kind := rules.value_kind(call.tool, name, value)) is None
            or rules.find_value(kind, value, self.texts)
        }
        text = result
        if kept and result.lstrip().startswith(("{", "[")):  # read as records, one after another
            text = f"{json.dumps(kept, ensure_ascii=False, default=str)}\n{result}"
        elif kept:
            text = "\n".join(f"{name}: {value}" for name, value in kept.items()) + f"\n\n{result}"
        at = self.add(f"tool {call.tool} #", text)
        said = "\n".join([call.tool, *(f"{name}: {value}" for name, value in call.values), result])
        failed = failed or rules.reports_failure(result)
        self.answered = [*self.answered, rules.AnsweredCall(call.tool, said, at, failed)]

    def add_user(self, text: str) -> None:
        """Add a message of the user, and its corrections of earlier ones."""
        questions = [said for span in sentences(text) if (said := span.cut(text)).endswith("?")]
        self.question = questions[-1] if questions else None
        found = rules.find_corrections([self.texts[at] for at in self.given], text)
        self.given = [*self.given, self.add("user turn ", text)]
        self.corrections = [*self.corrections, *((self.given[-1], *pair) for pair in found)]

    def turn(self, message: Message, judge_from: int) -> Turn:
        """Return an assistant message as a turn."""
        texts = [*message.texts]
        for call in message.calls:
            texts += [value for _, value in call.values if rules.is_text(value)]
        response = "\n\n".join(text.strip() for text in texts if text.strip())
        end, values = len(response), []
        for call in message.calls:
            response += f"\n\n{call.tool}" if response else call.tool
            for name, value in call.values:
                span = Span(len(response) + 1, len(response) + len(shown := f"\n{name}: {value}"))
                response += "" if rules.is_text(value) else shown
                kind = rules.value_kind(call.tool, name, value)
                if kind is not None:
                    values.append(self.settled(shown[1:], span, kind, value))
        named = enumerate(zip(self.names, self.texts, strict=True))
        sources: Any = [
            {"id": name, "text": text, "metadata": self.metadata.get(at, {})}
            for at, (name, text) in named
        ]
        pair = Pair(sources or _NOTHING, response, self.question, judge_from=judge_from)
        return Turn(message.index, pair, end, tuple(values), copy(self))

    def settled(self, text: str, span: Span, kind: str, value: Any) -> ClaimReport:
        """Settle a value of a tool call by its occurrence before the call."""
        place = rules.find_value(kind, value, self.texts)
        if place is None:
            reason = f"invented: this {kind} occurs in nothing before the call"
            error = ErrorReport(ErrorKind.INVENTED, str(value), "")
            return ClaimReport(text, span, None, Status.UNSUPPORTED, reason, 0.0, error=error)
        document, found = place
        proof = Evidence(found.cut(self.texts[document]), document, found)
        return ClaimReport(text, span, None, Status.SUPPORTED, None, 1.0, proof=proof)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the assistant, by its index, with all that came before it.

    The response of `pair` has the text up to `end`, then the tool calls with settled `values`.
    """

    index: int
    pair: Pair
    end: int
    values: tuple[ClaimReport, ...]
    before: _Before


def read_turns(
    messages: object, documents: Source | None = None, start: int = 0, judge_from: int = 0
) -> list[Turn]:
    """Return the assistant messages from an index on, each with all that came before it."""
    before, turns = _Before(documents), []
    for message in read_messages(messages):
        before.take(message)
        says = message.calls or any(map(str.strip, message.texts))
        if message.role == "assistant" and message.index >= start and says:
            turns.append(before.turn(message, judge_from))
    return turns


def tool_results(messages: object) -> list[str]:
    """Return the results of the tools in a conversation, with the arguments of the calls."""
    before = _Before(None)
    for message in read_messages(messages):
        before.take(message)
    return [before.texts[call.document] for call in before.answered]


# Around the verifier


def amend(turn: Turn, read: Reading | Refused) -> Reading | Refused:
    """Return what was read of a turn without intentions, courtesies and tool calls."""
    if isinstance(read, Refused) and read.reason not in ASSERTS_NOTHING:
        return read
    claims, unchecked = [], [part for part in read.unchecked if part.span.start < turn.end]
    for claim in read.claims if isinstance(read, Reading) else ():
        if claim.span is None or claim.span.start >= turn.end:
            continue
        own = claim.span.cut(read.pair.response)
        text, reason = rules.statement_in(claim.text)
        reason = reason or rules.statement_in(own)[1]  # a short answer is read with its question
        if reason is None:
            claims.append(replace(claim, text=text))
        else:
            unchecked.append(UncheckedPart(own, claim.span, reason, False))
    read = replace(read, unchecked=tuple(sorted(unchecked, key=lambda part: part.span)))
    if isinstance(read, Refused):
        return read
    if not claims:
        return read.refuse(NOTHING_ASSERTED)
    documents = [*read.documents]
    if len(documents) > _READ_WHOLE:
        whole = {*turn.before.given, *_nearest(claims, documents)}
        documents = [
            document if at in whole else Document(document.text, ())
            for at, document in enumerate(documents)
        ]
    for at in turn.before.given:
        corrections = [pair for by, *pair in turn.before.corrections if by > at]
        documents[at] = _as_given(documents[at], corrections)
    calls = tuple(call.text for call in turn.before.answered)
    return replace(
        read, pair=replace(read.pair, tool_calls=calls), claims=tuple(claims), length=len(claims),
        documents=tuple(documents),
    )  # fmt: skip


def _nearest(claims: Sequence[Claim], documents: Sequence[Document]) -> set[int]:
    """Return the few documents that have most of the words of each claim."""
    index = WordIndex(documents)
    whole = [(at, Span(0, len(item.text))) for at, item in enumerate(documents)]
    found: set[int] = set()
    for claim in claims:
        shares = index.shares(f"{claim.text} {claim.read_as or ''}", whole)
        found.update(sorted(range(len(whole)), key=lambda at: (shares[at], at))[-_NEAREST:])
    return found


def _as_given(document: Document, corrections: Sequence[Sequence[str]]) -> Document:
    """Return a message of the user as corrected later, without its questions."""
    kept = {}
    for span in document.sentences:
        text = span.cut(document.text)
        if no_assertion(text) is None and rules.statement_in(text)[1] != "a question":
            for old, new in corrections:
                text = new.join(re.split(rf"(?<!\w){re.escape(old)}(?!\w)", text))
            kept[span] = rules.readdressed(text)
    return Document(document.text, tuple(kept), readings=tuple(kept.values()))


def settle(turn: Turn, report: Report) -> TurnReport:
    """Return the report of a turn with the findings of the rules."""
    values = (value.labelled(report.provenance.configuration) for value in turn.values)
    claims = (*(_settled(turn.before, report, claim) for claim in report.claims), *values)
    notes = report.provenance.notes + tuple(f"not read: {item}" for item in turn.before.unread)
    decided = report.claims or report.reason in ASSERTS_NOTHING
    report = replace(
        report, claims=claims, score=response_score(claims), graded=graded_score(claims),
        provenance=replace(report.provenance, notes=notes),
    )  # fmt: skip
    if decided and claims:
        report = decided_again(report)
    elif report.score is not None and report.score >= report.threshold:
        # The text could not be checked, but a value is invented.
        report = replace(report, verdict=Verdict.HALLUCINATED)
    return TurnReport(turn.index, report, turn.end, tuple(turn.before.places))


def _settled(before: _Before, report: Report, claim: ClaimReport) -> ClaimReport:
    """Return a claim with the finding of the rules, if it counts more than the verifier's."""
    own = claim.text if claim.span is None else claim.span.cut(report.response)
    invented = [word.words for word in claim.wrong if word.kind == ErrorKind.IDENTIFIER]
    if invented:
        said = f"{', '.join(invented)} occurs in nothing before"
        return replace(claim, reason=said, proof=None)
    said = "\n".join(report.documents[at] for at in before.given)
    since = max(before.given, default=0)
    finding = rules.find_action(rules.statement_in(own)[0], before.answered, said, since)
    if (
        finding is None
        and claim.status is Status.UNCHECKABLE
        and len(report.documents) == len(before.given)
    ):
        finding = Status.UNSUPPORTED, "nothing before this turn says so", None
    # The user's words do not show what the agent did.
    is_given = [place.document in before.given for place in claim.passages]
    settled = not any(is_given[:1]) and claim.status in (Status.SUPPORTED, Status.CONTRADICTED)
    if finding is None or (settled and finding[0] is not Status.CONTRADICTED):
        said_so = is_given and all(is_given) and claim.status is Status.SUPPORTED
        return replace(claim, reason="the user said so") if said_so else claim
    status, reason, document = finding
    text = "" if document is None else report.documents[document]
    proof = None if document is None else Evidence(text, document, Span(0, len(text)))
    support, error = (1.0, None) if status is Status.SUPPORTED else (0.0, claim.error)
    return replace(claim, status=status, support=support, reason=reason, proof=proof, error=error)
