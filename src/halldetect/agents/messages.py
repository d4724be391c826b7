"""Messages of a conversation in one form: those of OpenAI, of Anthropic, or role and content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.errors import InputError

_ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user"}
_ROLES |= {"assistant": "assistant", "ai": "assistant", "model": "assistant"}
_ROLES |= {"tool": "tool", "function": "tool"}
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
_PRIVATE_PARTS = ("thinking", "redacted_thinking", "reasoning")  # said to nobody


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `values` has the name and the value of every argument, also of nested ones."""

    id: str
    tool: str
    values: tuple[tuple[str, Any], ...] = ()


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (Mapping, list)):
        yield key, "" if value is None else value
        return
    items = value.items() if isinstance(value, Mapping) else [(key, item) for item in value]
    for name, item in items:
        yield from _leaves(str(name), item)


@dataclass(slots=True)
class Message:
    """A message; a result is the id of its call, its text, and True if it is an error."""

    index: int
    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[tuple[str, str, bool]] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read_messages(messages: object) -> Iterator[Message]:
    """Yield the messages in one form; InputError names the index and the field."""
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise InputError(f"messages must be a list of messages, not {type(messages).__name__}")
    for index, raw in enumerate(messages):
        place = f"messages[{index}]"
        _require(raw, Mapping, place, "an object")
        given = raw.get("role")
        role = _ROLES.get(str(given).lower())
        if role is None:
            raise InputError(f"{place}.role must be one of {', '.join(_ROLES)}, not {given!r}")
        message = Message(index, role)
        for where, part in _parts(raw, role, place):
            _add_part(message, part, where)
        yield message


def _require(value: object, kind: type, place: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{place} must be {wanted}, not {type(value).__name__}")


def _parts(raw: Mapping[str, Any], role: str, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the content, results and tool calls as parts of Anthropic, each with its place."""
    content: Any = raw.get("content")
    if role == "tool":
        failed = raw.get("status") == "error"
        id = raw.get("tool_call_id") or raw.get("name") or raw.get("tool_name")
        yield place, {**raw, "type": "tool_result", "tool_use_id": id, "is_error": failed}
    elif content is not None or role != "assistant":
        parts = [content] if isinstance(content, str) else content
        _require(parts, list, f"{place}.content", "text or a list of parts")
        yield from ((f"{place}.content[{at}]", part) for at, part in enumerate(parts))
    calls = raw.get("tool_calls") or list(filter(None, [raw.get("function_call")]))
    _require(calls, list, f"{place}.tool_calls", "a list")
    for at, call in enumerate(calls):
        where = f"{place}.tool_calls[{at}]"
        used = call.get("function", call.get("custom", call)) if isinstance(call, Mapping) else call
        _require(used, Mapping, where, "an object")
        arguments = used.get("arguments", used.get("args", used.get("input")))
        yield where, {**used, "type": "tool_use", "id": call.get("id"), "input": arguments}


def _add_part(message: Message, part: Any, place: str) -> None:
    """Add one part of the content, or list it as unread."""
    part = {"text": part} if isinstance(part, str) else part
    _require(part, Mapping, place, "an object")
    kind = part.get("type", "text" if "text" in part else None)
    name = part.get("name")
    if kind in _TEXT_PARTS:
        text = part.get("text", part.get("refusal"))
        _require(text, str, f"{place}.text", "text")
        message.texts.append(text)
    elif kind == "tool_use":
        _require(name, str, f"{place}.name", "the name of a tool")
        values = _leaves("arguments", _arguments(part.get("input")))
        message.calls.append(Call(str(part.get("id") or name), name, tuple(values)))
    elif kind == "tool_result":
        text, failed = _result(message, part.get("content"), place), part.get("is_error") is True
        message.results.append((str(part.get("tool_use_id") or "tool"), text, failed))
    elif kind in ("document", "search_result") and (text := _document(part)):
        message.documents.append(text)
    elif kind not in _PRIVATE_PARTS:
        message.unread.append(f"{place}: {kind or ', '.join(map(str, part))}")


def _document(part: Mapping[str, Any]) -> str:
    """Return the text of a document or search result; empty if it has another form."""
    source = part.get("source")
    held = source if isinstance(source, Mapping) else part
    content = held.get("data") if held.get("type") == "text" else held.get("content")
    if isinstance(content, list):
        parts = (item for item in content if isinstance(item, Mapping))
        content = "\n".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else ""


def _arguments(given: Any) -> Any:
    try:
        return json.loads(given or "{}") if isinstance(given, str) else given or {}
    except (ValueError, RecursionError):  # the model wrote it, not the caller
        return given


def _result(message: Message, content: Any, place: str) -> str:
    """Return the result of a tool as text: a text, parts with texts, or a JSON value."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(x, Mapping) and "type" in x for x in content):
        parts = Message(message.index, "tool", unread=message.unread)
        for at, part in enumerate(content):
            _add_part(parts, part, f"{place}.content[{at}]")
        return "\n".join(parts.texts)
    try:
        return json.dumps(content, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError(f"{place}.content must be text or a JSON value") from None
