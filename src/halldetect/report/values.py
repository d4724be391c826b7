"""The values of a report: verdict, claims with their passages, cost and provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from halldetect.inputs import Metadata
from halldetect.reading.document import Span, UncheckedPart

SCHEMA_VERSION = 3
# Probabilities and scores are rounded before further use, so that equal input gives equal bytes
# and a reader can redo the sums.
DECIMALS = 6
# For fields that few reports have: the JSON form leaves them out if they are empty.
OPTIONAL = {"optional": True}


class Verdict(StrEnum):
    """The outcome for a response."""

    FAITHFUL = "faithful"
    HALLUCINATED = "hallucinated"
    ABSTAINED = "abstained"
    UNCHECKABLE = "uncheckable"


class Status(StrEnum):
    """The outcome for a claim."""

    SUPPORTED = "supported"
    UNCLEAR = "unclear"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKABLE = "uncheckable"


class ErrorKind(StrEnum):
    """The kind of error in a claim."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    INVENTED = "invented detail"
    QUOTATION = "quotation"
    IDENTIFIER = "invented identifier"


@dataclass(frozen=True, slots=True)
class Probabilities:
    """The verifier's answer for one claim and one window.

    `contradiction` is None, not zero, for a two-way verifier; `neutral` then holds everything
    that is not entailment.
    """

    entailment: float
    neutral: float
    contradiction: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage of the source, by document index and place in it.

    `scales`, the paper's window sizes, and `probabilities` are set in paper mode only. `others` are
    passages of further documents that settle the claim together with this one.
    """

    text: str
    document: int
    span: Span
    scales: tuple[int, ...] = field(default=(), metadata=OPTIONAL)
    probabilities: Probabilities | None = field(default=None, metadata=OPTIONAL)
    others: tuple[Evidence, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The kind of error in a failing claim, and the words of both sides; empty if one has none."""

    kind: ErrorKind
    claim_words: str
    source_words: str
    label: str | None = field(default=None, metadata=OPTIONAL)  # of the kind, in `error_types`


@dataclass(frozen=True, slots=True)
class WrongWords:
    """Words of a claim that the source does not bear out, and what it has instead.

    `kind` is mostly a value of `ErrorKind`; `span` is their place in the response, if known.
    """

    kind: str
    words: str
    source_words: str = ""
    span: Span | None = None
    label: str | None = field(default=None, metadata=OPTIONAL)  # as in ErrorReport


class QuotationState(StrEnum):
    """The relation of a quotation to the source."""

    VERBATIM = "verbatim"
    CHANGED = "changed"
    STITCHED = "stitched together"
    OTHER_SPEAKER = "of another speaker"
    OTHER_DOCUMENT = "from another document"
    NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class QuotationReport:
    """Text in quotation marks, and the words of the source that it repeats or changes."""

    state: QuotationState
    text: str
    source_words: str = ""
    document: int | None = None


@dataclass(frozen=True, slots=True)
class Dispute:
    """A passage that contradicts a supported claim, and the newer document if dates are known."""

    passage: Evidence
    newer: int | None = None


@dataclass(frozen=True, slots=True)
class CitationReport:
    """A document that a claim cites, and the state of the claim against that document alone."""

    label: str
    document: int | None  # None if no document has the cited number
    status: Status


@dataclass(frozen=True, slots=True)
class CitationScores:
    """The quality of the citations of a response.

    `precision` is the share of citations whose document supports the claim, `recall` the share of
    claims supported by a document that they cite. The other fields count claims with a citation,
    by the document that supports them.
    """

    precision: float
    recall: float
    supported_by_cited: int
    supported_by_other: int
    supported_by_none: int


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """One claim, its place in the response, and the passage of the source that decides it.

    Attributes:
        support: How far the source says so, from 0 to 1.
        contradiction: How far it says otherwise; None for two-way verifiers and copies.
        proof: The shortest passage found that settles the claim, or the closest one.
        read_as: The form with resolved references that was judged, if that rescued the claim.
        wrong: The words that the source does not bear out, where they were found.
        quotations: The texts in quotation marks, compared with the source word for word.
        against: The passage of another document that contradicts a supported claim.
        fed_score: The paper's max P(E) - max P(C); this and the next two only in paper mode.
        entailing: The window with the greatest P(E).
        contradicting: The window with the greatest P(C), chosen independently.
    """

    text: str
    span: Span | None
    span_reason: str | None
    status: Status
    reason: str | None
    support: float | None
    contradiction: float | None = None
    proof: Evidence | None = None
    read_as: str | None = None
    error: ErrorReport | None = None
    citations: tuple[CitationReport, ...] = ()
    wrong: tuple[WrongWords, ...] = field(default=(), metadata=OPTIONAL)
    quotations: tuple[QuotationReport, ...] = field(default=(), metadata=OPTIONAL)
    against: Dispute | None = field(default=None, metadata=OPTIONAL)
    fed_score: float | None = field(default=None, metadata=OPTIONAL)
    entailing: Evidence | None = field(default=None, metadata=OPTIONAL)
    contradicting: Evidence | None = field(default=None, metadata=OPTIONAL)

    @property
    def failing(self) -> bool:
        """Return True if the source contradicts the claim or does not support it."""
        return self.status in (Status.CONTRADICTED, Status.UNSUPPORTED)

    @property
    def passages(self) -> tuple[Evidence, ...]:
        """Return the passages of the proof, one for each document."""
        return () if self.proof is None else (self.proof, *self.proof.others)

    def labelled(self, configuration: Mapping[str, Any]) -> ClaimReport:
        """Return the claim with the labels of a configuration for its kinds of error."""
        labels = configuration.get("error_types") or {}
        error = self.error and replace(self.error, label=labels.get(self.error.kind))
        wrong = tuple(replace(item, label=labels.get(item.kind, item.label)) for item in self.wrong)
        return replace(self, error=error, wrong=wrong)


@dataclass(frozen=True, slots=True)
class Cost:
    """Model calls, tokens and pairs of a check, and seconds per phase."""

    generative_passes: int = 0
    extractor_tokens_in: int = 0
    extractor_tokens_out: int = 0
    pairs_judged: int = 0
    verifier_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The data needed to repeat a check."""

    version: str
    verifier: dict[str, Any]
    configuration: dict[str, Any]
    notes: tuple[str, ...] = ()
    extractor: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MessageReport:
    """A message of a conversation: a document, or a turn in the response with its verdict."""

    document: int | None = None
    span: Span | None = None  # the text of a turn
    calls: Span | None = None  # its tool calls
    verdict: Verdict | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a check has found; `Report` adds how it is shown and stored.

    `score` runs from 0 (faithful) to 1 (hallucinated): 1 minus the support of the worst claim. It
    is None if nothing could be checked; `reason` then says why. `graded` is the unsupported share
    of the response. `document_names` is empty unless the caller named the documents. `unchecked`
    has the parts of the response that were not judged. `document_metadata` has what the caller's
    retriever said of each document: page, title, url, score. `citations` is None if the response
    cites no document. `fed_score` is set in paper mode only. `missing` has statements of the source
    that answer the question and that the response lacks. `languages` has those of the response and
    each document.
    """

    verdict: Verdict
    reason: str | None
    score: float | None
    threshold: float
    claims: tuple[ClaimReport, ...]
    response: str
    documents: tuple[str, ...]
    question: str | None
    cost: Cost
    provenance: Provenance
    document_names: tuple[str, ...] = ()
    unchecked: tuple[UncheckedPart, ...] = ()
    citations: CitationScores | None = None
    graded: float | None = None
    fed_score: float | None = field(default=None, metadata=OPTIONAL)
    missing: tuple[Evidence, ...] = field(default=(), metadata=OPTIONAL)
    languages: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    messages: tuple[MessageReport, ...] = field(default=(), metadata=OPTIONAL)
    document_metadata: tuple[Metadata, ...] = field(default=(), metadata=OPTIONAL)
    schema_version: int = SCHEMA_VERSION

    @property
    def ok(self) -> bool:
        """Return True if the response is faithful; an unchecked response is not ok."""
        return self.verdict is Verdict.FAITHFUL

    def __bool__(self) -> bool:
        """Return True if the response is faithful, so that `assert check(...)` says it."""
        return self.ok

    @property
    def left_out(self) -> tuple[UncheckedPart, ...]:
        """Return the unchecked parts that may assert something."""
        return tuple(part for part in self.unchecked if part.asserting)

    @property
    def disputed(self) -> tuple[ClaimReport, ...]:
        """Return the claims that one document supports and another contradicts."""
        return tuple(claim for claim in self.claims if claim.against is not None)

    @property
    def precision(self) -> float | None:
        """Return the share of claims that are supported; None without claims."""
        supported = sum(claim.status is Status.SUPPORTED for claim in self.claims)
        return supported / len(self.claims) if self.claims else None

    def passes(self, claim: ClaimReport) -> bool:
        """Return True if a claim does not flag the response at its threshold."""
        if claim.status is Status.SUPPORTED:
            return True
        return claim.support is not None and rounded(1.0 - claim.support) < self.threshold

    def document_name(self, document: int) -> str:
        """Return the name of a document by its index: the given one, else its number."""
        if self.document_names:
            return self.document_names[document]
        return "Source" if len(self.documents) == 1 else f"Document {document + 1}"


def decide(
    score: float | None,
    claims: tuple[ClaimReport, ...],
    threshold: float,
    left_out: Sequence[UncheckedPart] = (),
) -> tuple[Verdict, str | None]:
    """Return the verdict, and why a response is uncheckable.

    A response is faithful only if every claim was checked and no part is left out.
    """
    if score is not None and score >= threshold:
        return Verdict.HALLUCINATED, None
    missed = [claim for claim in claims if claim.status is Status.UNCHECKABLE]
    if missed:
        which = f"{len(missed)} of {len(claims)} claims" if len(claims) > 1 else "the only claim"
        return Verdict.UNCHECKABLE, f"{which} could not be checked: {missed[0].reason}"
    if left_out:
        reasons = ", ".join(dict.fromkeys(part.reason for part in left_out))
        return Verdict.UNCHECKABLE, f"{not_checked(left_out)}: {reasons}"
    return (Verdict.UNCHECKABLE if score is None else Verdict.FAITHFUL), None


def not_checked(parts: Sequence[UncheckedPart]) -> str:
    """Return "2 parts were not checked"."""
    return "1 part was not checked" if len(parts) == 1 else f"{len(parts)} parts were not checked"


def rounded(value: float) -> float:
    """Return a probability or score at the precision of the report, never -0.0."""
    return round(value, DECIMALS) + 0.0
