"""The fields of a chat answer: checked, passed on unchecked, or removed.

A field of a message is one of three kinds:

- text: read by a person or a tool, so it is judged.
- identifier: names and numbers of the protocol, passed on.
- other: reasoning, sound, images, log probabilities, unknown fields. The check cannot read them;
  if answers may be blocked, they are removed.

The functions work on a whole answer and on the chunks of a stream. `GuardedChoice` is one
choice of a stream that is judged sentence by sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.reading.sentences import sentences
from halldetect.stream.unfinished_text import complete_sentences
from halldetect_serve.error_responses import service_error

_NAME, _TEXT, _ARGUMENTS, _CONTENT = "name", "text", "arguments", "content"
_FUNCTION = {"name": _NAME, "arguments": _ARGUMENTS}
_TOOL_CALL = {
    "index": _NAME,
    "id": _NAME,
    "type": _NAME,
    "function": _FUNCTION,
    "custom": {"name": _NAME, "input": _ARGUMENTS},
}
# The kind of each known field. Audio is "other": it may differ from its transcript.
_MESSAGE = {
    "role": _NAME,
    "content": _CONTENT,
    "refusal": _TEXT,
    "audio": {"id": _NAME, "expires_at": _NAME, "transcript": _TEXT},
    "tool_calls": [_TOOL_CALL],
    "function_call": _FUNCTION,
}
_ANSWER = dict.fromkeys(
    ("id", "object", "created", "model", "system_fingerprint", "service_tier"), _NAME
)
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_TEXT_PARTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
_IDENTIFIER = re.compile(r"[\w.:/+=-]{0,200}")
_REMOVED = object()


@dataclass(slots=True)
class ChoiceText:
    """The texts of one choice.

    Attributes:
        texts: the texts by field.
        arguments: the arguments by tool call.
        unchecked: names of fields that the check cannot read.
    """

    texts: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    unchecked: set[str] = field(default_factory=set)

    @property
    def checked(self) -> dict[str, str]:
        """The texts to judge, by field; empty ones are left out."""
        prose = [text for value in self.arguments.values() for text in _prose(value)]
        texts = {name: self.texts.get(name, "") for name in ("content", "refusal")}
        texts["audio.transcript"] = self.texts.get("audio.transcript", "")
        texts["tool_calls"] = "\n\n".join(prose)
        return {name: text for name, text in texts.items() if text.strip()}

    @property
    def text(self) -> str:
        """The text that is judged."""
        checked = self.checked
        return "\n\n".join(checked.values()) if checked else self.texts.get("content", "")


def choice_index(choice: Mapping[str, Any], default: int = 0) -> int:
    """Return the index of a choice, or the default if it has no index.

    Raises:
        ServiceError: `upstream_error` if the index is not an integer (or is a boolean).
    """
    index = choice.get("index")
    if index is None:
        return default
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise service_error("upstream_error", "the upstream sent a choice without a proper index")
    return index


def answer_choices(answer: Mapping[str, Any]) -> dict[int, ChoiceText]:
    """Return the choices of a whole answer, by index.

    Raises:
        ServiceError: `upstream_error` if two choices have the same index.
    """
    choices: dict[int, ChoiceText] = {}
    for at, choice in enumerate(answer["choices"]):
        index = choice_index(choice, at)
        if index in choices:
            raise service_error("upstream_error", "the upstream sent two choices with one index")
        _, choices[index] = read_choice(choice, "message")
    return choices


def streamed_choices(chunks: Sequence[Mapping[str, Any]]) -> dict[int, ChoiceText]:
    """Return the choices of a streamed answer, by index; the pieces of each are joined."""
    choices: dict[int, ChoiceText] = {}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            known = choices.setdefault(choice_index(choice), ChoiceText())
            read_choice(choice, "delta", known)
    return choices


def allowed_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer or chunk that may be shown, without its choices."""
    allowed: dict[str, Any] = _read(answer, _ANSWER, (), ChoiceText())
    usage = answer.get("usage")
    if isinstance(usage, dict):
        allowed["usage"] = {name: usage[name] for name in _USAGE if type(usage.get(name)) is int}
    return allowed


def read_choice(
    choice: Mapping[str, Any], body: str, known: ChoiceText | None = None
) -> tuple[dict[str, Any], ChoiceText]:
    """Return the part of a choice that may be shown after the check, and its text.

    Args:
        choice: a choice of a whole answer or of a chunk.
        body: "message" in a whole answer, "delta" in a chunk.
        known: the text of the choice so far; this one is added to it.
    """
    text = known or ChoiceText()
    rest = {name: value for name, value in choice.items() if name not in ("finish_reason", body)}
    allowed: dict[str, Any] = _read(rest, {"index": _NAME}, (), text)
    reason = choice.get("finish_reason")
    if reason is None or reason in _FINISH_REASONS:
        allowed["finish_reason"] = reason
    else:
        text.unchecked.add("finish_reason")
    if choice.get(body) is not None:
        message = _read(choice[body], _MESSAGE, (), text)
        if message is not _REMOVED:
            allowed[body] = message
    return allowed, text


def _read(value: Any, kind: Any, path: tuple[str, ...], text: ChoiceText, key: str = "") -> Any:
    """Return the part of a value that may be shown, or _REMOVED; its texts go to `text`.

    Args:
        value: the value of a field.
        kind: the kind of the field; None if unknown.
        path: the names that lead to the field.
        text: the texts of the choice.
        key: the key of the tool call that the field belongs to.
    """
    if value is None:
        return _REMOVED if kind is None else None
    if isinstance(kind, dict) and isinstance(value, dict):
        found = {
            name: _read(item, kind.get(name), (*path, name), text, key)
            for name, item in value.items()
        }
        return {name: item for name, item in found.items() if item is not _REMOVED}
    if isinstance(kind, list) and isinstance(value, list):
        calls = [item for item in value if isinstance(item, dict)]
        return [
            _read(call, kind[0], path, text, str(call.get("index", at)))
            for at, call in enumerate(calls)
        ]
    if kind == _CONTENT and isinstance(value, list):
        parts = [_read_part(part, text) for part in value]
        return [part for part in parts if part is not _REMOVED]
    if kind in (_CONTENT, _TEXT) and isinstance(value, str):
        name = ".".join(path)
        text.texts[name] = text.texts.get(name, "") + value
        return value
    if kind == _ARGUMENTS and isinstance(value, str):
        name = f"{key}.{'.'.join(path)}"
        text.arguments[name] = text.arguments.get(name, "") + value
        return value
    is_name = isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None
    if kind == _NAME and (is_name or isinstance(value, (bool, int, float))):
        return value
    text.unchecked.add(".".join(path))
    return _REMOVED


def _read_part(part: object, text: ChoiceText) -> Any:
    """Return a part of a message's content if it is text."""
    kind = str(part.get("type", "text")) if isinstance(part, dict) else "part"
    key = _TEXT_PARTS.get(kind)
    if not isinstance(part, dict) or key is None or not isinstance(part.get(key), str):
        text.unchecked.add(f"content.{kind}")
        return _REMOVED
    if text.texts.get("content"):
        text.texts["content"] += "\n"
    text.texts["content"] = text.texts.get("content", "") + part[key]
    text.unchecked.update(f"content.{kind}.{name}" for name in part if name not in ("type", key))
    return {"type": kind, key: part[key]}


def _prose(arguments: str) -> Iterator[str]:
    """Yield the texts in the arguments of a tool call: strings of more than one word.

    Arguments that are not JSON, or that repeat a key, are text as a whole.
    """
    try:
        remaining = [json.loads(arguments, object_pairs_hook=_unique)]
    except (ValueError, RecursionError):
        remaining = [arguments]
    while remaining:
        item = remaining.pop(0)
        if isinstance(item, dict):
            remaining[:0] = [part for pair in item.items() for part in pair]
        elif isinstance(item, list):
            remaining[:0] = item
        elif isinstance(item, str) and len(item.split()) > 1:
            yield item.strip()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


@dataclass(slots=True)
class GuardedChoice:
    """One choice of a streamed answer that is judged sentence by sentence.

    Only plain text is judged this way. From the first other part on, such as a tool call, the
    choice is collected and judged when it is complete.

    Attributes:
        written: the judged text of the upstream.
        shown: the text that was passed on.
        pending: the text that is not judged yet.
        changes: the sentences that were replaced or held back.
        stopped: True if nothing more is passed on.
        finish_reason: the upstream's finish reason.
        rest: the first part that is not plain text, and everything after it.
        rest_text: the text of the rest.
    """

    written: str = ""
    shown: str = ""
    pending: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False
    finish_reason: str | None = None
    rest: list[dict[str, Any]] = field(default_factory=list)
    rest_text: ChoiceText = field(default_factory=ChoiceText)
    unchecked: set[str] = field(default_factory=set)

    def take(self, choice: Mapping[str, Any]) -> None:
        """Add the part of the choice in a chunk."""
        allowed, text = read_choice(choice, "delta")
        self.unchecked |= text.unchecked
        self.finish_reason = allowed.pop("finish_reason", None) or self.finish_reason
        if self.rest or set(text.checked) - {"content"} or text.arguments:
            read_choice(choice, "delta", self.rest_text)
            self.rest.append(allowed)
        elif not self.stopped:
            self.pending += text.texts.get("content", "")

    def next_sentence(self, *, ended: bool) -> str | None:
        """Return the next complete sentence with the white space before it, or None.

        Args:
            ended: True if the upstream has ended, so that the rest is complete.
        """
        if self.stopped or not self.pending:
            return None
        ends = complete_sentences(self.pending)
        if not ends and ended:
            spans = sentences(self.pending)
            ends = [spans[0].end] if len(spans) > 1 else [len(self.pending)]
        if not ends:
            return None
        sentence, self.pending = self.pending[: ends[0]], self.pending[ends[0] :]
        return sentence

    def settle(self, sentence: str, shown: str | None, why: str | None = None) -> None:
        """Record the outcome of a sentence.

        Args:
            sentence: the original sentence.
            shown: the text that is passed on, or None.
            why: the reason for a change.
        """
        self.written += sentence
        self.shown += shown or ""
        if shown != sentence:
            after = None if shown is None else shown.strip()
            action = "removed" if shown is None else "changed"
            change = {"action": action, "before": sentence.strip(), "after": after, "why": why}
            self.changes.append(change)

    @property
    def text(self) -> ChoiceText:
        """The judged text of the choice, for the annotation."""
        rest = self.rest_text
        content = self.written + rest.texts.get("content", "")
        return ChoiceText({**rest.texts, "content": content}, rest.arguments, self.unchecked)
