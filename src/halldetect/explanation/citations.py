"""Which documents of the source a citation such as [1] or [2, 4-6] points to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.reading.source_names import is_kind_of_source, matching_documents

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_NUMBERS = re.compile(r"\s*(\d{1,4})\s*(?:[-–]\s*(\d{1,4})\s*)?")
# A range that is longer than this is no list of sources.
_MAX_RANGE = 50


def cited_documents(label: str, names: Sequence[str], count: int) -> list[tuple[str, int | None]]:
    """The documents that a citation points to, each as it is cited and by its index.

    The index is None for a number that no document has, and for a source that is named ("the 2019
    audit report") where the documents have other names. Any other label that is neither a number
    nor the name of one document gives nothing: it may point anywhere.

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
            return _named(label, names)
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first <= _MAX_RANGE:
            return []
        for number in range(first, last + 1):
            found.append((str(number), number - 1 if 1 <= number <= count else None))
    return found


def _named(label: str, names: Sequence[str]) -> list[tuple[str, int | None]]:
    places = matching_documents(label, names)
    if len(places) == 1:
        return [(label, places[0])]
    return [(label, None)] if names and not places and is_kind_of_source(label) else []
