"""A text that is still being written: its complete sentences, and the context of the next."""

from __future__ import annotations

from halldetect.reading.sentences import sentences

# Characters before a sentence that are read with it, to resolve "it" or "she".
CONTEXT_CHARACTERS = 2000
# A sentence without an end is judged in parts of this length.
MAX_SENTENCE = 4000


def context_of(shown: str) -> str:
    """Return the last whole sentences of the text so far, as the context of the next one."""
    if len(shown) <= CONTEXT_CHARACTERS:
        return shown
    context = shown[-CONTEXT_CHARACTERS:]
    spans = sentences(context)
    return context[spans[1].start :] if len(spans) > 1 else ""


def complete_sentences(text: str) -> list[int]:
    """Return the ends of the sentences that more text cannot change.

    A sentence is complete when a line end follows it, or the first word of the next sentence: the
    full stop of "Dr." ends nothing. Without an end it is cut after `MAX_SENTENCE` characters.

    text  that has arrived so far
    """
    spans = sentences(text)
    ends: list[int] = []
    for at, span in enumerate(spans):
        following = spans[at + 1] if at + 1 < len(spans) else None
        rest = text[span.end :]
        starts_word = following is not None and any(
            char.isspace() for char in text[following.start :].rstrip("\n")
        )
        if "\n" in rest or "\r" in rest or starts_word:
            ends.append(span.end)
        else:
            break
    start = ends[-1] if ends else 0
    while len(text) - start > MAX_SENTENCE:
        space = text.rfind(" ", start + 1, start + MAX_SENTENCE)
        start = space if space > start else start + MAX_SENTENCE
        ends.append(start)
    return ends
