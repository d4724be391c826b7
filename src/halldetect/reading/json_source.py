"""Reading JSON, such as the output of a tool: what each object says, in words.

An object that holds only values is one sentence ("hosts: name db-2; status failed."); values beside
nested objects are sentences of their own. Their spans are those of the raw text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from halldetect.reading.document import Span

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
# Deeper or longer texts are read as they stand.
MAX_DEPTH = 50
MAX_LENGTH = 200_000


@dataclass(slots=True)
class _Container:
    """An object or array that is being read.

    start   where it begins
    name    the key it stands under
    array   whether it is an array
    key     the key of the value that comes next, and where the key stands
    values  the values so far, with their places
    nested  whether another container stands in it
    """

    start: int
    name: str
    array: bool
    key: tuple[str, int] | None = None
    values: list[tuple[Span, str]] = field(default_factory=list)
    nested: bool = False


def read_json(text: str) -> list[tuple[Span, str]] | None:
    """The sentences of a JSON text with their spans; None for any other text."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(text) > MAX_LENGTH:
        return None
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    found: list[tuple[Span, str]] = []
    stack: list[_Container] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "{[":
            if len(stack) > MAX_DEPTH:
                return None
            name = _name(stack)
            if stack:
                _flush(stack[-1], found)
                stack[-1].nested = True
            stack.append(_Container(match.start(), name, token == "["))
        elif token in "}]":
            closed = stack.pop()
            if not closed.nested and closed.values:
                closed.values = [(Span(closed.start, match.end()), _values(closed))]
            _flush(closed, found)
            if stack:
                stack[-1].key = None
        elif token not in ",:":
            _take(stack[-1], token, Span(*match.span()))
    return found or None


def _name(stack: list[_Container]) -> str:
    if not stack:
        return ""
    above = stack[-1]
    return above.key[0] if above.key is not None else above.name


def _take(container: _Container, token: str, span: Span) -> None:
    value = str(json.loads(token)) if token.startswith('"') else token
    if not container.array and container.key is None:
        container.key = (value, span.start)
        return
    if container.key is not None:
        span = Span(container.key[1], span.end)
        value = f"{_words(container.key[0])} {value}"
        container.key = None
    container.values.append((span, value))


def _values(container: _Container) -> str:
    return ("; " if not container.array else ", ").join(value for _, value in container.values)


def _flush(container: _Container, found: list[tuple[Span, str]]) -> None:
    """Add what a container has said so far as one sentence."""
    if not container.values:
        return
    lead = f"{_words(container.name)}: " if container.name else ""
    span = Span(container.values[0][0].start, container.values[-1][0].end)
    found.append((span, f"{lead}{_values(container)}."))
    container.values = []


def _words(key: str) -> str:
    return re.sub(r"[_-]+|(?<=[a-z])(?=[A-Z])", " ", key)
