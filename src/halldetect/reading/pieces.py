"""Pieces of a block: its lines, its sentences, and the statements in its mark-up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from halldetect.reading.assertions import is_sentence
from halldetect.reading.blocks import Line
from halldetect.reading.normalise import normalised
from halldetect.reading.sentences import sentences
from halldetect.reading.tracked import TrackedText

# A long line without an end, and one that begins in the middle of a sentence.
_WRAPPED = re.compile(r"^.{50,}[^.!?:;\s]\s*$", re.DOTALL)
_GOES_ON = re.compile(r"\s*[a-z0-9(\"'“‘]")


def unwrapped(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines, those joined that were only broken because they were long."""
    pending: Line | None = None
    for line in lines:
        if pending is None:
            pending = line
        elif (
            _WRAPPED.search(pending.text.text)
            and _GOES_ON.match(line.text.text)
            and pending.struck == line.struck
        ):
            joined = TrackedText.joined([pending.text, TrackedText.added(" "), line.text])
            pending = Line(joined, pending.strong, (*pending.aside, *line.aside), line.struck)
        else:
            yield pending
            pending = line
    if pending is not None:
        yield pending


def sentences_of(text: TrackedText) -> list[TrackedText]:
    """The sentences of a text, in the letters that a reader sees."""
    text = normalised(text)
    return [text.cut(span.start, span.end) for span in sentences(text.text)]


def statements_of_mark_up(aside: TrackedText) -> Iterator[TrackedText]:
    """The statements that a link address, a title, a comment or an attribute spells out."""
    text = aside.text
    title = re.search(r"^\S+\s+[\"'(](.+)[\"')]\s*$", text)
    if " " in text and title is None and not text.startswith(("http://", "https://", "www.")):
        yield from sentences_of(aside)
        return
    if title is not None:
        yield from sentences_of(aside.cut(title.start(1), title.end(1)))
    for slug in re.finditer(r"[^/?#=&\s]+", text):
        spelled = re.sub(r"%20|[-_+]", lambda match: " " * len(match.group()), slug.group())
        plain = " ".join(spelled.split())
        if len(plain.split()) >= 4 and is_sentence(plain):
            part = aside.cut(slug.start(), slug.end())
            yield TrackedText(spelled, part.origins)
