"""Find identifiers of a claim that occur nowhere in the source or the question.

Identifiers are names of functions, files, flags, error codes, product numbers, URLs and addresses.
Unlike words, they have no synonyms: one that is not in the source was invented.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FILE = (
    "py|js|ts|json|ya?ml|toml|txt|csv|md|sh|ini|cfg|conf|log|xml|html?|pdf|docx?|xlsx?|zip|exe|sql"
)
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<![\w/])(?:~?/)?(?:[\w-]+/)*[\w-]+\.(?:{_FILE})\b(?!\.\w)"
    r"|(?<![\w-])--[a-z][\w-]+|\b[a-z_]\w*(?:\.\w+)*\(\)|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
    r"|\b[A-Z]{1,6}-?\d{3,}[A-Z0-9]*(?:-[A-Z0-9]+)*\b|\b0x[0-9a-fA-F]{2,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)
_NOT_ALNUM = re.compile(r"[\W_]+")


def identifiers(text: str) -> list[str]:
    """Return the identifiers of a text, in order, without the punctuation after them."""
    found = (match[0].rstrip(".,;:!?") for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(found))


class KnownText:
    """The source and the question in a form in which identifiers can be looked up."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = "\n".join(texts).casefold()
        self._packed = _NOT_ALNUM.sub("", self._text)

    def invented(self, claim: str) -> list[str]:
        """Return the identifiers of a claim that the texts lack, in any spelling."""
        return [name for name in identifiers(claim) if not self._has(name)]

    def _has(self, name: str) -> bool:
        plain = name.casefold().removesuffix("()").rstrip("/")
        plain = re.sub(r"^(?:https?://)?(?:www\.)?", "", plain)
        return plain in self._text or _NOT_ALNUM.sub("", plain) in self._packed
