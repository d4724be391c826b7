"""The prompt of a generative extractor, and the parser of its answer.

The prompt asks for copies, as in the paper: claims in the words of the text, not corrected, not
rephrased, each readable alone, and no more than the limit. The wording is ours. The block has one
sentence per line, after a worked example as an earlier turn of the conversation: small models then
split and copy instead of retelling. Some chat templates refuse a system turn, so there is none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from halldetect.reading.sentences import sentences

INSTRUCTION = (
    "List the claims that the text makes, one per line. Copy every claim word for word, also "
    "where it is unlikely, wrong or at odds with another one. Do not correct, reword or explain "
    "anything, and use no knowledge of your own. Each line must be a sentence that can be read "
    "alone."
)
# One of its claims is false but copied nevertheless.
EXAMPLE_TEXT = (
    "The tower was finished in 1902 and is 9,000 metres tall.\n"
    "Ida Holm designed the tower but never visited the tower."
)
EXAMPLE_CLAIMS = (
    "The tower was finished in 1902.",
    "The tower is 9,000 metres tall.",
    "Ida Holm designed the tower.",
    "Ida Holm never visited the tower.",
)
EXAMPLE_LIMIT = 8
TEMPERATURE = 0.2
MAX_NEW_TOKENS = 512
STOP = "\n\n"

_OPEN, _CLOSE = "<text>", "</text>"
# Role marks of chat templates, and our own delimiter. In a prompt they would take effect wherever
# they come from.
_ROLE_MARK = re.compile(
    r"<\|[^|<>]{1,64}\|>|<｜[^｜<>]{1,64}｜>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|<(?:start|end)_of_turn>|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>|</?text>",
    re.IGNORECASE,
)
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_LIST_MARK = re.compile(
    r"^\s*(?:[-*+•‣▪◦·–—]\s+|\(?\d{1,3}[.)]\s+|(?:claim|fact)\s*\d*\s*:\s*)+", re.IGNORECASE
)
_FENCE = re.compile(r"^\s*(?:```|~~~)[\w-]*\s*$", re.MULTILINE)


def messages(block: str, limit: int) -> list[dict[str, str]]:
    """Return the conversation that asks for at most `limit` claims of a prepared block."""
    asked = _asked(EXAMPLE_TEXT, EXAMPLE_LIMIT)
    return [
        {"role": "user", "content": f"{INSTRUCTION}\n\n{asked}"},
        {"role": "assistant", "content": "\n".join(EXAMPLE_CLAIMS)},
        {"role": "user", "content": _asked(block, limit)},
    ]


def digest() -> str:
    """Return the sha256 of the prompt without the block."""
    return hashlib.sha256(json.dumps(messages("", 1)).encode()).hexdigest()


def prepare(block: str, special_tokens: re.Pattern[str] | None = None) -> str:
    """Return the block for the prompt: one sentence per line, without marks of chat templates."""
    text, before = _UNPRINTABLE.sub(" ", block), ""
    while text != before:  # what is left may form another mark
        before, text = text, _ROLE_MARK.sub(" ", text)
        if special_tokens is not None:
            text = special_tokens.sub(" ", text)
    return "\n".join(" ".join(span.cut(text).split()) for span in sentences(text))


def special_pattern(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches the control tokens of a model, longest first."""
    known = sorted({token for token in tokens if token.strip()}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, known))) if known else None


def parse(answer: str, limit: int) -> tuple[str, ...]:
    """Return at most `limit` claims of an answer: lines with or without list marks."""
    lines = [line for line in _FENCE.sub("", answer).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):  # "Here are the claims:"
        lines = lines[1:]
    plain = (_ROLE_MARK.sub(" ", _LIST_MARK.sub("", line, count=1)) for line in lines)
    claims = (" ".join(line.split()) for line in plain)
    return tuple(dict.fromkeys(filter(None, claims)))[: max(limit, 0)]


def _asked(text: str, limit: int) -> str:
    # The limit comes last, so that everything before the text is the same for every text.
    return f"{_OPEN}\n{text}\n{_CLOSE}\nList up to {limit} claims."
