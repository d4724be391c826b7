"""Texts whose characters know where they stand in the raw text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from halldetect.reading.document import Span

INSERTED = -1


@dataclass(frozen=True, slots=True)
class TrackedText:
    """A text made from a raw text by leaving out, replacing or adding characters.

    text     the characters
    origins  for each character its index in the raw text; `INSERTED` for one that was added
    """

    text: str
    origins: Sequence[int]

    @classmethod
    def of(cls, raw: str, start: int, end: int) -> TrackedText:
        """The range of a raw text, as it stands."""
        return cls(raw[start:end], range(start, end))

    @classmethod
    def added(cls, text: str) -> TrackedText:
        """A text of which nothing stands in the raw text."""
        return cls(text, (INSERTED,) * len(text))

    @classmethod
    def joined(cls, parts: Iterable[TrackedText]) -> TrackedText:
        """The parts one after the other."""
        kept = [part for part in parts if part.text]
        if len(kept) == 1:
            return kept[0]
        return cls(
            "".join(part.text for part in kept),
            tuple(origin for part in kept for origin in part.origins),
        )

    def cut(self, start: int, end: int | None = None) -> TrackedText:
        """The range of characters from `start` to `end`."""
        end = len(self.text) if end is None else end
        return TrackedText(self.text[start:end], self.origins[start:end])

    def stripped(self, characters: str | None = None) -> TrackedText:
        """Without white space, or any of `characters`, at the ends."""
        left = len(self.text) - len(self.text.lstrip(characters))
        return self.cut(left, max(left, len(self.text.rstrip(characters))))

    def without(self, spans: Iterable[Span]) -> TrackedText:
        """Without the characters of some spans, which are in order and do not overlap."""
        parts = []
        at = 0
        for span in spans:
            parts.append(self.cut(at, span.start))
            at = span.end
        return TrackedText.joined([*parts, self.cut(at)]) if parts else self

    def replaced(self, span: Span, text: str) -> TrackedText:
        """With another text for a span; all of it stands for the first character of the span."""
        origin = self.origins[span.start] if len(span) else INSERTED
        new = TrackedText(text, (origin,) * len(text))
        return TrackedText.joined([self.cut(0, span.start), new, self.cut(span.end)])

    def capitalized(self) -> TrackedText:
        """With a capital at the start."""
        first = self.text[:1].upper()
        if first == self.text[:1] or len(first) != 1:
            return self
        return TrackedText(first + self.text[1:], self.origins)

    def raw_span(self, span: Span | None = None) -> Span | None:
        """The smallest range of the raw text with all characters of a span that stand there.

        span  a range of this text; default: all of it
        None where no character of it stands in the raw text.
        """
        origins = self.origins if span is None else self.origins[span.start : span.end]
        if isinstance(origins, range):
            return Span(origins.start, origins.stop) if origins else None
        known = [origin for origin in origins if origin != INSERTED]
        return Span(min(known), max(known) + 1) if known else None
