"""Which documents of the source a citation such as [1] or [2, 4-6] points to."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NUMBERS = re.compile(r"\s*(\d{1,4})\s*(?:[-–]\s*(\d{1,4})\s*)?")
# A range that is longer than this is no list of sources.
_MAX_RANGE = 50


def cited_documents(label: str, names: Sequence[str], count: int) -> list[tuple[str, int | None]]:
    """The documents that a citation points to, each as it is cited and by its index.

    The index is None for a number that no document has. A label that is neither a number nor the
    name of a document gives nothing: it may point anywhere.

    label  what stands between the brackets
    names  of the documents; empty where they have none
    count  how many documents there are
    """
    wanted = " ".join(label.casefold().split())
    for index, name in enumerate(names):
        if wanted == " ".join(name.casefold().split()):
            return [(label, index)]
    found: list[tuple[str, int | None]] = []
    for piece in re.split(r"[,;]", label.translate(_SUPERSCRIPTS)):
        match = _NUMBERS.fullmatch(piece)
        if match is None:
            return []
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first <= _MAX_RANGE:
            return []
        for number in range(first, last + 1):
            found.append((str(number), number - 1 if 1 <= number <= count else None))
    return found
