"""What a model writes when asked for claims, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_MARK = re.compile(
    r"\s*(?:(?:\(?\d{1,3}[.):]|\(?[A-Za-z]\)|[-*+•‣▪◦●○–—]|>+|#{1,6})(?=\s)|\[[ xX]\]"
    r"|(?i:claim\s*\d{0,3}\s*:))\s*"
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_TRAILING = " \t.,;:!。"


def cleaned(line: str) -> str:
    """A proposed claim without enumeration mark, bullet, quotes and trailing punctuation."""
    line = line.strip()
    mark = _MARK.match(line)
    while mark is not None and mark.end() < len(line):
        line = line[mark.end() :]
        mark = _MARK.match(line)
    line = line.rstrip(_TRAILING)
    if len(line) > 1 and _QUOTES.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip().rstrip(_TRAILING)
    return line if any(char.isalnum() for char in line) else ""


def proposals(drafted: Iterable[str]) -> Iterator[str]:
    """The lines of a draft that hold something."""
    for claim in drafted:
        for line in claim.splitlines():
            if cleaned(line):
                yield line.strip()
