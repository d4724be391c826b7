"""What a check found: the report, its states, and its JSON form."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, cast

from halldetect.errors import InputError
from halldetect.reading.document import Span

SCHEMA_VERSION = 2
# Every probability and score in a report is rounded to this many decimals before it is used
# further, so that the same input gives the same bytes and a reader can redo the sums.
DECIMALS = 6


class Verdict(StrEnum):
    """What a check says of a response."""

    FAITHFUL = "faithful"
    HALLUCINATED = "hallucinated"
    ABSTAINED = "abstained"
    UNCHECKABLE = "uncheckable"


class Status(StrEnum):
    """What the source says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKABLE = "uncheckable"


class ErrorKind(StrEnum):
    """What is wrong with a claim."""

    NUMBER = "number"
    DATE = "date"
    UNIT = "unit"
    NAME = "name"
    ROLE = "role swapped"
    NEGATION = "negation"
    QUANTIFIER = "quantifier"
    CERTAINTY = "certainty"
    CAUSE = "cause"
    INVENTED = "invented detail"
    SELF = "contradicts itself"


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What the verifier says of one claim against one window.

    A two-way verifier knows no contradiction: `contradiction` is then None, not zero,
    and `neutral` holds everything that is not entailment.
    """

    entailment: float
    neutral: float
    contradiction: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A window of the source and what it says of a claim."""

    text: str
    document: int
    span: Span
    scales: tuple[int, ...]
    probabilities: Probabilities


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What is wrong with a failing claim, and the words of both sides that show it.

    `source_words` is empty where the source has nothing in the place of the claim's words. Of a
    claim that contradicts itself elsewhere they are the words of the other claim.
    """

    kind: ErrorKind
    claim_words: str
    source_words: str


@dataclass(frozen=True, slots=True)
class CitationReport:
    """A document that a claim cites, and what that document alone says of the claim.

    `document` is None where no document has the number that is cited.
    """

    label: str
    document: int | None
    status: Status


@dataclass(frozen=True, slots=True)
class CitationScores:
    """How far the citations of a response hold.

    `precision` is the share of the citations whose document supports the claim, `recall` the share
    of the claims that a document they cite supports. The rest counts claims with a citation:
    supported by a document that they cite, by another one only, or by none.
    """

    precision: float
    recall: float
    supported_by_cited: int
    supported_by_other: int
    supported_by_none: int


@dataclass(frozen=True, slots=True)
class PartReport:
    """A piece of a claim that fails, judged as if it stood alone; it decides nothing.

    `spans` are its pieces in the response; `support` is as for claims.
    """

    text: str
    spans: tuple[Span, ...]
    status: Status
    support: float | None


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """One claim, its place in the response, and what the source says of it.

    `support` in [0, 1] is how far the source says so (1 is fully supported); `fed_score` is the
    paper's max P(E) - max P(C); `status` follows the configured scoring.
    `evidence` is the passage that decides the state.
    `entailing` and `contradicting` have the greatest P(E) and P(C), chosen independently;
    `contradiction` in [0, 1] is how far the source says otherwise, averaged over the scales;
    `by_scale` holds the most supporting window at each scale m, coarse to fine.
    `proof` is the shortest passage found that settles a supported or contradicted claim by itself.
    `read_as` is what the verifier has read instead of the text, where the claim leans on an earlier
    sentence; `parts` say which part of a failing claim fails, `error` what is wrong with it where
    that is known, and `citations` whether the documents that the claim cites support it.
    """

    text: str
    span: Span | None
    span_reason: str | None
    status: Status
    reason: str | None
    support: float | None
    fed_score: float | None
    entailing: Evidence | None
    contradicting: Evidence | None
    contradiction: float | None = None
    by_scale: tuple[Evidence, ...] = ()
    origin: str = "extracted"
    read_as: str | None = None
    parts: tuple[PartReport, ...] = ()
    proof: Evidence | None = None
    error: ErrorReport | None = None
    citations: tuple[CitationReport, ...] = ()

    @property
    def evidence(self) -> Evidence | None:
        """The passage that decides the state: it contradicts the claim or comes closest to it."""
        if self.proof is not None:
            return self.proof
        if self.status is Status.CONTRADICTED and self.contradicting is not None:
            return self.contradicting
        return self.contradicting if self.entailing is None else self.entailing

    def quoting(self, documents: Sequence[str]) -> ClaimReport:
        """The claim with every passage as it stands in the documents.

        A verifier may read a passage otherwise: a table row with its headers, or without words
        that are meant for the verifier.
        """

        def quoted(item: Evidence) -> Evidence:
            return replace(item, text=item.span.cut(documents[item.document]))

        return replace(
            self,
            entailing=self.entailing and quoted(self.entailing),
            contradicting=self.contradicting and quoted(self.contradicting),
            by_scale=tuple(map(quoted, self.by_scale)),
            proof=self.proof and quoted(self.proof),
        )

    @property
    def score(self) -> float | None:
        """The old name of `support`, which goes with the next release."""
        warnings.warn("ClaimReport.score is now .support", DeprecationWarning, stacklevel=2)
        return self.support


@dataclass(frozen=True, slots=True)
class Cost:
    """What a check took: model calls, tokens, pairs, seconds per phase."""

    generative_passes: int = 0
    extractor_tokens_in: int = 0
    extractor_tokens_out: int = 0
    pairs_judged: int = 0
    pairs_skipped: int = 0
    verifier_tokens: int = 0
    claims_proposed: int = 0
    claims_dropped: int = 0
    claims_restored: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to run the same check again."""

    version: str
    extractor: dict[str, Any]
    verifier: dict[str, Any]
    configuration: dict[str, Any]
    seed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one check.

    `score` is the probability-like hallucination score of the configured scoring
    (0 faithful, 1 hallucinated); `fed_score` is always the paper's. Both are None when
    nothing could be checked, and `reason` then says why. `document_names` has a name per
    document where the caller gave names, and is empty otherwise. `citations` is None where the
    response cites no document.

    `ok` is the one thing a test or a gate needs, and `str(report)` says why it is not.
    """

    verdict: Verdict
    reason: str | None
    score: float | None
    fed_score: float | None
    calibrated_score: float | None
    scoring: str
    threshold: float
    claims: tuple[ClaimReport, ...]
    response: str
    documents: tuple[str, ...]
    question: str | None
    cost: Cost
    provenance: Provenance
    document_names: tuple[str, ...] = ()
    citations: CitationScores | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def ok(self) -> bool:
        """Whether the response is faithful; a response that could not be checked is not ok."""
        return self.verdict is Verdict.FAITHFUL

    @property
    def precision(self) -> float | None:
        """The share of the claims that are supported; None if there are none."""
        if not self.claims:
            return None
        return sum(claim.status is Status.SUPPORTED for claim in self.claims) / len(self.claims)

    def __str__(self) -> str:
        """The verdict, and each claim that the source does not back with its passage."""
        from halldetect.render.short import short

        return short(self)

    def document_name(self, document: int) -> str:
        """The name of a document, by its index: the one given, else its number."""
        if self.document_names:
            return self.document_names[document]
        return "Source" if len(self.documents) == 1 else f"Document {document + 1}"

    def rethreshold(self, threshold: float) -> Report:
        """The same findings cut at another threshold; no model runs.

        The states of the claims stay: they say what the source says of each claim, the
        threshold how much of that makes a response hallucinated. Where pairs were skipped, a
        score below the threshold of the check may be too high (never too low).
        """
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not (is_number and 0.0 <= threshold <= 1.0):
            raise InputError(f"threshold must lie between 0 and 1, not {threshold!r}")
        configuration = {**self.provenance.configuration, "threshold": threshold}
        verdict = self.verdict if self.score is None else decide(self.score, self.claims, threshold)
        return replace(
            self,
            threshold=threshold,
            verdict=verdict,
            reason=self.reason if self.score is None else unchecked(verdict, self.claims),
            provenance=replace(self.provenance, configuration=configuration),
        )

    def to_dict(self) -> dict[str, Any]:
        """The report in plain dicts, lists and strings, as in its JSON form."""
        from halldetect.report.json_form import plain

        return cast(dict[str, Any], plain(self))

    def to_json(self, *, indent: int | None = 2) -> str:
        """The report as JSON; `indent` as for `json.dumps`."""
        plain = self.to_dict()
        text = json.dumps(plain, ensure_ascii=False, indent=indent, allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate, say in a file name: escape it
            text = json.dumps(plain, ensure_ascii=True, indent=indent, allow_nan=False)
        return text

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report of a JSON text, as `to_json` writes it.

        Args:
            text: the JSON.

        Raises:
            InputError: for anything else.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not a halldetect report: {error}") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> Report:
        """The report of plain JSON values, as `to_dict` gives them.

        Args:
            data: the values.

        Raises:
            InputError: for anything else.
        """
        from halldetect.report.json_form import read_report

        return read_report(data)


def citation_scores(claims: Sequence[ClaimReport]) -> CitationScores | None:
    """How far the citations of claims hold; None where there are none."""
    checked = [claim for claim in claims if claim.status is not Status.UNCHECKABLE]
    citing = [claim for claim in checked if claim.citations]
    if not citing:
        return None
    supported = Status.SUPPORTED
    marks = [item.status is supported for claim in citing for item in claim.citations]
    by_cited = [any(item.status is supported for item in claim.citations) for claim in citing]
    by_other = [
        claim.status is supported and not held for claim, held in zip(citing, by_cited, strict=True)
    ]
    return CitationScores(
        precision=rounded(sum(marks) / len(marks)),
        recall=rounded(sum(by_cited) / len(checked)),
        supported_by_cited=sum(by_cited),
        supported_by_other=sum(by_other),
        supported_by_none=len(citing) - sum(by_cited) - sum(by_other),
    )


def decide(score: float | None, claims: tuple[ClaimReport, ...], threshold: float) -> Verdict:
    """Flagged if the score says so; faithful only if every claim was really checked."""
    if score is None:
        return Verdict.UNCHECKABLE
    if score >= threshold:
        return Verdict.HALLUCINATED
    if any(claim.status is Status.UNCHECKABLE for claim in claims):
        return Verdict.UNCHECKABLE
    return Verdict.FAITHFUL


def unchecked(verdict: Verdict, claims: tuple[ClaimReport, ...]) -> str | None:
    """Why a response with claims is uncheckable; None when it is not."""
    if verdict is not Verdict.UNCHECKABLE:
        return None
    missed = [claim for claim in claims if claim.status is Status.UNCHECKABLE]
    which = f"{len(missed)} of {len(claims)} claims" if len(claims) > 1 else "the only claim"
    return f"{which} could not be checked: {missed[0].reason}"


def rounded(value: float) -> float:
    """A probability or score at the precision of the report (never -0.0)."""
    return round(value, DECIMALS) + 0.0
