"""Labels at the start of a line: "**Encryption.** ...", "Rent: 940 euros", "Sources:"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.reading.assertions import names_topic
from halldetect.reading.document import Span
from halldetect.reading.lead_ins import FALSE, LABEL, LABEL_END
from halldetect.reading.tracked import TrackedText

_AFTER_BOLD = re.compile(r"\s*(?:[:–—-]|\.(?=\s))\s*")
REFERENCES = re.compile(
    r"(?:sources?|references?|citations?|bibliography|works cited|footnotes?|links?|"
    r"further reading|see also|read more|more information)(?: used| cited)?",
    re.IGNORECASE,
)


def label_of(
    text: TrackedText, strong: Sequence[Span], item: bool
) -> tuple[TrackedText | None, TrackedText]:
    """A label at the start of a line, and what follows it; None where there is none.

    text    the line
    strong  the ranges of it that are bold
    item    whether it is a list item
    """
    first = next((span for span in strong if span.start <= 0 < span.end), None)
    if first is not None:
        label = text.cut(0, first.end)
        rest = text.cut(first.end)
        ended = LABEL_END.search(label.text.rstrip())
        after = _AFTER_BOLD.match(rest.text)
        if not rest.text.strip():
            alone = item or label.text.rstrip().endswith(":")
            return (label, rest.stripped()) if alone else (None, text)
        if ended is not None:
            return label, rest.stripped()
        if after is not None:
            return label, rest.cut(after.end())
        return None, text
    match = LABEL.match(text.text)
    if match is None:
        return None, text
    named = match[1]
    generic = names_topic(named + ":", marked=False)
    references = REFERENCES.fullmatch(named) is not None
    if generic or references or FALSE.search(named) or (item and len(named.split()) <= 6):
        return text.cut(0, match.end()).stripped(), text.cut(match.end())
    return None, text
