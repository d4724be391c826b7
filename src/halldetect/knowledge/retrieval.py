"""Find evidence for claims with no source, or an incomplete one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.knowledge.passages import Knowledge
from halldetect.reading.claims import Claim
from halldetect.reading.languages import ENGLISH, detect
from halldetect.reading.reader import Reading
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Status

# More passages cost time, fewer miss the decisive one; see docs/knowledge.md.
PASSAGES_PER_CLAIM = 5
NOTHING_FOUND = "nothing found: no passage of the knowledge is about this claim"


def search(reading: Reading, knowledge: Knowledge) -> Reading:
    """Add the passages for the claims to the source, and mark the claims without one."""
    claims, pair, known = reading.claims, reading.pair, reading.pair.document_metadata
    groups = knowledge.search([claim.read_as or claim.text for claim in claims], PASSAGES_PER_CLAIM)
    passages = list(dict.fromkeys(passage for group in groups for passage in group))
    numbers = range(1, len(pair.documents) + 1)
    names = pair.document_names or tuple(f"Document {number}" for number in numbers)
    texts = [passage.text_with_title for passage in passages]
    read = tuple(map(read_source, texts))
    languages = reading.languages
    if languages:
        languages = (*languages, *(detect(item.text) or ENGLISH for item in read))
    return replace(
        reading,
        pair=replace(
            pair,
            documents=(*pair.documents, *texts),
            document_names=(*names, *(passage.name for passage in passages)),
            document_metadata=known and (*known, *({} for _ in texts)),
        ),
        documents=(*reading.documents, *read),
        claims=tuple(
            claim if group or claim.problem else replace(claim, not_found=True)
            for claim, group in zip(claims, groups, strict=True)
        ),
        languages=languages,
    )


def mark_not_found(
    reports: Sequence[ClaimReport], claims: Sequence[Claim]
) -> tuple[ClaimReport, ...]:
    """Mark claims without a passage as unsupported, unless something else settles them."""
    return tuple(
        replace(
            report,
            status=Status.UNSUPPORTED,
            reason=NOTHING_FOUND,
            support=report.support or 0.0,
        )
        if claim.not_found and report.status in (Status.UNCHECKABLE, Status.UNSUPPORTED)
        else report
        for report, claim in zip(reports, claims, strict=True)
    )


def retrieval_notes(knowledge: Knowledge, claims: Sequence[ClaimReport]) -> tuple[str, ...]:
    """Return the notes of a report about its evidence."""
    facts = (f"{name} {value}" for name, value in knowledge.description.items())
    notes = [f"evidence was retrieved from an index: {', '.join(facts)}"]
    if claims:
        supported = sum(claim.status is Status.SUPPORTED for claim in claims)
        share = supported / len(claims)
        notes.append(f"precision {share:.2f}: {supported} of {len(claims)} claims are supported")
    return tuple(notes)
