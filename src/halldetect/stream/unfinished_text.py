"""A text that is still being written: its complete sentences and their context."""

from __future__ import annotations

import re
from itertools import zip_longest

from halldetect.reading.sentences import sentences

# Characters before a sentence that are read with it to resolve "it" or "she".
CONTEXT_CHARACTERS = 2000
# A sentence without an end is judged in parts of this length.
MAX_SENTENCE = 4000


def context_of(shown: str) -> str:
    """Return the last whole sentences of the text so far, as context of the next sentence."""
    if len(shown) <= CONTEXT_CHARACTERS:
        return shown
    context = shown[-CONTEXT_CHARACTERS:]
    spans = sentences(context)
    return context[spans[1].start :] if len(spans) > 1 else ""


def complete_sentences(text: str) -> list[int]:
    """Return the ends of the sentences that further text cannot change.

    A sentence is complete when a line end or the first word of the next sentence follows it: the
    full stop of "Dr." ends nothing. A sentence without an end is cut after `MAX_SENTENCE`
    characters.
    """
    ends: list[int] = []
    spans = sentences(text)
    for span, following in zip_longest(spans, spans[1:]):
        has_word = following and re.search(r"\s", text[following.start :].rstrip("\n"))
        if not has_word and not re.search("[\r\n]", text[span.end :]):
            break
        ends.append(span.end)
    start = ends[-1] if ends else 0
    while len(text) - start > MAX_SENTENCE:
        space = text.rfind(" ", start + 1, start + MAX_SENTENCE)
        start = space if space > start else start + MAX_SENTENCE
        ends.append(start)
    return ends
