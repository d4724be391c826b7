"""The claims of a response: its sentences, and what an extractor takes them apart into.

With the guard every asserting sentence is a claim and what the extractor proposes are its parts.
Without it, as in the paper, the proposals of the extractor are the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from halldetect.claims import Claim
from halldetect.claims.guard.guard import Guard, clean_line, proposed_lines
from halldetect.errors import ExtractionError
from halldetect.protocols import Extractor
from halldetect.reading.document import Document, Unit
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.references import readings
from halldetect.reading.sentences import trimmed

MAX_CLAIMS = 10
CLAIMS_PER_SENTENCE = 4
# Small enough that the claims of a block fit into 512 new tokens and under the limit.
BLOCK_SENTENCES = 3
BLOCK_CHARACTERS = 700
# After so many generative passes the rest of a very long response is taken sentence by sentence.
MAX_PASSES = 100
# An extractor that has failed so often is not asked again.
MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Draft:
    """What an extractor proposes for one block of the response, before the guard.

    claims             the proposed claims
    generative_passes  how often a language model was asked
    tokens_in          tokens the model has read
    tokens_out         tokens the model has written
    """

    claims: tuple[str, ...]
    generative_passes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims of a response and what it took to get them.

    claims             in the order of the response
    proposed           claims that the extractor proposed
    dropped            those that the guard did not keep
    restored           sentences that the extractor left out in whole or part
    generative_passes,
    tokens_in,
    tokens_out         as in `Draft`, over all blocks
    notes              what the report should mention
    """

    claims: tuple[Claim, ...]
    proposed: int = 0
    dropped: int = 0
    restored: int = 0
    generative_passes: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: tuple[str, ...] = ()


def claim_limit(sentences: int) -> int:
    """The greatest number of claims of a text with so many sentences."""
    return min(MAX_CLAIMS, CLAIMS_PER_SENTENCE * sentences)


def extract_claims(
    response: Document, extractor: Extractor, *, guard: bool = True, max_passes: int = MAX_PASSES
) -> Extraction:
    """The claims of a response.

    With the guard every asserting sentence is a claim, whatever the extractor proposes; it is read
    with what it leans on, and what the extractor proposes are parts of it. Without the guard the
    proposals of the extractor are taken as they are: one pass over the whole response, the first
    claims up to the limit. Sentences that none of them comes from are claims with a problem.

    response    the text with its sentences
    extractor   proposes claims
    guard       whether to use the guard
    max_passes  the greatest number of generative passes with the guard
    """
    if not response.sentences:
        return Extraction(())
    if not guard:
        return _without_guard(response, extractor)
    return _with_guard(response, extractor, max_passes)


def _with_guard(response: Document, extractor: Extractor, max_passes: int) -> Extraction:
    guard = Guard(response)
    passes = tokens_in = tokens_out = unread = 0
    failures: list[str] = []
    seen: dict[object, list[int]] = {}
    for block in _blocks(response.units):
        asserting = guard.asserting(block)
        if not asserting:
            continue
        if passes >= max_passes or len(failures) >= MAX_FAILURES:
            unread += len(asserting)
            continue
        text = guard.block_text(block)
        key = (text, tuple(number - block[0] for number in asserting))
        if key in seen:
            guard.repeat(seen[key], asserting)
            continue
        limit = claim_limit(len(block))
        try:
            draft = extractor.draft(text, limit)
        except ExtractionError as error:
            failures.append(str(error))
            continue
        seen[key] = asserting
        passes += draft.generative_passes
        tokens_in += draft.tokens_in
        tokens_out += draft.tokens_out
        guard.take(draft.claims, block, limit)
    claims = in_context(guard.claims())
    return Extraction(
        tuple(claims),
        proposed=guard.proposed,
        dropped=guard.dropped,
        restored=sum(claim.origin == "restored" for claim in claims),
        generative_passes=passes,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        notes=tuple(_notes(failures, unread, passes, guard)),
    )


def in_context(claims: Sequence[Claim]) -> list[Claim]:
    """The claims, and their parts, read with the sentences that they lean on.

    claims  the asserting sentences of a response, in order
    """
    found = readings([claim.text for claim in claims])
    placed: list[Claim] = []
    before = ""
    for claim, reading in zip(claims, found, strict=True):
        parts = tuple(
            part if part_reading is None else replace(part, read_as=part_reading.text)
            for part in claim.parts
            for part_reading in [readings([before, part.text])[1] if before else None]
        )
        read_as = None if reading is None else reading.text
        placed.append(replace(claim, read_as=read_as, parts=parts))
        before = claim.text if reading is None or not reading.resolved else reading.text
    return placed


def _blocks(units: Sequence[Unit]) -> Iterator[list[int]]:
    """The indices of the units in runs short enough for one pass."""
    block: list[int] = []
    size = 0
    for number, unit in enumerate(units):
        full = len(block) == BLOCK_SENTENCES or size + len(unit.text) > BLOCK_CHARACTERS
        if block and full:
            yield block
            block, size = [], 0
        block.append(number)
        size += len(unit.text)
    if block:
        yield block


def _notes(failures: Sequence[str], unread: int, passes: int, guard: Guard) -> Iterator[str]:
    if passes and (guard.dropped or guard.parts):
        yield (
            f"the extractor proposed {guard.proposed} claims: {guard.parts} are kept as parts of "
            f"sentences, {guard.dropped} are dropped; the sentences decide"
        )
    if failures:
        yield (
            f"the extractor failed on {len(failures)} block(s), "
            f"whose sentences are claims as they stand: {failures[0]}"
        )
    if unread:
        why = "failures" if failures else f"{passes} generative passes"
        yield f"after {why} the last {unread} sentences are claims as they stand"


def _without_guard(response: Document, extractor: Extractor) -> Extraction:
    limit = claim_limit(len(response.sentences))
    draft = extractor.draft(response.text, limit)
    lines = list(proposed_lines(draft.claims))
    claims = [_located(clean_line(line), response) for line in lines[:limit]]
    if not claims:
        return Extraction(())
    left_out = list(_left_out(response, claims, full=len(lines) >= limit))
    return Extraction(
        (*claims, *left_out),
        proposed=len(lines),
        generative_passes=draft.generative_passes,
        tokens_in=draft.tokens_in,
        tokens_out=draft.tokens_out,
    )


def _left_out(response: Document, claims: Iterable[Claim], *, full: bool) -> Iterator[Claim]:
    """The asserting sentences that no claim comes from, which therefore nobody checks.

    response  the text
    claims    what the extractor made of it
    full      whether there are as many claims as are taken
    """
    spans = [claim.span for claim in claims if claim.span is not None]
    reason = (
        f"the limit of {claim_limit(len(response.sentences))} claims was reached before it"
        if full
        else "the extractor made no claim of it"
    )
    for unit in response.units:
        if not unit.asserts or unit.problem is not None:
            continue
        if not any(span.start < unit.span.end and unit.span.start < span.end for span in spans):
            yield Claim(unit.text, unit.span, problem=reason)


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
