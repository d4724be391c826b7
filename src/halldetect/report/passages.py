"""The claims of a report with their passages, as every view shows them."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex, content_keys, content_words
from halldetect.reading.sources import read_source
from halldetect.report.phrases import (
    PASSAGE_LABEL,
    STATE_MEANING,
    STATES,
    document_name,
    explanations,
    one_line,
)
from halldetect.report.values import ClaimReport, Contents, Status

# Evidence that settles a claim is shown whole up to this length.
_MAX_PROOF = 1_200
# Metadata of a document that every view shows.
_ORIGIN = ("title", "page", "url", "score")
_MARKDOWN = re.compile(r"\*\*|__|`+|^[ \t]*(?:#{1,6}|>+|[-*+])[ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A claim with the words that every view shows for it, each on one line.

    Without a passage, `label` is the meaning of the state and `why` is never empty. `where` is the
    name of the document, empty if there is only one without a name; `span` is the place of the
    passage in it. `remarks` has the reading, the error and the citations of the claim.
    """

    number: int
    claim: ClaimReport
    why: str
    label: str
    document: int = 0
    name: str = ""
    where: str = ""
    span: Span | None = None
    quote: str = ""
    remarks: Sequence[str] = ()

    @property
    def place(self) -> str:
        """The document and the place of the passage in it."""
        return f"{self.name}, characters {self.span.start}–{self.span.end}" if self.span else ""


class Passages:
    """Finds the passage of each claim of a report; every view uses it."""

    def __init__(self, report: Contents) -> None:
        self._report = report

    @cached_property
    def _documents(self) -> tuple[Document, ...]:
        return tuple(map(read_source, self._report.documents))

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self._documents)

    def span(self, claim: ClaimReport) -> Span | None:
        """Return the place of the passage in the document of `claim.proof`.

        The passage is the evidence. Evidence that settles nothing can be a whole page; the passage
        is then its sentence that shares most with the claim.
        """
        evidence = claim.proof
        if evidence is None:
            return None
        settled = claim.status in (Status.SUPPORTED, Status.CONTRADICTED)
        if settled and len(evidence.span) <= _MAX_PROOF:
            return evidence.span
        inside = self._documents[evidence.document].sentences_in(evidence.span)
        if len(inside) < 2:
            return evidence.span
        shares = self._index.shares(claim.text, [(evidence.document, span) for span in inside])
        return inside[shares.index(max(shares))]

    def show(self, number: int, claim: ClaimReport, limit: int) -> ShownClaim:
        """Return a claim for a view; `number` counts from 1.

        The passage is quoted as it is read: a table row has its headers, a record the names of its
        values, and the punctuation of Markdown is left out. The quotation has about `limit`
        characters around the words of the claim.
        """
        report, proof, span = self._report, claim.proof, self.span(claim)
        meaning, reason = STATE_MEANING[claim.status], one_line(claim.reason or "")
        if proof is None or span is None:
            reason = reason or meaning
            return ShownClaim(number, claim, reason, meaning, remarks=explanations(claim))
        name = document_name(report, proof.document)
        return ShownClaim(
            number,
            claim,
            reason,
            PASSAGE_LABEL[claim.status],
            proof.document,
            name,
            where=name if len(report.documents) > 1 or report.document_names else "",
            span=span,
            quote=self._quoted(proof.document, span, claim, limit),
            remarks=[
                *self._origin(proof.document, name),
                *(
                    f"With {document_name(report, other.document)}: "
                    f"“{self._quoted(other.document, other.span, claim, limit)}”"
                    for other in proof.others
                ),
                *self._dispute(claim, limit),
                *explanations(claim),
            ],
        )

    def _origin(self, document: int, name: str) -> Iterator[str]:
        """Yield where a document is from, as far as its name does not say so."""
        known = self._report.document_metadata
        values = known[document] if known else {}
        parts = [
            f"{key} {value}"
            for key in _ORIGIN
            if (value := one_line(str(values.get(key, "")))) and value not in name
        ]
        if parts:
            yield f"Document: {', '.join(parts)}"

    def _dispute(self, claim: ClaimReport, limit: int) -> Iterator[str]:
        if claim.against is not None:
            place, newer = claim.against.passage, claim.against.newer
            quote = self._quoted(place.document, place.span, claim, limit)
            name = document_name(self._report, place.document)
            end = "" if newer is None else f" (newer: {document_name(self._report, newer)})"
            yield f"Disputed: {name} says “{quote}”{end}"

    def _quoted(self, document: int, span: Span, claim: ClaimReport, limit: int) -> str:
        read = self._documents[document].readable(span)
        return one_line(shorten(_MARKDOWN.sub("", read) or read, claim.text, limit))


def shown_claims(report: Contents, limit: int) -> list[ShownClaim]:
    """Return the claims of a report for a view, the most urgent first; `limit` as for `show`."""
    passages = Passages(report)
    shown = [passages.show(number, claim, limit) for number, claim in enumerate(report.claims, 1)]
    return sorted(shown, key=lambda item: STATES.index(item.claim.status))


def shorten(text: str, about: str, limit: int) -> str:
    """Return about `limit` characters of a text around the words it shares with another text."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    wanted = content_keys(about)
    hits = [word for word in content_words(text) if word.key in wanted]
    ends = [word.end for word in hits]
    runs = (hits[at : bisect(ends, hit.start + limit, at + 1)] for at, hit in enumerate(hits))
    run = max(runs, key=len, default=[])
    best = (run[0].start, run[-1].end) if run else (0, 0)
    spare = max(0, limit - (best[1] - best[0]))
    start = max(0, min(best[0] - spare // 2, len(text) - limit))
    end = min(len(text), start + limit)
    if start > 0 and (space := text.find(" ", start, best[0])) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", max(best[1], start + 1), end)) >= 0:
        end = space
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
