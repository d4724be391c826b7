"""The places of words of a claim in the response."""

from __future__ import annotations

import re

from halldetect.reading.document import Span
from halldetect.report import WrongWords


def wrong_words(
    response: str, within: Span | None, kind: str, words: str, source_words: str = ""
) -> WrongWords:
    """Return words of a claim with their place in the response.

    Args:
        response: The text of the response.
        within: The place of the claim; None if unknown.
        kind: The kind of error.
        words: The words of the claim.
        source_words: What the source has instead.
    """
    span = None
    if within is not None and words.strip():
        # The response may have other white space and mark-up between the words.
        pattern = r"[\s*_`]+".join(map(re.escape, words.split()))
        found = re.search(pattern, within.cut(response), re.IGNORECASE)
        if found is not None:
            span = Span(within.start + found.start(), within.start + found.end())
    return WrongWords(kind, words, source_words, span)
