"""Evidence for claims whose source was not given, or is not all there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from halldetect.inputs import CleanPair
from halldetect.knowledge.passages import Knowledge
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Status

# More passages cost time, fewer miss the one that decides; see docs/knowledge.md.
PASSAGES_PER_CLAIM = 5
NOTHING_FOUND = "nothing found: no passage of the knowledge is about this claim"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found for the claims of a pair.

    pair       with the passages as further documents of its source
    documents  the passages, read
    not_found  the claims, by index, that nothing was found for
    """

    pair: CleanPair
    documents: tuple[Document, ...]
    not_found: frozenset[int]


def retrieve(pair: CleanPair, claims: Sequence[Claim], knowledge: Knowledge) -> Retrieved:
    """Search for the claims of a pair.

    pair       whose source the passages are added to
    claims     of its response
    knowledge  is searched
    """
    found = knowledge.search([claim.read_as or claim.text for claim in claims], PASSAGES_PER_CLAIM)
    passages = list(dict.fromkeys(passage for group in found for passage in group))
    names = pair.document_names or tuple(
        f"Document {number}" for number, _ in enumerate(pair.documents, 1)
    )
    texts = [passage.text_with_title for passage in passages]
    return Retrieved(
        replace(
            pair,
            documents=(*pair.documents, *texts),
            document_names=(*names, *(passage.name for passage in passages)),
        ),
        tuple(map(read_source, texts)),
        frozenset(
            at
            for at, (claim, group) in enumerate(zip(claims, found, strict=True))
            if not group and claim.problem is None
        ),
    )


def mark_not_found(
    claims: tuple[ClaimReport, ...], not_found: frozenset[int]
) -> tuple[ClaimReport, ...]:
    """A claim that nothing was found for is unsupported, unless something else settles it.

    claims     of a response, as they were judged
    not_found  those that nothing was found for, by index
    """
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
    """What a report says about its evidence.

    knowledge  where it comes from
    claims     of the response
    """
    facts = (f"{name} {value}" for name, value in knowledge.description.items())
    notes = [f"evidence was retrieved from an index: {', '.join(facts)}"]
    if claims:
        supported = sum(claim.status is Status.SUPPORTED for claim in claims)
        share = supported / len(claims)
        notes.append(f"precision {share:.2f}: {supported} of {len(claims)} claims are supported")
    return tuple(notes)
