"""What of a chat answer is checked, what is passed on unchecked, and what is removed.

A field of a message is one of three kinds:

text        read by a person or by a tool: part of the text that is judged
identifier  names and numbers of the protocol: passed on
other       reasoning, sound, images, log probabilities, fields that are not known here: the check
            cannot read them. Where answers may be blocked they are removed

Everything here works on a whole answer and on the chunks of a stream alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect_serve.error_responses import service_error

_ANSWER_FIELDS = ("id", "object", "created", "model", "usage", "system_fingerprint", "service_tier")
_TEXT_PARTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
# The function or custom tool of a tool call: its field, and the field with its arguments.
_TOOL_ARGUMENTS = {"function": "arguments", "custom": "input"}


@dataclass(slots=True)
class ChoiceText:
    """What is known of one choice.

    content     its text, in the pieces in which it came
    refusal     the text of its refusal
    transcript  what its sound says
    arguments   of its tool calls, by tool call
    unchecked   names of fields that the check cannot read
    """

    content: list[str] = field(default_factory=list)
    refusal: str = ""
    transcript: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    unchecked: set[str] = field(default_factory=set)

    @property
    def checked(self) -> dict[str, str]:
        """The texts to judge, by the field that they come from; empty ones are left out."""
        prose = [text for value in self.arguments.values() for text in _prose(value)]
        texts = {
            "content": "".join(self.content),
            "refusal": self.refusal,
            "audio.transcript": self.transcript,
            "tool_calls": "\n\n".join(prose),
        }
        return {name: text for name, text in texts.items() if text.strip()}

    @property
    def text(self) -> str:
        """The text that is judged."""
        checked = self.checked
        return "\n\n".join(checked.values()) if checked else "".join(self.content)


def choice_index(choice: Mapping[str, Any], default: int = 0) -> int:
    """Return the index that a choice states, or the default where it states none.

    Raises:
        ServiceError: `upstream_error` if the index is not a whole number; true is none either.
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
    """Return the fields of an answer or of a chunk that may be shown, without its choices."""
    return {name: answer[name] for name in _ANSWER_FIELDS if name in answer}


def read_choice(
    choice: Mapping[str, Any], body: str, known: ChoiceText | None = None
) -> tuple[dict[str, Any], ChoiceText]:
    """Return what of a choice may be shown once it is checked, and its text.

    Args:
        choice: of a whole answer or of a chunk.
        body: "message" in a whole answer, "delta" in a chunk.
        known: the text of the choice so far, to which this is added.
    """
    text = known or ChoiceText()
    allowed = _identifiers(choice, ("index", "finish_reason"), text.unchecked)
    text.unchecked.update(
        name for name, value in choice.items() if name not in (*allowed, body) and value is not None
    )
    message = choice.get(body)
    if isinstance(message, dict):
        allowed[body] = _read_message(message, text)
    elif message is not None:
        text.unchecked.add(body)
    return allowed, text


def _read_message(message: Mapping[str, Any], text: ChoiceText) -> dict[str, Any]:
    allowed = _identifiers(message, ("role",), text.unchecked)
    for name, value in message.items():
        if name == "role":
            continue
        if name == "content":
            allowed[name] = _read_content(value, text)
        elif name == "refusal" and isinstance(value, str):
            text.refusal += value
            allowed[name] = value
        elif name == "audio" and isinstance(value, dict):
            allowed[name] = _read_audio(value, text)
        elif name == "tool_calls" and isinstance(value, list):
            calls = [call for call in value if isinstance(call, dict)]
            allowed[name] = [_read_tool_call(call, at, text) for at, call in enumerate(calls)]
        elif name == "function_call" and isinstance(value, dict):
            allowed[name] = _read_function(value, "arguments", name, text)
        elif value is not None:
            text.unchecked.add(name)
        elif name == "refusal":
            allowed[name] = None
    return allowed


def _read_content(content: object, text: ChoiceText) -> str | list[dict[str, Any]] | None:
    if isinstance(content, str):
        text.content.append(content)
        return content
    if not isinstance(content, list):
        if content is not None:
            text.unchecked.add("content")
        return None
    allowed: list[dict[str, Any]] = []
    for part in content:
        kind = str(part.get("type", "text")) if isinstance(part, dict) else "part"
        key = _TEXT_PARTS.get(kind, "")
        value = part.get(key) if isinstance(part, dict) else None
        if not isinstance(value, str):
            text.unchecked.add(f"content.{kind}")
            continue
        if text.content:
            text.content.append("\n")
        text.content.append(value)
        text.unchecked.update(
            f"content.{kind}.{name}" for name in part if name not in ("type", key)
        )
        allowed.append({"type": kind, key: value})
    return allowed


def _read_audio(audio: Mapping[str, Any], text: ChoiceText) -> dict[str, Any]:
    """The transcript is text; nothing shows that the sound says the same, so it is not passed."""
    allowed = _identifiers(audio, ("id", "expires_at"), text.unchecked)
    transcript = audio.get("transcript")
    if isinstance(transcript, str):
        text.transcript += transcript
        allowed["transcript"] = transcript
    text.unchecked.update(f"audio.{name}" for name in audio if name not in allowed)
    return allowed


def _read_tool_call(call: Mapping[str, Any], at: int, text: ChoiceText) -> dict[str, Any]:
    allowed = _identifiers(call, ("index", "id", "type"), text.unchecked)
    for name, value in call.items():
        if name in _TOOL_ARGUMENTS and isinstance(value, dict):
            key = f"{call.get('index', at)}.{name}"
            allowed[name] = _read_function(value, _TOOL_ARGUMENTS[name], key, text)
        elif name not in allowed and value is not None:
            text.unchecked.add(f"tool_calls.{name}")
    return allowed


def _read_function(
    function: Mapping[str, Any], field_name: str, key: str, text: ChoiceText
) -> dict[str, Any]:
    allowed = _identifiers(function, ("name",), text.unchecked)
    arguments = function.get(field_name)
    if isinstance(arguments, str):
        text.arguments[key] = text.arguments.get(key, "") + arguments
        allowed[field_name] = arguments
    text.unchecked.update(f"tool_calls.{name}" for name in function if name not in allowed)
    return allowed


def _identifiers(
    values: Mapping[str, Any], names: Sequence[str], unchecked: set[str]
) -> dict[str, Any]:
    """Return those of the named fields that are numbers or names; text in them is not passed."""
    allowed = {}
    for name in names:
        if name not in values:
            continue
        value = values[name]
        is_name = isinstance(value, str) and not any(map(str.isspace, value))
        if value is None or is_name or isinstance(value, (bool, int, float)):
            allowed[name] = value
        else:
            unchecked.add(name)
    return allowed


def _prose(arguments: str) -> Iterator[str]:
    """Yield the texts in the arguments of a tool call: strings of more than one word.

    Arguments that are not JSON are text as a whole.
    """
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    remaining = [value]
    while remaining:
        item = remaining.pop(0)
        if isinstance(item, dict):
            remaining[:0] = [part for pair in item.items() for part in pair]
        elif isinstance(item, list):
            remaining[:0] = item
        elif isinstance(item, str) and len(item.split()) > 1:
            yield item.strip()
