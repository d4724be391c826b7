"""Conversations with tool calls: messages in, one report per turn of the assistant out.

A turn is checked against all that came before it: documents, system messages, tool results, and
the user's words, which count as given. Earlier turns of the assistant are not a source. Messages
have the form of OpenAI or Anthropic, or just a role and a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from halldetect.errors import InputError
from halldetect.explanation import agent_rules as rules
from halldetect.inputs import ASSERTS_NOTHING, NOTHING_ASSERTED, Pair, Source, split_names
from halldetect.preparation import Prepared
from halldetect.reading.assertions import no_assertion
from halldetect.reading.document import Document, Span, UncheckedPart
from halldetect.report import (
    ClaimReport,
    ErrorKind,
    ErrorReport,
    Evidence,
    Report,
    Status,
    Verdict,
    decide,
    graded_score,
)
from halldetect.scoring import response_score

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
# A longer value, or one with several words and a full stop, is a text.
_MAX_VALUE = 120
_NO_SOURCE = "nothing before this turn says so"
_GIVEN = "the user said so"
_WORST = (Verdict.HALLUCINATED, Verdict.UNCHECKABLE, Verdict.ABSTAINED)


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The report of one assistant message; `index` is its place in the messages."""

    index: int
    report: Report


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """The reports of the turns, and the content that could not be read.

    Attributes:
        turns: One report per assistant message, in order.
        unread: Images, audio and other content, such as "messages[2].content[1]: image".
    """

    turns: tuple[TurnReport, ...]
    unread: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict; turns that assert nothing do not count beside others."""
        found = {
            turn.report.verdict
            for turn in self.turns
            if turn.report.reason not in ASSERTS_NOTHING or turn.report.claims
        }
        if not found:
            return Verdict.UNCHECKABLE
        return next((verdict for verdict in _WORST if verdict in found), Verdict.FAITHFUL)

    @property
    def ok(self) -> bool:
        """Return True if no turn fails."""
        return self.verdict is Verdict.FAITHFUL

    def to_dict(self) -> dict[str, Any]:
        """Return the reports in plain dicts, lists and strings."""
        turns = [{"index": turn.index, "report": turn.report.to_dict()} for turn in self.turns]
        return {"verdict": self.verdict.value, "turns": turns, "unread": list(self.unread)}

    def __str__(self) -> str:
        """Return the verdict of each turn, and its claims that are not supported."""
        lines = [f"message {turn.index}: {turn.report}" for turn in self.turns]
        return "\n".join([*lines, *(f"not read: {item}" for item in self.unread)])


@dataclass(frozen=True, slots=True)
class _Call:
    id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class _Message:
    """One message: its role, its text, its tool calls and the tool results in it."""

    index: int
    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    results: list[tuple[str, str, bool]] = field(default_factory=list)  # call id, text, error
    documents: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in a tool call: its kind, its span in the response, and where it comes from."""

    text: str
    kind: str
    span: Span
    place: rules.Place | None


@dataclass(frozen=True, slots=True)
class Turn:
    """An assistant message with all that came before it.

    Attributes:
        index: Its place in the messages.
        pair: Its sources and its text, with the tool calls at the end.
        given: The indices of the documents that the user wrote.
        end: The end of the text; the tool calls follow.
        values: The values in the tool calls that must come from somewhere.
        calls: The tool calls before it, with their results.
        corrections: Old and new words, by the index of the document that they are in.
        unread: Content up to this turn that could not be read.
    """

    index: int
    pair: Pair
    given: frozenset[int]
    end: int
    values: tuple[_Value, ...]
    calls: tuple[rules.AnsweredCall, ...]
    corrections: Mapping[int, tuple[tuple[str, str], ...]]
    unread: tuple[str, ...]

    @property
    def texts(self) -> list[str]:
        """Return the texts of the documents."""
        return [str(text) for text in split_names(self.pair.source)[0]]


# Messages


def read_messages(messages: object) -> Iterator[_Message]:
    """Yield the messages in one form.

    Raises:
        InputError: For a malformed message; it names the index and the field.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise InputError(f"messages must be a list of messages, not {type(messages).__name__}")
    for index, raw in enumerate(messages):
        place = f"messages[{index}]"
        _require(raw, Mapping, place, "an object")
        role = _ROLES.get(str(raw.get("role")).lower())
        if role is None:
            known = ", ".join(_ROLES)
            raise InputError(f"{place}.role must be one of {known}, not {raw.get('role')!r}")
        message = _Message(index, role)
        content = raw.get("content")
        if role == "tool":
            call = raw.get("tool_call_id") or raw.get("name") or ""
            _add_result(message, str(call), content, raw.get("status") == "error", place)
        elif content is not None:
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            _require(parts, list, f"{place}.content", "text or a list of parts")
            for at, part in enumerate(parts):
                _add_part(message, part, f"{place}.content[{at}]")
        elif role != "assistant":
            raise InputError(f"{place}.content is missing")
        calls = raw.get("tool_calls") or []
        _require(calls, list, f"{place}.tool_calls", "a list")
        if raw.get("function_call"):
            calls = [*calls, {"function": raw["function_call"]}]
        for at, call in enumerate(calls):
            where = f"{place}.tool_calls[{at}]"
            _require(call, Mapping, where, "an object")
            function = call.get("function", call)
            _require(function, Mapping, f"{where}.function", "an object")
            arguments = function.get("arguments", function.get("args"))
            _add_call(message, call.get("id"), function.get("name"), arguments, where)
        yield message


def _require(value: object, kind: type, place: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{place} must be {wanted}, not {type(value).__name__}")


def _add_part(message: _Message, part: Any, place: str) -> None:
    """Add one part of the content; list what cannot be read."""
    if isinstance(part, str):
        part = {"type": "text", "text": part}
    _require(part, Mapping, place, "an object")
    kind = part.get("type")
    source = part.get("source")
    if kind in _TEXT_PARTS:
        text = part.get("text", part.get("refusal"))
        _require(text, str, f"{place}.text", "text")
        message.texts.append(text)
    elif kind == "tool_use":
        _add_call(message, part.get("id"), part.get("name"), part.get("input"), place)
    elif kind == "tool_result":
        _add_result(
            message, str(part.get("tool_use_id", "")), part.get("content"),
            part.get("is_error") is True, place,
        )  # fmt: skip
    elif kind == "document" and isinstance(source, Mapping) and source.get("type") == "text":
        message.documents.append(str(source.get("data")))
    else:
        message.unread.append(f"{place}: {kind or 'content without a type'}")


def _add_call(message: _Message, id: object, name: object, arguments: Any, place: str) -> None:
    _require(name, str, f"{place}: the name of the tool", "text")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):  # the model wrote it, not the caller
            arguments = {"arguments": arguments}
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"arguments": arguments}
    message.calls.append(_Call(str(id or ""), str(name), arguments))


def _add_result(message: _Message, call: str, content: Any, error: bool, place: str) -> None:
    """Add the result of a tool: a text, parts with texts, or a JSON value."""
    texts = []
    is_parts = isinstance(content, list) and all(
        isinstance(part, Mapping) and "type" in part for part in content
    )
    for at, part in enumerate(content if is_parts else ()):
        if part["type"] in _TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            message.unread.append(f"{place}.content[{at}]: {part['type']}")
    if not is_parts and content is not None:
        texts = [content if isinstance(content, str) else _json(content, place)]
    message.results.append((call, "\n".join(texts), error))


def _json(value: Any, place: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError(f"{place}.content must be text or a JSON value") from None


# Turns


def read_turns(messages: object, documents: Source | None = None, start: int = 0) -> list[Turn]:
    """Return the assistant messages from an index on, each with its sources.

    Args:
        messages: The conversation.
        documents: Documents that were there from the beginning.
        start: The index of the first message to check.
    """
    sources: list[dict[str, str]] = []
    texts, names = split_names(documents) if documents is not None else ([], [])
    for number, text in enumerate(texts):
        name = names[number] if names else f"document {number + 1}"
        sources.append({"id": name, "text": text})  # type: ignore[dict-item]  # checked later
    given: list[int] = []
    calls: dict[str, _Call] = {}
    counts: dict[str, int] = {}
    answered: list[rules.AnsweredCall] = []
    corrections: dict[int, tuple[tuple[str, str], ...]] = {}
    unread: list[str] = []
    question: str | None = None
    turns = []

    def add(kind: str, text: str) -> int:
        counts[kind] = counts.get(kind, 0) + 1
        number = "" if kind == "system" else f" {'#' if kind.startswith('tool') else ''}{counts[kind]}"
        sources.append({"id": f"{kind}{number}", "text": text})
        return len(sources) - 1

    for message in read_messages(messages):
        unread += message.unread
        for document in message.documents:
            add("document", document)
        for id, text, error in message.results:
            call = calls.get(id) or _Call(id, "" if id in calls else id or "tool", {})
            before = [source["text"] for source in sources]
            number = add(f"tool {call.tool}", _record(call, text, before))
            said = f"{call.tool} {json.dumps(dict(call.arguments), default=str)}\n{text}"
            failed = error or rules.has_failed(text)
            answered.append(rules.AnsweredCall(call.tool, said, number, failed, True))
        text = "\n\n".join(message.texts)
        if message.role == "assistant":
            calls |= {call.id or call.tool: call for call in message.calls}
            if message.index >= start and (text.strip() or message.calls):
                response, end, values = _response(text, message.calls, sources)
                turns.append(
                    Turn(
                        message.index, Pair(list(sources), response, question), frozenset(given),
                        end, values, tuple(answered), dict(corrections), tuple(unread),
                    )
                )  # fmt: skip
        elif message.role == "system" and text.strip():
            add("system", text)
        elif message.role == "user" and text.strip():
            question = text
            answered = [replace(call, recent=False) for call in answered]
            earlier = [sources[number]["text"] for number in given]
            for old, new in rules.find_corrections(earlier, text):
                for number in given:
                    corrections[number] = (*corrections.get(number, ()), (old, new))
            given.append(add("user turn", text))
    return turns


def _values(tool: str, arguments: Mapping[str, Any], key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of all arguments, also of nested ones."""
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _values(tool, value, str(name))
        elif isinstance(value, list):
            for item in value:
                nested = item if isinstance(item, Mapping) else {str(name): item}
                yield from _values(tool, nested, str(name))
        else:
            yield str(name), value


def _is_text(value: Any) -> bool:
    """Return True for an argument that says something, such as the body of a mail."""
    if not isinstance(value, str) or len(value.split()) < 4:
        return False
    return value.rstrip().endswith((".", "!")) or len(value) > _MAX_VALUE


def _record(call: _Call, result: str, before: Sequence[str]) -> str:
    """Return the result with the arguments of the call, without texts and invented values."""
    kept = {
        name: value
        for name, value in _values(call.tool, call.arguments)
        if not _is_text(value) and value not in ("", None)
        and name not in ("query", "q", "search", "prompt", "question")
        and (
            (kind := rules.value_kind(call.tool, name, value)) is None
            or rules.find_value(kind, value, before) is not None
        )
    }  # fmt: skip
    if not kept:
        return result
    if result.lstrip().startswith(("{", "[")):
        return f"{json.dumps(kept, ensure_ascii=False, default=str)}\n{result}"
    return "\n".join(f"{name}: {value}" for name, value in kept.items()) + f"\n\n{result}"


def _response(
    text: str, calls: Sequence[_Call], sources: Sequence[Mapping[str, str]]
) -> tuple[str, int, tuple[_Value, ...]]:
    """Return the text of a turn with its calls, the end of the texts, and the values in calls."""
    known = [source["text"] for source in sources]
    arguments = [
        (call.tool, name, value)
        for call in calls
        for name, value in _values(call.tool, call.arguments)
    ]
    said = [text, *(value for _, _, value in arguments if _is_text(value))]
    response = "\n\n".join(part.strip() for part in said if part.strip())
    end = len(response)
    values = []
    for call in calls:
        response += f"\n\n{call.tool}" if response else call.tool
        for name, value in _values(call.tool, call.arguments):
            if _is_text(value) or value is None:
                continue
            response += f"\n{name}: "
            span = Span(len(response), len(response) + len(str(value)))
            response += str(value)
            kind = rules.value_kind(call.tool, name, value)
            if kind is not None:
                place = rules.find_value(kind, value, known)
                values.append(_Value(f"{name}: {value}", kind, span, place))
    return response, end, tuple(values)


# Around the verifier


def prepare_turn(turn: Turn, prepared: Prepared) -> Prepared:
    """Return the prepared pair of a turn without intentions, courtesies and tool calls.

    The sentences of the user are read from the assistant's side, as corrected later; questions
    are left out.
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
        prepared,
        claims=tuple(claims),
        length=max(len(claims), 1),
        unchecked=tuple(sorted(unchecked, key=lambda part: part.span)),
        documents=documents,
        problem=prepared.problem if claims or prepared.problem else NOTHING_ASSERTED,
    )


def _as_given(document: Document, corrections: Sequence[tuple[str, str]]) -> Document:
    kept, readings = [], []
    for sentence in document.sentences:
        text = sentence.cut(document.text)
        if no_assertion(text) is None:
            for old, new in corrections:
                text = rules.replaced_words(text, old, new)
            kept.append(sentence)
            readings.append(rules.from_the_agents_side(text))
    return Document(document.text, tuple(kept), readings=tuple(readings))


def settle(turn: Turn, report: Report) -> TurnReport:
    """Return the report of a turn with the findings of the rules."""
    claims = [_settled(turn, claim) for claim in report.claims]
    claims += [_value_claim(turn, value) for value in turn.values]
    notes = report.provenance.notes + tuple(f"not read: {item}" for item in turn.unread)
    report = replace(report, provenance=replace(report.provenance, notes=notes))
    if not claims:
        return TurnReport(turn.index, report)
    judged = tuple(claims)
    score = response_score(judged)
    strict = report.provenance.configuration.get("on_unchecked") == "fail"
    verdict, reason = decide(score, judged, report.threshold, report.left_out if strict else ())
    if report.reason is not None and report.reason not in ASSERTS_NOTHING and not report.claims:
        reason = report.reason  # the text could not be checked
        verdict = verdict if verdict is Verdict.HALLUCINATED else report.verdict
    return TurnReport(
        turn.index,
        replace(
            report, verdict=verdict, reason=reason, score=score, claims=judged,
            graded=graded_score(judged),
        ),
    )  # fmt: skip


def _settled(turn: Turn, claim: ClaimReport) -> ClaimReport:
    """Return a claim with the findings of the rules: actions, identifiers, words of the user."""
    in_user_turn = claim.proof is not None and claim.proof.document in turn.given
    texts = turn.texts
    said = "\n".join(texts[number] for number in turn.given)
    action = rules.find_action(claim.text, turn.calls, said)
    known = [*texts, *(call.text for call in turn.calls)]
    invented = rules.unknown_identifiers(claim.text, known)
    supported = claim.status is Status.SUPPORTED
    if invented:
        reason = f"{', '.join(invented)} occurs in nothing before"
        error = ErrorReport(ErrorKind.INVENTED, invented[0], "")
        return _failing(claim, Status.UNSUPPORTED, reason, error)
    if action is not None and action.shown is False:
        return _failing(claim, Status.CONTRADICTED, action.reason)
    if action is not None and action.shown is None and (not supported or in_user_turn):
        return _failing(claim, Status.UNSUPPORTED, action.reason)
    if action is not None and action.shown and claim.status is not Status.CONTRADICTED:
        proof = claim.proof
        if not supported or in_user_turn:
            document = action.document or 0
            text = texts[document]
            proof = Evidence(text, document, Span(0, len(text)))
        return replace(
            claim, status=Status.SUPPORTED, support=max(claim.support or 0.0, 1.0),
            reason=action.reason, proof=proof, error=None,
        )  # fmt: skip
    if claim.status is Status.UNCHECKABLE and claim.support is None and claim.proof is None:
        if not any(text.strip() for at, text in enumerate(texts) if at not in turn.given):
            return _failing(claim, Status.UNSUPPORTED, _NO_SOURCE)
    return replace(claim, reason=_GIVEN) if supported and in_user_turn else claim


def _failing(
    claim: ClaimReport, status: Status, reason: str, error: ErrorReport | None = None
) -> ClaimReport:
    return replace(claim, status=status, support=0.0, reason=reason, error=error or claim.error)


def _value_claim(turn: Turn, value: _Value) -> ClaimReport:
    """Return a value of a tool call as a claim, settled by its occurrence before the call."""
    claim = ClaimReport(value.text, value.span, None, Status.SUPPORTED, None, 1.0)
    if value.place is None:
        reason = f"invented: this {value.kind} occurs in nothing before the call"
        words = value.span.cut(turn.pair.response)
        return _failing(
            claim, Status.UNSUPPORTED, reason, ErrorReport(ErrorKind.INVENTED, words, "")
        )
    document, span = value.place
    return replace(claim, proof=Evidence(span.cut(turn.texts[document]), document, span))
