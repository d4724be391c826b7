"""A text that is still being written: its complete sentences, and what the next is read with."""

from __future__ import annotations

from halldetect.reading.sentences import sentences

# So much of the text before a sentence is read with it, for what "it" or "she" refer to.
CONTEXT_CHARACTERS = 2000
# A sentence that does not end is judged in parts of this length.
MAX_SENTENCE = 4000


def context_of(shown: str) -> str:
    """The end of what was shown, in whole sentences, that the next sentence is read with.

    shown  the text so far
    """
    if len(shown) <= CONTEXT_CHARACTERS:
        return shown
    context = shown[-CONTEXT_CHARACTERS:]
    spans = sentences(context)
    return context[spans[1].start :] if len(spans) > 1 else ""


def complete_sentences(text: str) -> list[int]:
    """Where the sentences of a text end that more text cannot change.

    A sentence is complete when a line end follows it, or the first word of the next sentence: the
    full stop of "Dr." is none. Without an end it is cut after `MAX_SENTENCE` characters.

    text  what has arrived so far
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
