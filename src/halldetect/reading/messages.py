"""Messages of a conversation in one form: those of OpenAI, of Anthropic, or role and content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.errors import InputError

_ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user"}
_ROLES |= dict.fromkeys(("assistant", "ai", "model"), "assistant")
_ROLES |= dict.fromkeys(("tool", "function"), "tool")
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
_PRIVATE_PARTS = ("thinking", "redacted_thinking", "reasoning")  # said to nobody


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    id: str
    tool: str
    arguments: Mapping[str, Any]

    def values(self, within: object = None, key: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the name and the value of every argument, also of nested ones."""
        value = self.arguments if within is None else within
        if isinstance(value, Mapping):
            for name, item in value.items():
                yield from self.values(item if item is not None else "", str(name))
        elif isinstance(value, list):
            for item in value:
                yield from self.values(item if item is not None else "", key)
        else:
            yield key, value


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
        role = _ROLES.get(str(raw.get("role")).lower())
        if role is None:
            known = ", ".join(_ROLES)
            raise InputError(f"{place}.role must be one of {known}, not {raw.get('role')!r}")
        message, content = Message(index, role), raw.get("content")
        if role == "tool":
            id = raw.get("tool_call_id") or raw.get("name") or "tool"
            _add_result(message, str(id), content, raw.get("status") == "error", place)
        elif content is not None or role != "assistant":
            parts = [content] if isinstance(content, str) else content
            _require(parts, list, f"{place}.content", "text or a list of parts")
            for at, part in enumerate(parts):
                _add_part(message, part, f"{place}.content[{at}]")
        calls = raw.get("tool_calls") or []
        _require(calls, list, f"{place}.tool_calls", "a list")
        for at, call in enumerate(calls):
            where = f"{place}.tool_calls[{at}]"
            _require(call, Mapping, where, "an object")
            function = call.get("function", call)
            _require(function, Mapping, f"{where}.function", "an object")
            arguments = function.get("arguments", function.get("args"))
            _add_call(message, call.get("id"), function.get("name"), arguments, f"{where}.name")
        yield message


def _require(value: object, kind: type, place: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{place} must be {wanted}, not {type(value).__name__}")


def _add_part(message: Message, part: Any, place: str) -> None:
    """Add one part of the content, or list it as unread."""
    part = {"type": "text", "text": part} if isinstance(part, str) else part
    _require(part, Mapping, place, "an object")
    kind, source = part.get("type"), part.get("source")
    if kind in _TEXT_PARTS:
        text = part.get("text", part.get("refusal"))
        _require(text, str, f"{place}.text", "text")
        message.texts.append(text)
    elif kind == "tool_use":
        _add_call(message, part.get("id"), part.get("name"), part.get("input"), f"{place}.name")
    elif kind == "tool_result":
        failed = part.get("is_error") is True
        _add_result(message, str(part.get("tool_use_id")), part.get("content"), failed, place)
    elif kind == "document" and isinstance(source, Mapping) and source.get("type") == "text":
        message.documents.append(str(source.get("data")))
    elif kind not in _PRIVATE_PARTS:
        message.unread.append(f"{place}: {kind or 'content without a type'}")


def _add_call(message: Message, id: object, name: object, arguments: Any, place: str) -> None:
    _require(name, str, place, "the name of a tool")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):  # the model wrote it, not the caller
            arguments = {"arguments": arguments}
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"arguments": arguments}
    message.calls.append(Call(str(id or name), str(name), arguments))


def _add_result(message: Message, call: str, content: Any, failed: bool, place: str) -> None:
    """Add the result of a tool: a text, parts with texts, or a JSON value."""
    texts = [content] if isinstance(content, str) else []
    if isinstance(content, list) and all(isinstance(x, Mapping) and "type" in x for x in content):
        for at, part in enumerate(content):
            if part["type"] in _TEXT_PARTS and isinstance(part.get("text"), str):
                texts.append(part["text"])
            else:
                message.unread.append(f"{place}.content[{at}]: {part['type']}")
    elif content is not None and not texts:
        try:
            texts = [json.dumps(content, ensure_ascii=False)]
        except (TypeError, ValueError, RecursionError):
            raise InputError(f"{place}.content must be text or a JSON value") from None
    message.results.append((call, "\n".join(texts), failed))
