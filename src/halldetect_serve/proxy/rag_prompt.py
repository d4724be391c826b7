"""Finds the source in the prompt of a RAG application; pure functions of the messages.

Messages with the role `tool` or `function`, or with the name `source`, are sources. Where there
are none, the context that usual prompts put into a system or user message is taken: the text
inside tags such as <context> or <document>, or what follows a line such as "Context:" up to the
question. A `SourcePlaces` says where else an application puts it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halldetect.errors import ConfigurationError

SOURCE_ROLES = ("tool", "function")
SOURCE_NAME = "source"
_PROMPT_ROLES = ("system", "developer", "user")

_TAGS = "document|doc|source|passage|chunk|context|documents|sources|passages|search_results"
_TAGGED = re.compile(rf"<({_TAGS})(?:\s[^<>]*)?>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
# "Context:", "Retrieved documents:", "Context information is below."
_HEADING = re.compile(
    r"^[#*\s]*(?:(?:retrieved|relevant|given|provided|the)\s+)*"
    r"(?:context|sources?|documents?|passages?|excerpts?|search results)"
    r"(?:\s+information)?(?:\s+is)?(?:\s+below)?[\s*]*[:.][\s*]*",
    re.MULTILINE | re.IGNORECASE,
)
# What usually follows the context in such a prompt.
_END = re.compile(
    r"^[#*\s]*(?:(?:user|the)\s+)?(?:question|query|answer|helpful answer|instructions?|task|"
    r"given the context)\b",
    re.MULTILINE | re.IGNORECASE,
)
_RULE = re.compile(r"^\s*[-=_*]{3,}\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourcePlaces:
    """Where the requests of an application have their sources; if empty, as described above.

    Attributes:
        markers: pairs of words; what stands between them in a prompt is a source.
        path: names of fields, joined by dots, that lead to the sources in the request, such as
            "metadata.documents.text". Lists on the way are gone through.
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
        """Return the sources of a request; where places are named, only from there.

        Args:
            request: the fields of a chat request.
        """
        messages = request.get("messages") or []
        if self.path is None and not self.markers:
            return request_sources(messages)
        found = [] if self.path is None else _texts_at(request, self.path.split("."))
        prompts = [item for item in messages if item.get("role") in _PROMPT_ROLES]
        for begin, end in self.markers:
            marked = re.compile(f"{re.escape(begin)}(.*?){re.escape(end)}", re.DOTALL)
            for item in prompts:
                found += marked.findall(message_text(item.get("content")))
        return [text.strip() for text in found if text.strip()]


def _texts_at(value: object, names: Sequence[str]) -> list[str]:
    """Return the texts at the end of a path, in their order."""
    if isinstance(value, list):
        return [text for item in value for text in _texts_at(item, names)]
    if not names:
        return [value] if isinstance(value, str) else []
    return _texts_at(value.get(names[0]), names[1:]) if isinstance(value, Mapping) else []


def message_text(content: object) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def request_sources(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts that the answer to a chat request should be faithful to.

    Args:
        messages: those of the request.
    """
    marked = [message_text(item.get("content")) for item in messages if is_source(item)]
    if marked:
        return marked
    prompts = (item for item in messages if item.get("role") in _PROMPT_ROLES)
    return [text for item in prompts for text in prompt_sources(message_text(item.get("content")))]


def is_source(message: Mapping[str, Any]) -> bool:
    """Return whether a whole message is a source."""
    return message.get("role") in SOURCE_ROLES or message.get("name") == SOURCE_NAME


def prompt_sources(prompt: str) -> list[str]:
    """Return the context inside a prompt, one text per document; empty if there is none.

    Args:
        prompt: the text of a message.
    """
    tagged = [text for match in _TAGGED.finditer(prompt) for text in _innermost(match[2])]
    if tagged:
        return tagged
    heading = _HEADING.search(prompt)
    if heading is None:
        return []
    rest = prompt[heading.end() :]
    end = _END.search(rest)
    body = _RULE.sub("", rest if end is None else rest[: end.start()]).strip()
    return [body] if body else []


def _innermost(text: str) -> list[str]:
    """Return the documents inside a tag, or its own text if it holds none."""
    inner = [part for match in _TAGGED.finditer(text) for part in _innermost(match[2])]
    return inner or ([text.strip()] if text.strip() else [])
