"""Find evidence for claims with no source, or an incomplete one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.inputs import CleanPair
from halldetect.knowledge.passages import Knowledge
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Status

# More passages cost time, fewer miss the decisive one; see docs/knowledge.md.
PASSAGES_PER_CLAIM = 5
NOTHING_FOUND = "nothing found: no passage of the knowledge is about this claim"


def retrieve(
    pair: CleanPair, claims: Sequence[Claim], knowledge: Knowledge
) -> tuple[CleanPair, tuple[Document, ...], frozenset[int]]:
    """Return the pair with passages for its claims, the passages, and the claims without one."""
    found = knowledge.search([claim.read_as or claim.text for claim in claims], PASSAGES_PER_CLAIM)
    passages = list(dict.fromkeys(passage for group in found for passage in group))
    numbers = range(1, len(pair.documents) + 1)
    names = pair.document_names or tuple(f"Document {number}" for number in numbers)
    texts = [passage.text_with_title for passage in passages]
    source = replace(
        pair,
        documents=(*pair.documents, *texts),
        document_names=(*names, *(passage.name for passage in passages)),
    )
    searched = enumerate(zip(claims, found, strict=True))
    not_found = frozenset(
        at for at, (claim, group) in searched if not group and claim.problem is None
    )
    return source, tuple(map(read_source, texts)), not_found


def mark_not_found(
    claims: tuple[ClaimReport, ...], not_found: frozenset[int]
) -> tuple[ClaimReport, ...]:
    """Mark claims without a passage as unsupported, unless something else settles them."""
    marked = list(claims)
    for at in not_found:
        if claims[at].status in (Status.UNCHECKABLE, Status.UNSUPPORTED):
            marked[at] = replace(
                claims[at],
                status=Status.UNSUPPORTED,
                reason=NOTHING_FOUND,
                support=claims[at].support or 0.0,
            )
    return tuple(marked)


def retrieval_notes(knowledge: Knowledge, claims: Sequence[ClaimReport]) -> tuple[str, ...]:
    """Return the notes of a report about its evidence."""
    facts = (f"{name} {value}" for name, value in knowledge.description.items())
    notes = [f"evidence was retrieved from an index: {', '.join(facts)}"]
    if claims:
        supported = sum(claim.status is Status.SUPPORTED for claim in claims)
        share = supported / len(claims)
        notes.append(f"precision {share:.2f}: {supported} of {len(claims)} claims are supported")
    return tuple(notes)
