"""Finds the source in the prompt of a RAG application; pure functions of the messages.

Messages with the role `tool` or `function`, or with the name `source`, are sources. Without them,
the context in a system or user message is used: the text inside tags such as <context> or
<document>, or the lines from a heading such as "Context:" up to the question. `SourcePlaces` names
other places. Every function takes time linear in the length of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halldetect.errors import ConfigurationError, InputError

SOURCE_ROLES = ("tool", "function")
SOURCE_NAME = "source"
_PROMPT_ROLES = ("system", "developer", "user")

_TAG = re.compile(
    r"<(/?)(document|doc|source|passage|chunk|context|documents|sources|passages|search_results)"
    r"(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
# These match at the start of one line: "Context:", "Context information is below."
_HEADING = re.compile(
    r"[#*\s]*(?:(?:retrieved|relevant|given|provided|the)\s+)*"
    r"(?:context|sources?|documents?|passages?|excerpts?|search results)"
    r"(?:\s+information)?(?:\s+is)?(?:\s+below)?[\s*]*[:.][\s*]*",
    re.IGNORECASE,
)
# Common beginnings of the line after the context.
_END = re.compile(
    r"[#*\s]*(?:(?:user|the)\s+)?(?:question|query|answer|helpful answer|instructions?|task|"
    r"given the context)\b",
    re.IGNORECASE,
)
# The number of open tags searched for the match of a closing tag.
_MAX_DEPTH = 50
_RULE = re.compile(r"[-=_*]{3,}")


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """The places of the sources in an application's requests; by default the common ones.

    Attributes:
        markers: pairs of words; the text between them in a prompt is a source.
        path: names of fields, joined by dots, that lead to the sources in the request, such as
            "metadata.documents.text". A list on the way stands for all its items.
    """

    markers: tuple[tuple[str, str], ...] = ()
    path: str | None = None

    def __post_init__(self) -> None:
        if self.path is not None and not all(self.path.split(".")):
            raise ConfigurationError(
                f"--source-path {self.path!r}: join names of fields by dots, as in "
                "metadata.documents.text"
            )
        if not all(begin.strip() and end.strip() for begin, end in self.markers):
            raise ConfigurationError("--source-between: neither of the two words can be empty")

    def find(self, request: Mapping[str, Any]) -> list[str]:
        """Return the sources of a chat request, only from the named places if any."""
        messages = request.get("messages") or []
        if self.path is None and not self.markers:
            return request_sources(messages)
        found = [] if self.path is None else _texts_at(request, self.path.split("."))
        for begin, end in self.markers:
            for prompt in _prompts(messages):
                found += _between(prompt, begin, end)
        return [text.strip() for text in found if text.strip()]


def _texts_at(value: object, names: Sequence[str]) -> list[str]:
    """Return the texts at the end of a path, in their order."""
    if isinstance(value, list):
        return [text for item in value for text in _texts_at(item, names)]
    if not names:
        return [value] if isinstance(value, str) else []
    return _texts_at(value.get(names[0]), names[1:]) if isinstance(value, Mapping) else []


def _between(text: str, begin: str, end: str) -> Iterator[str]:
    start = text.find(begin)
    while start >= 0:
        start += len(begin)
        stop = text.find(end, start)
        if stop < 0:
            return
        yield text[start:stop]
        start = text.find(begin, stop + len(end))


def message_text(content: object) -> str:
    """Return the text of a message, which may consist of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def request_sources(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts that the answer to a chat request must be faithful to."""
    from halldetect.agents.conversation import tool_results

    named = [item for item in messages if item.get("name") == SOURCE_NAME]
    others = [item for item in messages if item not in named]
    marked = [message_text(item.get("content")) for item in named]
    try:
        marked += tool_results(others)
    except InputError:  # a form that only the upstream knows
        tools = [item for item in others if item.get("role") in SOURCE_ROLES]
        marked += [message_text(item.get("content")) for item in tools]
    return marked or [text for prompt in _prompts(messages) for text in prompt_sources(prompt)]


def _prompts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        message_text(item.get("content")) for item in messages if item.get("role") in _PROMPT_ROLES
    ]


def prompt_sources(prompt: str) -> list[str]:
    """Return the context in a prompt, one text per document; empty without a context."""
    return _tagged(prompt) or _under_heading(prompt)


def _tagged(prompt: str) -> list[str]:
    """Return the texts of the innermost tags."""
    found: list[str] = []
    open_tags: list[tuple[str, int, int]] = []  # name, end of the tag, texts found before it
    for tag in _TAG.finditer(prompt):
        name = tag[2].lower()
        if not tag[1]:
            open_tags.append((name, tag.end(), len(found)))
        elif any(name == other for other, _, _ in open_tags[-_MAX_DEPTH:]):
            while (opened := open_tags.pop())[0] != name:
                pass  # a tag inside that was never closed
            text = prompt[opened[1] : tag.start()].strip()
            if text and len(found) == opened[2]:
                found.append(text)
    return found


def _under_heading(prompt: str) -> list[str]:
    """Return the lines between a heading such as "Context:" and the question."""
    lines = iter(prompt.splitlines())
    heading = next(filter(None, map(_HEADING.match, lines)), None)
    if heading is None:
        return []
    body = [heading.string[heading.end() :]]
    for line in lines:
        if _END.match(line):
            break
        body.append("" if _RULE.fullmatch(line.strip()) else line)
    text = "\n".join(body).strip()
    return [text] if text else []
