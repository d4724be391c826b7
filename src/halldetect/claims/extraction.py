"""The claims of a response (Phase I): drafted by an extractor, kept faithful by the guard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from halldetect.claims.guard.assertions import assertions
from halldetect.claims.guard.drafts import cleaned, proposals
from halldetect.claims.guard.matching import Match, Passage
from halldetect.claims.guard.pronouns import antecedents
from halldetect.errors import ExtractionError
from halldetect.protocols import Extractor
from halldetect.text.document import Document, Span
from halldetect.text.overlap import content_keys, shared_part
from halldetect.text.sentences import sentences, trimmed

MAX_CLAIMS = 10
CLAIMS_PER_SENTENCE = 4
# Small enough that the claims of a block fit into 512 new tokens and under the cap.
BLOCK_SENTENCES = 3
BLOCK_CHARACTERS = 700
# Past so many generative passes the rest of a very long response goes sentence by sentence.
MAX_PASSES = 100
# An extractor that failed so often is not asked again.
MAX_FAILURES = 3
# A longer claim is compared word for word only, without looking for whom a pronoun means.
MAX_NAMED = 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing the response says.

    `span` is the part of the response it came from; without one, `span_reason` says why.
    `origin` is "extracted", "named" (with a name for a pronoun) or "restored" (a sentence the
    extractor left out in whole or part).
    """

    text: str
    span: Span | None
    span_reason: str | None = None
    origin: str = "extracted"


@dataclass(frozen=True, slots=True)
class Draft:
    """What an extractor proposes for one block of the response, before the guard."""

    claims: tuple[str, ...]
    generative_passes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims of a response and what it took to get them."""

    claims: tuple[Claim, ...]
    dropped: int = 0
    restored: int = 0
    generative_passes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: tuple[str, ...] = ()


def cap(count: int) -> int:
    """How many claims so many sentences may give."""
    return min(MAX_CLAIMS, CLAIMS_PER_SENTENCE * count)


def extract_claims(
    response: Document, extractor: Extractor, *, guard: bool = True, max_passes: int = MAX_PASSES
) -> Extraction:
    """The claims of a response.

    With the guard every asserting sentence ends up in a claim and no claim says what its
    sentence does not, whatever the extractor proposes. Without it the extractor is taken at
    its word: one pass over the whole response and the first claims up to the cap.
    """
    if not response.sentences:
        return Extraction(())
    if not guard:
        return _unguarded(response, extractor)
    return _Guarded(response, extractor, max_passes).extraction()


class _Guarded:
    """One response on its way through the extractor and the guard."""

    def __init__(self, document: Document, extractor: Extractor, max_passes: int) -> None:
        response, spans = document.text, document.sentences
        self.response = response
        self.extractor = extractor
        self.max_passes = max_passes
        self.spans = spans
        self.plain = assertions(response, spans)
        self.passages = {
            number: Passage(span.cut(response))
            for number, span in enumerate(self.plain)
            if span is not None
        }
        self.matches: dict[int, list[Match]] = {number: [] for number in self.passages}
        self.seen: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        self.dropped = self.passes = self.tokens_in = self.tokens_out = 0
        self.failures: list[str] = []
        self.unread = 0

    @cached_property
    def names(self) -> list[tuple[str, ...]]:
        return antecedents([span.cut(self.response) for span in self.spans])

    def extraction(self) -> Extraction:
        for block in self._blocks():
            self._take(block)
        claims: list[Claim] = []
        restored = 0
        for number, passage in self.passages.items():
            span = self.plain[number]
            assert span is not None
            for match in self.matches[number]:
                place = Span(span.start + match.span.start, span.start + match.span.end)
                claims.append(
                    Claim(match.text, place, origin="named" if match.named else "extracted")
                )
            if not passage.covered(self.matches[number]):
                restored += 1
                claims.append(Claim(span.cut(self.response), span, origin="restored"))
        return Extraction(
            tuple(dict.fromkeys(claims)),
            dropped=self.dropped,
            restored=restored,
            generative_passes=self.passes,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            notes=tuple(self._notes()),
        )

    def _blocks(self) -> Iterator[list[int]]:
        """Runs of a few sentences, each with something asserted in it."""
        block: list[int] = []
        size = 0
        for number, span in enumerate(self.spans):
            full = len(block) == BLOCK_SENTENCES or size + len(span) > BLOCK_CHARACTERS
            if block and full:
                yield block
                block, size = [], 0
            block.append(number)
            size += len(span)
        yield block

    def _take(self, block: list[int]) -> None:
        """Let the extractor read a block, and keep what the guard lets through."""
        numbers = [number for number in block if number in self.passages]
        if not numbers:
            return
        if self.passes >= self.max_passes or len(self.failures) >= MAX_FAILURES:
            self.unread += len(numbers)
            return
        # One sentence a line: the block then holds no empty line to stop at.
        text = "\n".join(self.spans[number].cut(self.response) for number in block)
        known = (text, tuple(number - block[0] for number in numbers))
        if known in self.seen:
            self._repeat(self.seen[known], numbers)
            return
        limit = cap(len(block))
        try:
            draft = self.extractor.draft(text, limit)
        except ExtractionError as error:
            self.failures.append(str(error))
            return
        self.seen[known] = numbers
        self.passes += draft.generative_passes
        self.tokens_in += draft.tokens_in
        self.tokens_out += draft.tokens_out
        silent = {
            self.spans[number].cut(self.response) for number in block if number not in numbers
        }
        lines = list(proposals(draft.claims))
        self.dropped += max(0, len(lines) - limit)
        for line in lines[:limit]:
            if len(line) > 2 * len(text) + 100:
                self.dropped += 1
            else:
                self._consider(line, numbers, silent)

    def _repeat(self, first: list[int], numbers: list[int]) -> None:
        """A block that came up before: the same claims, and nothing to generate."""
        for before, now in zip(first, numbers, strict=True):
            passage = self.passages[now]
            self.matches[now] = [
                match
                for match in self.matches[before]
                # a name put for a pronoun there may be the wrong one here
                if match.text in passage.text or passage.match(match.text) is not None
            ]

    def _consider(self, line: str, numbers: list[int], silent: set[str]) -> None:
        claim = cleaned(line)
        # What looks like a list mark may be part of a sentence that was copied whole.
        if self._place_whole(line, numbers) or self._place(claim, numbers):
            return
        if line in silent:  # a question or a heading, copied: not a claim, and not an invention
            return
        # Two sentences on one line are two claims.
        pieces = [cleaned(span.cut(claim)) for span in sentences(claim)]
        if len(pieces) == 1:
            self.dropped += 1
            return
        self.dropped += sum(not self._place(piece, numbers) for piece in pieces)

    def _place_whole(self, line: str, numbers: list[int]) -> bool:
        for number in numbers:
            passage = self.passages[number]
            if passage.whole not in self.matches[number] and (
                line == passage.text or passage.match(line) == passage.whole
            ):
                self.matches[number].append(passage.whole)
                return True
        return False

    def _place(self, claim: str, numbers: list[int]) -> bool:
        """Give the claim to the sentence that it says most of; the first without it in a tie."""
        best: tuple[bool, float, int] | None = None
        chosen: tuple[int, Match] | None = None
        for number in numbers:
            passage = self.passages[number]
            match = passage.match(claim)
            if match is None and len(claim) < MAX_NAMED:
                match = passage.match(claim, self.names[number])
            if match is None:
                continue
            rank = (match not in self.matches[number], passage.share(match), -number)
            if best is None or rank > best:
                best, chosen = rank, (number, match)
        if chosen is None:
            return False
        if chosen[1] not in self.matches[chosen[0]]:
            self.matches[chosen[0]].append(chosen[1])
        return True

    def _notes(self) -> Iterator[str]:
        if self.failures:
            yield (
                f"the extractor failed on {len(self.failures)} block(s), "
                f"whose sentences were taken as they stand: {self.failures[0]}"
            )
        if self.unread:
            why = "failures" if self.failures else f"{self.passes} generative passes"
            yield f"after {why} the last {self.unread} sentences were taken as they stand"


def _unguarded(response: Document, extractor: Extractor) -> Extraction:
    limit = cap(len(response.sentences))
    draft = extractor.draft(response.text, limit)
    lines = list(proposals(draft.claims))[:limit]
    return Extraction(
        tuple(_located(cleaned(line), response) for line in lines),
        generative_passes=draft.generative_passes,
        tokens_in=draft.tokens_in,
        tokens_out=draft.tokens_out,
    )


def _located(claim: str, response: Document) -> Claim:
    """The claim where it stands word for word, or at the sentence that shares most with it."""
    at = response.text.find(claim)
    if at >= 0:
        return Claim(claim, trimmed(response.text, at, at + len(claim)))
    keys = content_keys(claim)
    best, greatest = None, 0.0
    for span in response.sentences:
        share = shared_part(keys, content_keys(span.cut(response.text)))
        if share > greatest:
            best, greatest = span, share
    if best is None or greatest <= 0.5:
        return Claim(claim, None, "no sentence of the response has most of the claim's words")
    return Claim(claim, best)
