"""Phase I: the claims that a language model writes for a response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from halldetect.protocols import Draft, Extractor
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.sentences import sentences, trimmed

MAX_CLAIMS = 10
CLAIMS_PER_SENTENCE = 4
_MARK = re.compile(
    r"\s*(?:(?:\(?\d{1,3}[.):]|\(?[A-Za-z]\)|[-*+•‣▪◦●○–—]|>+|#{1,6})(?=\s)|\[[ xX]\]"
    r"|(?i:claim\s*\d{0,3}\s*:))\s*"
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_TRAILING = " \t.,;:!。"


def claim_limit(count: int) -> int:
    """Return the most claims of a text with this number of sentences."""
    return min(MAX_CLAIMS, CLAIMS_PER_SENTENCE * count)


def extract_claims(response: Document, extractor: Extractor) -> tuple[tuple[Claim, ...], Draft]:
    """Request the claims of a response in one pass, and keep the first ones up to the limit.

    Sentences without a claim become claims with a problem, since they are not checked.
    """
    response = replace(response, sentences=sentences(response.text))
    limit = claim_limit(len(response.sentences))
    draft = extractor.draft(response.text, limit) if limit else Draft(())
    lines = [line.strip() for claim in draft.claims for line in claim.splitlines()]
    cleaned = [claim for claim in map(clean_line, lines) if claim]
    claims = [_located(claim, response) for claim in cleaned[:limit]]
    if not claims:
        return (), draft
    left_out = _uncovered(response, claims, full=len(cleaned) >= limit)
    return (*claims, *left_out), draft


def clean_line(line: str) -> str:
    """Strip marks, quotes and trailing punctuation; return "" if no claim is left."""
    line = line.strip()
    mark = _MARK.match(line)
    while mark is not None and mark.end() < len(line):
        line = line[mark.end() :]
        mark = _MARK.match(line)
    line = line.rstrip(_TRAILING)
    if _QUOTES.get(line[:1]) == line[-1:] and line[0] not in line[1:-1]:
        line = line[1:-1].strip().rstrip(_TRAILING)
    return line if any(char.isalnum() for char in line) else ""


def _uncovered(response: Document, claims: Iterable[Claim], *, full: bool) -> Iterator[Claim]:
    """Yield the asserting sentences without a claim."""
    spans = [claim.span for claim in claims if claim.span is not None]
    reason = (
        f"the limit of {claim_limit(len(response.sentences))} claims was reached before it"
        if full
        else "the extractor made no claim of it"
    )
    for unit in response.units:
        if unit.asserts and not any(
            span.start < unit.span.end and unit.span.start < span.end for span in spans
        ):
            yield Claim(unit.text, unit.span, problem=unit.problem or reason)


def _located(claim: str, response: Document) -> Claim:
    """Return the claim with its exact place, or that of the most similar sentence."""
    at = response.text.find(claim)
    if at >= 0:
        return Claim(claim, trimmed(response.text, at, at + len(claim)))
    keys = content_keys(claim)

    def share(span: Span) -> float:
        return shared_part(keys, content_keys(span.cut(response.text)))

    best = max(response.sentences, key=share, default=None)
    if best is None or share(best) <= 0.5:
        return Claim(claim, None, "no sentence of the response has most of the claim's words")
    return Claim(claim, best)
