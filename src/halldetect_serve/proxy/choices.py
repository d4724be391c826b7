"""The fields of a chat answer: checked, passed on unchecked, or removed.

A field of a message is one of three kinds:

text        read by a person or by a tool: part of the text that is judged
identifier  names and numbers of the protocol: passed on
other       reasoning, sound, images, log probabilities, unknown fields: the check cannot read
            them. Where answers may be blocked they are removed

Everything here works on a whole answer and on the chunks of a stream alike. `GuardedChoice` is one
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

_ANSWER_FIELDS = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_TEXT_PARTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
# The function or custom tool of a tool call: its field, and the field with its arguments.
_TOOL_ARGUMENTS = {"function": "arguments", "custom": "input"}
_NAME = re.compile(r"[\w.:/+=-]{1,200}")


@dataclass(slots=True)
class ChoiceText:
    """The texts of one choice.

    content     its text, in the pieces in which it came
    refusal     the text of its refusal
    transcript  the transcript of its sound
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
    """Return the index of a choice, or the default where it has none.

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
    allowed = _identifiers(answer, _ANSWER_FIELDS, set())
    usage = answer.get("usage")
    if isinstance(usage, dict):
        numbers = ("prompt_tokens", "completion_tokens", "total_tokens")
        allowed["usage"] = {name: usage[name] for name in numbers if type(usage.get(name)) is int}
    return allowed


def read_choice(
    choice: Mapping[str, Any], body: str, known: ChoiceText | None = None
) -> tuple[dict[str, Any], ChoiceText]:
    """Return the part of a choice that may be shown once it is checked, and its text.

    Args:
        choice: of a whole answer or of a chunk.
        body: "message" in a whole answer, "delta" in a chunk.
        known: the text of the choice so far, to which this is added.
    """
    text = known or ChoiceText()
    allowed = _identifiers(choice, ("index",), text.unchecked)
    if choice.get("finish_reason") in (None, *_FINISH_REASONS) and "finish_reason" in choice:
        allowed["finish_reason"] = choice["finish_reason"]
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
    """Pass the transcript only: nothing shows that the sound says the same."""
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
        is_name = isinstance(value, str) and (value == "" or _NAME.fullmatch(value) is not None)
        if value is None or is_name or isinstance(value, (bool, int, float)):
            allowed[name] = value
        else:
            unchecked.add(name)
    return allowed


def _prose(arguments: str) -> Iterator[str]:
    """Yield the texts in the arguments of a tool call: strings of more than one word.

    Arguments that are not JSON, or in which a key comes twice, are text as a whole.
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

    Only its text is judged so. A choice with anything else to check, such as a tool call, is
    collected from there on, and shown or not when it is complete.

    written        the judged text, as the upstream wrote it
    shown          the text that was passed on
    pending        the text since then, not judged yet
    changes        sentences that were not passed on as they were
    stopped        whether nothing more of it is passed on
    finish_reason  of the upstream
    rest           parts that are not plain text, and all that came after them
    rest_text      the text of the rest
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
        """Add the part of the choice that a chunk brings."""
        allowed, text = read_choice(choice, "delta")
        self.unchecked |= text.unchecked
        self.finish_reason = allowed.pop("finish_reason", None) or self.finish_reason
        if self.rest or set(text.checked) - {"content"} or text.arguments:
            read_choice(choice, "delta", self.rest_text)
            self.rest.append(allowed)
        elif not self.stopped:
            self.pending += "".join(text.content)

    def next_sentence(self, *, ended: bool) -> str | None:
        """Return the next sentence to judge, with the white space before it; None if none is.

        Args:
            ended: whether the upstream has ended, so that the rest is complete.
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
            sentence: as it was written.
            shown: the text that is passed on; None if there is none.
            why: why it is not passed on as it was.
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
        """The text of the choice as far as it was written and judged, for the annotation."""
        rest = self.rest_text
        content = [self.written, *rest.content]
        return ChoiceText(content, rest.refusal, rest.transcript, rest.arguments, self.unchecked)
