"""The fields of an answer that the proxy can judge; an answer is rebuilt from them alone.

`Choice` collects the known fields of a choice, from a whole answer or from the chunks of a stream.
With block and repair nothing else of the upstream is shown. Sound, images, reasoning, log
probabilities and unknown fields are left out; `Choice.unchecked` names their kinds.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.agents import rules
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.rag_prompt import message_text
from halldetect_serve.schemas import unique_keys

_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
_MAX_TOKENS = 10**9
_TEXT_PARTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
# An upstream could put a statement into the name of a field: other names are listed as "other".
_FIELD_NAMES = (
    *("role", "content", "refusal", "tool_calls", "function_call", "finish_reason"),
    *("audio", "reasoning", "reasoning_content", "annotations", "images", "logprobs"),
)
_WORD = re.compile(r"[^\s\"'(),;!?<>{}\[\]]+")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names of tools and the words of a request, which need no check."""

    tools: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, request: Mapping[str, Any], sources: Sequence[str]) -> Vocabulary:
        """Return the vocabulary of a chat request."""
        declared = [request.get("tools"), request.get("functions")]
        named = (item.get("name") for item in _parts(declared) if isinstance(item, dict))
        tools = frozenset(name for name in named if isinstance(name, str))
        texts = [message_text(message.get("content")) for message in request["messages"]]
        found = {
            word
            for text in (*texts, *sources, json.dumps(declared))
            for word in _WORD.findall(text)
        }
        words = found | {word.strip(".:") for word in found}
        return cls(tools, frozenset(words))


def _parts(value: object) -> Iterator[object]:
    """Yield every value in a JSON value, containers included, in their order."""
    remaining = [value]
    while remaining:
        item = remaining.pop()
        yield item
        if isinstance(item, (dict, list)):
            remaining += reversed(list(item.values() if isinstance(item, dict) else item))


@dataclass(slots=True)
class ToolCall:
    """A call of a function."""

    name: str = ""
    arguments: str = ""

    def rebuilt(self) -> dict[str, Any]:
        """Return the call with an id of our own, and its arguments written once more."""
        value = self.value()
        arguments = self.arguments if value is None else json.dumps(value, ensure_ascii=False)
        function = {"name": self.name, "arguments": arguments}
        return {"id": f"call_{secrets.token_hex(12)}", "type": "function", "function": function}

    def texts(self, vocabulary: Vocabulary) -> Iterator[tuple[str, bool]]:
        """Yield the texts of the arguments to judge; True if the rules for tool calls read them.

        Words of the request are left out.
        """
        value = self.value()
        if value is None:
            yield self.arguments, False
        for item in _parts({"": value}):
            named: Iterable[tuple[str, object]] = ()
            if isinstance(item, dict):
                yield from ((name, False) for name in item if name and name not in vocabulary.words)
                named = item.items()
            elif isinstance(item, list):
                named = [("", inner) for inner in item if isinstance(inner, list)]
            for name, part in named:
                items = part if isinstance(part, list) else [part]
                ruled = {at for at, one in enumerate(items) if name and self._is_ruled(name, one)}
                yield from ((str(items[at]), True) for at in sorted(ruled))
                # Items together could form a sentence.
                rest = (_scalar(one) for at, one in enumerate(items) if at not in ruled)
                text = " ".join(rest).strip()
                if len(text.split()) > 1 or (text and text not in vocabulary.words):
                    yield (f"{name}: {text}" if name and " " not in text else text), False

    def _is_ruled(self, name: str, value: object) -> bool:
        """Return True if the rules for tool calls settle a value; of a path they read the end."""
        kind = rules.value_kind(self.name, name, value)
        return kind not in (None, "path") or rules.is_text(value)

    def value(self) -> Any:
        """Return the arguments if they are JSON without repeated keys, else None."""
        try:
            value = json.loads(self.arguments, object_pairs_hook=unique_keys)
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            return None
        return value


def _scalar(value: object) -> str:
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return str(value) if plain else ""


@dataclass(slots=True)
class Choice:
    """The known fields of one choice; `unchecked` has the kinds of those that were left out."""

    vocabulary: Vocabulary
    content: str = ""
    refusal: str = ""
    calls: dict[int, ToolCall] = field(default_factory=dict)
    finish_reason: str | None = None
    unchecked: set[str] = field(default_factory=set)

    def take(self, choice: Mapping[str, Any], body: str) -> None:
        """Add a choice of a whole answer (body "message") or of a chunk (body "delta")."""
        for name, value in choice.items():
            if name == "finish_reason" and value in _FINISH_REASONS:
                self.finish_reason = value
            elif name == body and isinstance(value, dict):
                for key, item in value.items():
                    self._take_field(key, item)
            elif name != "index":
                self._leave_out(name, value)

    def _take_field(self, name: str, value: Any) -> None:
        if name == "content" and isinstance(value, str):
            self.content += value
        elif name == "refusal" and isinstance(value, str):
            self.refusal += value
        elif name == "content" and isinstance(value, list):
            for part in value:
                key = _TEXT_PARTS.get(str(_get(part, "type") or "text"), "")
                text = _get(part, key)
                if not isinstance(text, str) or set(part) - {"type", key}:
                    self.unchecked.add(name)
                if isinstance(text, str):
                    self.content += f"\n{text}" if self.content else text
        elif name == "tool_calls" and isinstance(value, list):
            for at, call in enumerate(value):
                index = _get(call, "index")
                known = self.calls.setdefault(index if type(index) is int else at, ToolCall())
                for key in ("name", "arguments"):
                    text = _get(_get(call, "function"), key)
                    if isinstance(text, str):
                        setattr(known, key, getattr(known, key) + text)
        elif (name, value) != ("role", "assistant"):
            self._leave_out(name, value)

    def _leave_out(self, name: str, value: object) -> None:
        if value is not None:
            self.unchecked.add(name if name in _FIELD_NAMES else "other")

    @property
    def known_calls(self) -> list[ToolCall]:
        """The calls of declared tools."""
        return [call for call in self.calls.values() if call.name in self.vocabulary.tools]

    @property
    def unchecked_fields(self) -> list[str]:
        """The kinds of the fields that were left out, in alphabetical order."""
        undeclared = len(self.known_calls) < len(self.calls)
        return sorted(self.unchecked | ({"tool_calls"} if undeclared else set()))

    @property
    def checked(self) -> dict[str, str]:
        """The texts to judge, by field; empty ones are left out."""
        return self._texts(True)

    def _texts(self, ruled: bool) -> dict[str, str]:
        every = (pair for call in self.known_calls for pair in call.texts(self.vocabulary))
        texts = {"content": self.content, "refusal": self.refusal}
        texts["tool_calls"] = "\n\n".join(text for text, by_rule in every if ruled or not by_rule)
        return {name: text for name, text in texts.items() if text.strip()}

    def to_judge(self) -> tuple[str, list[dict[str, Any]]]:
        """Return the text to judge, and the calls with the values that rules settle."""
        calls = [{"name": call.name, "args": call.value() or {}} for call in self.known_calls]
        return "\n\n".join(self._texts(False).values()) or self.content, calls

    def message(self) -> dict[str, Any]:
        """Return the message, built from the fields that were judged."""
        built: dict[str, Any] = {"role": "assistant", "content": self.content or None}
        if self.refusal:
            built["refusal"] = self.refusal
        if calls := [call.rebuilt() for call in self.known_calls]:
            built["tool_calls"] = calls
        return built


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def choice_index(choice: Mapping[str, Any], default: int = 0) -> int:
    """Return the index of a choice, or the default if it has none; refuse other values."""
    index = choice.get("index")
    if index is None:
        return default
    if type(index) is not int or not 0 <= index < _MAX_TOKENS:
        raise service_error("upstream_error", "the upstream sent a choice without a proper index")
    return index


def answer_choices(answer: Mapping[str, Any], vocabulary: Vocabulary) -> dict[int, Choice]:
    """Return the choices of a whole answer, by index; refuse two with the same index."""
    choices: dict[int, Choice] = {}
    for at, choice in enumerate(answer["choices"]):
        index = choice_index(choice, at)
        if index in choices:
            raise service_error("upstream_error", "the upstream sent two choices with one index")
        choices[index] = Choice(vocabulary)
        choices[index].take(choice, "message")
    return choices


def token_counts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field `usage` with its three numbers; empty without it."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return {}
    numbers = {name: usage.get(name) for name in _USAGE}
    return {
        "usage": {
            name: number
            for name, number in numbers.items()
            if type(number) is int and 0 <= number < _MAX_TOKENS
        }
    }
