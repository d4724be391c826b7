"""Conversations with tool calls: messages in, one report per turn of the assistant out.

A turn is checked against all that came before it: documents, system messages, tool results, and
the user's words, which count as given. Earlier turns of the assistant are not a source. Messages
have the form of OpenAI or Anthropic, or just a role and a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from halldetect.errors import InputError
from halldetect.explanation import agent_rules as rules
from halldetect.inputs import (
    ASSERTS_NOTHING,
    NOTHING_ASSERTED,
    Conversation,
    Pair,
    Source,
    SourceDocument,
    split_names,
)
from halldetect.preparation import Prepared, clean
from halldetect.reading.assertions import no_assertion
from halldetect.reading.document import Document, Span, UncheckedPart
from halldetect.reading.messages import Call, Message, read_messages
from halldetect.reading.sentences import sentences
from halldetect.report import (
    ClaimReport,
    ErrorKind,
    ErrorReport,
    Evidence,
    Report,
    Status,
    Verdict,
    decide,
)
from halldetect.report.conclusion import graded_score
from halldetect.scoring import response_score

# The source of a turn that begins a conversation.
_NOTHING: list[SourceDocument] = [{"id": "nothing before", "text": "Nothing was said before."}]
_WORST_FIRST = (Verdict.HALLUCINATED, Verdict.UNCHECKABLE, Verdict.FAITHFUL, Verdict.ABSTAINED)


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The report of one assistant message; `index` is its place in the messages."""

    index: int
    report: Report


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """The reports of the turns, and the content that could not be read.

    `unread` has images, audio and other content, such as "messages[2].content[1]: image".
    """

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

    def merged(self) -> Report:
        """Return one report of all turns, with the text of each after "[message 3]"."""
        if not self.turns:
            raise InputError("the conversation has no message of the assistant to check")
        text, claims, unchecked = "", [], []
        for turn in self.turns:
            text += f"[message {turn.index}]\n"
            claims += [_moved(claim, len(text)) for claim in turn.report.claims]
            unchecked += [_moved(part, len(text)) for part in turn.report.unchecked]
            text += f"{turn.report.response}\n\n"
        reasons = [turn.report.reason for turn in self.turns if turn.report.reason]
        last = self.turns[-1].report  # sources only grow, so it has those of all turns
        return replace(
            last, verdict=self.verdict, reason=None if claims else reasons[0], response=text,
            score=response_score(claims), graded=graded_score(claims), claims=tuple(claims),
            unchecked=tuple(unchecked), question=None,
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


@dataclass(frozen=True, slots=True)
class Turn:
    """An assistant message, by its index, with all that came before it.

    The response of `pair` has the text up to `end`, then the tool calls, whose `values` are
    settled. `given` has the indices of the user's messages in the source, and `corrections` the
    old and new words in each. `calls` are the earlier tool calls with their results.
    """

    index: int
    pair: Pair
    end: int
    values: tuple[ClaimReport, ...]
    given: frozenset[int]
    corrections: Mapping[int, tuple[tuple[str, str], ...]]
    calls: tuple[rules.AnsweredCall, ...]
    unread: tuple[str, ...]


class _Before:
    """All that came before a turn: named sources, the user's words, answered tool calls."""

    def __init__(self, documents: Source | None) -> None:
        texts, names = split_names([] if documents is None else documents)
        names = names or [f"document {at}" for at in range(1, len(texts) + 1)]
        named = zip(names, texts, strict=True)
        self.sources: list[SourceDocument] = [
            cast(SourceDocument, {"id": id, "text": text}) for id, text in named
        ]
        self.counts = {"document": len(texts)}
        self.calls: dict[str, Call] = {}
        self.answered: list[rules.AnsweredCall] = []
        self.given: list[int] = []
        self.corrections: dict[int, tuple[tuple[str, str], ...]] = {}
        self.question: str | None = None
        self.unread: list[str] = []

    @property
    def texts(self) -> list[str]:
        """Return the texts of the sources."""
        return [str(text) for text in split_names(self.sources)[0]]

    def add(self, kind: str, text: str, mark: str = "") -> int:
        """Add a source, named after its kind and number; return its index."""
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        self.sources.append({"id": f"{kind} {mark}{number}", "text": text})
        return len(self.sources) - 1

    def take(self, message: Message) -> None:
        """Add the sources in a message; the text of the assistant is not one."""
        self.unread += message.unread
        self.calls |= {call.id: call for call in message.calls}
        for document in message.documents:
            self.add("document", document)
        for result in message.results:
            self.add_result(*result)
        text = "\n\n".join(message.texts)
        if text.strip() and message.role == "user":
            self.add_user(text)
        elif text.strip() and message.role == "system":
            self.add("system message", text)

    def add_result(self, id: str, result: str, failed: bool) -> None:
        """Add the result of a tool call, with the arguments of the call before it."""
        call = self.calls.get(id) or Call(id, id, {})
        kept = {}
        for name, value in call.values():
            kind = rules.value_kind(call.tool, name, value)
            found = kind is None or rules.find_value(kind, value, self.texts) is not None
            if found and not rules.is_text(value) and not rules.is_search(name):
                kept[name] = value
        text = result
        if kept and result.lstrip().startswith(("{", "[")):  # read as records, one after another
            text = f"{json.dumps(kept, ensure_ascii=False, default=str)}\n{result}"
        elif kept:
            text = "\n".join(f"{name}: {value}" for name, value in kept.items()) + f"\n\n{result}"
        document = self.add(f"tool {call.tool}", text, "#")
        said = f"{call.tool} {json.dumps(dict(call.arguments), default=str)}\n{result}"
        failed = failed or rules.has_failed(result)
        self.answered.append(rules.AnsweredCall(call.tool, said, document, failed, recent=True))

    def add_user(self, text: str) -> None:
        """Add a message of the user, and its corrections of earlier ones."""
        questions = [said for span in sentences(text) if (said := span.cut(text)).endswith("?")]
        self.question = questions[-1] if questions else None
        self.answered = [replace(call, recent=False) for call in self.answered]
        for pair in rules.find_corrections([self.texts[at] for at in self.given], text):
            for at in self.given:
                self.corrections[at] = (*self.corrections.get(at, ()), pair)
        self.given.append(self.add("user turn", text))

    def turn(self, message: Message) -> Turn:
        """Return an assistant message as a turn."""
        texts = [*message.texts]
        for call in message.calls:
            texts += [value for _, value in call.values() if rules.is_text(value)]
        response = "\n\n".join(text.strip() for text in texts if text.strip())
        end, values, known = len(response), [], self.texts
        for call in message.calls:
            response += f"\n\n{call.tool}" if response else call.tool
            for name, value in call.values():
                kind = rules.value_kind(call.tool, name, value)
                start = len(response) + 1
                response += "" if rules.is_text(value) else f"\n{name}: {value}"
                if kind is not None:
                    span, place = Span(start, len(response)), rules.find_value(kind, value, known)
                    values.append(_value_claim(response, span, kind, place, known))
        return Turn(
            message.index, Pair([*self.sources] or _NOTHING, response, self.question), end,
            tuple(values), frozenset(self.given), dict(self.corrections),
            tuple(self.answered), tuple(self.unread),
        )  # fmt: skip


def _value_claim(
    response: str, span: Span, kind: str, place: rules.Place | None, known: Sequence[str]
) -> ClaimReport:
    """Return a value of a tool call as a claim, settled by its occurrence before the call."""
    claim = ClaimReport(span.cut(response), span, None, Status.SUPPORTED, None, 1.0)
    if place is None:
        reason = f"invented: this {kind} occurs in nothing before the call"
        error = ErrorReport(ErrorKind.INVENTED, claim.text.partition(": ")[2], "")
        return replace(claim, status=Status.UNSUPPORTED, support=0.0, reason=reason, error=error)
    document, found = place
    return replace(claim, proof=Evidence(found.cut(known[document]), document, found))


def read_turns(messages: object, documents: Source | None = None, start: int = 0) -> list[Turn]:
    """Return the assistant messages from an index on, each with all that came before it.

    Args:
        messages: The conversation.
        documents: Documents that were there from the beginning.
        start: The index of the first message to check.
    """
    before, turns = _Before(documents), []
    for message in read_messages(messages):
        before.take(message)
        says = message.calls or any(map(str.strip, message.texts))
        if message.role == "assistant" and message.index >= start and says:
            turns.append(before.turn(message))
    return turns


def tool_results(messages: object) -> list[str]:
    """Return the results of the tools in a conversation, with the arguments of the calls."""
    before = _Before(None)
    for message in read_messages(messages):
        before.take(message)
    return [before.texts[call.document] for call in before.answered]


# Around the verifier


class _Detector(Protocol):
    def begin(self, pairs: Sequence[Pair]) -> list[Prepared]: ...

    def finish(self, prepared: Sequence[Prepared]) -> list[Report]: ...

    def check_conversation(
        self, messages: object, *, documents: Source | None
    ) -> ConversationReport: ...


def check(
    detector: _Detector, messages: object, documents: Source | None, start: int = 0
) -> ConversationReport:
    """Check the turns of a conversation; see `Detector.check_conversation`."""
    turns = read_turns(messages, documents, start)
    prepared = detector.begin([turn.pair for turn in turns])
    reports = detector.finish([*map(prepare_turn, turns, prepared)])
    return ConversationReport((*map(settle, turns, reports),), turns[-1].unread if turns else ())


def merged(detector: _Detector, item: Conversation) -> Report:
    """Return one report of all turns; an error becomes the reason of an uncheckable one."""
    try:
        messages = json.loads(item.response)
        return detector.check_conversation(messages, documents=item.source).merged()
    except (ValueError, RecursionError, InputError) as error:
        problem = f"not a conversation: {error}"
        return detector.finish([replace(clean(item, 0), problem=problem)])[0]


def prepare_turn(turn: Turn, prepared: Prepared) -> Prepared:
    """Return the prepared pair of a turn without intentions, courtesies and tool calls.

    Sentences of the user are read as corrected later; questions are left out.
    """
    if prepared.problem not in (None, *ASSERTS_NOTHING):
        return prepared
    claims, unchecked = [], [part for part in prepared.unchecked if part.span.start < turn.end]
    for claim in prepared.claims:
        if claim.span is None or claim.span.start >= turn.end:
            continue
        text, reason = rules.statement_in(claim.text)
        if reason is None:
            claims.append(replace(claim, text=text))
        else:
            own = claim.span.cut(prepared.pair.response)
            unchecked.append(UncheckedPart(own, claim.span, reason, False))
    documents = tuple(
        _as_given(document, turn.corrections.get(at, ())) if at in turn.given else document
        for at, document in enumerate(prepared.documents)
    )
    return replace(
        prepared, claims=tuple(claims), length=max(len(claims), 1), documents=documents,
        unchecked=tuple(sorted(unchecked, key=lambda part: part.span)),
        problem=prepared.problem if claims or prepared.problem else NOTHING_ASSERTED,
    )  # fmt: skip


def _as_given(document: Document, corrections: Sequence[tuple[str, str]]) -> Document:
    kept = {
        span: text
        for span in document.sentences
        if no_assertion(text := span.cut(document.text)) is None
    }
    for old, new in corrections:
        kept = {span: rules.replaced_words(text, old, new) for span, text in kept.items()}
    return Document(document.text, tuple(kept), readings=tuple(kept.values()))


def settle(turn: Turn, report: Report) -> TurnReport:
    """Return the report of a turn with the findings of the rules."""
    claims = (*(_settled(turn, report, claim) for claim in report.claims), *turn.values)
    notes = report.provenance.notes + tuple(f"not read: {item}" for item in turn.unread)
    report = replace(report, provenance=replace(report.provenance, notes=notes))
    score, verdict, reason = response_score(claims), report.verdict, report.reason
    if report.claims or (claims and reason in ASSERTS_NOTHING):
        strict = report.provenance.configuration.get("on_unchecked") == "fail"
        left_out = report.left_out if strict else ()
        verdict, reason = decide(score, claims, report.threshold, left_out)
    elif score is not None and score >= report.threshold:
        verdict = Verdict.HALLUCINATED  # the text could not be checked, but a value is invented
    graded = graded_score(claims)
    report = replace(report, verdict=verdict, reason=reason, score=score, graded=graded)
    return TurnReport(turn.index, replace(report, claims=claims))


def _settled(turn: Turn, report: Report, claim: ClaimReport) -> ClaimReport:
    """Return a claim with the finding of the rules, if it counts more than the verifier's."""
    own = claim.text if claim.span is None else claim.span.cut(report.response)
    known = [*report.documents, *(call.text for call in turn.calls)]
    said = "\n".join(report.documents[at] for at in turn.given)
    given = claim.proof is not None and claim.proof.document in turn.given
    finding = rules.find_invented(own, known)
    if finding is None:
        finding = rules.find_action(rules.statement_in(own)[0], turn.calls, said)
    if finding is None and claim.status is Status.UNCHECKABLE and len(known) == len(turn.given):
        finding = rules.Finding(Status.UNSUPPORTED, "nothing before this turn says so")
    # The user's words do not show what the agent did.
    settled = not given and claim.status in (Status.SUPPORTED, Status.CONTRADICTED)
    if finding is None or (settled and not finding.certain):
        said_so = given and claim.status is Status.SUPPORTED
        return replace(claim, reason="the user said so") if said_so else claim
    proof, error = None, claim.error
    if finding.document is not None:
        text = report.documents[finding.document]
        proof = Evidence(text, finding.document, Span(0, len(text)))
    if finding.invented:
        error = ErrorReport(ErrorKind.INVENTED, finding.invented, "")
    support = 1.0 if finding.status is Status.SUPPORTED else 0.0
    return replace(
        claim, status=finding.status, support=support, reason=finding.reason, proof=proof,
        error=None if support else error,
    )  # fmt: skip
