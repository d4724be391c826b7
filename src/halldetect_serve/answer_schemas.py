"""Answers as pydantic models; the report in them is the report's own dataclass."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from halldetect.report import Report, Verdict
from halldetect_serve.request_schemas import Decision, Defaults


class Error(BaseModel):
    """What went wrong; see `error_responses`."""

    version: int
    code: str
    message: str
    request_id: str


class Problem(BaseModel):
    """The body of every answer that is not a success."""

    error: Error


class Stored(BaseModel):
    """Where a report was stored."""

    id: str
    url: str


class Result(BaseModel):
    """A report and where it was stored."""

    report: Report
    stored: Stored | None
    store_error: Error | None


class CheckResult(Result):
    """The answer to a check; the forms are null unless the request includes them."""

    request_id: str
    view: dict[str, Any] | None
    markdown: str | None
    html: str | None


class RepairResult(BaseModel):
    """The answer to a repair; see `Repair` in docs/repair.md for its fields."""

    request_id: str
    repair: dict[str, Any]
    view: dict[str, Any] = Field(description="What the page shows: the texts in pieces.")


class BatchResult(BaseModel):
    """The answer to a batch, in the order of its items."""

    request_id: str
    results: list[Result]


class ComparedClaims(BaseModel):
    """Claims of both responses about the same thing, by index; null where one makes no such."""

    relation: Literal["same", "different", "only_a", "only_b"]
    a: int | None
    b: int | None


class ComparisonResult(BaseModel):
    """Two reports on the same source, and how their claims belong together."""

    request_id: str
    better: Literal["a", "b"] | None
    pairs: list[ComparedClaims]
    a: Report
    b: Report
    view: dict[str, Any]


class ClaimCounts(BaseModel):
    """Number of claims by state."""

    supported: int
    contradicted: int
    unsupported: int
    uncheckable: int


class ReviewCounts(BaseModel):
    """What a person said of a report, in short."""

    note: str
    agree: int
    disagree: int


class Row(BaseModel):
    """A stored report in the list of reports."""

    id: str
    created: str
    verdict: Verdict
    score: float | None
    threshold: float
    claims: ClaimCounts
    seconds: float
    excerpt: str
    question: str | None


class ListedReport(Row):
    """A stored report in the list of reports, with what was said of it."""

    review: ReviewCounts | None


class ReportList(BaseModel):
    """A part of the list of reports; `next` is the cursor of the next part."""

    reports: list[ListedReport]
    next: str | None


class VerdictCounts(BaseModel):
    """Number of reports by verdict."""

    faithful: int
    hallucinated: int
    abstained: int
    uncheckable: int


class Day(VerdictCounts):
    """Number of reports of one day by verdict."""

    day: str


class Durations(BaseModel):
    """Seconds per check."""

    mean: float | None
    p95: float | None


class Summary(BaseModel):
    """Counts, rates and durations over the stored reports."""

    days: int
    total: int
    verdicts: VerdictCounts
    hallucination_rate: float | None
    by_day: list[Day]
    claims: ClaimCounts
    errors: dict[str, int]
    seconds: Durations
    slowest: list[Row]


class View(BaseModel):
    """A stored report as the page shows it."""

    id: str
    created: str
    view: dict[str, Any]


class ReviewAnswer(BaseModel):
    """What was said of a report; `updated` is null if nothing was."""

    note: str
    decisions: list[Decision]
    reviewer: str | None
    updated: str | None


class Deleted(BaseModel):
    """Number of deleted reports."""

    deleted: int


class State(BaseModel):
    """The state of the process or of the worker."""

    status: str


class Bounds(BaseModel):
    """Limits of this service."""

    max_body_bytes: int
    max_source: int
    max_response: int
    max_items: int
    timeout_seconds: float


class Session(BaseModel):
    """Who is asking, and what this service offers."""

    auth_required: bool
    authenticated: bool
    token_name: str | None
    scopes: list[str]
    storage: bool
    pdf: bool
    version: str
    limits: Bounds


class NamedModel(BaseModel):
    """An extractor or a verifier."""

    name: str
    description: str


class ModelPair(BaseModel):
    """The models of a request that names none."""

    extractor: str
    verifier: str


class UpstreamModel(BaseModel):
    """A model of the chat server behind the proxy, as clients of OpenAI expect it."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = ""


class Models(BaseModel):
    """The models and scorings that a request may name, and the defaults.

    `data` lists the models of the chat server behind the proxy, so that a chat client finds them
    here; `upstream_error` says why they are not known.
    """

    object: Literal["list"] = "list"
    data: list[UpstreamModel]
    upstream_error: str | None
    default: ModelPair
    extractors: list[NamedModel]
    verifiers: list[NamedModel]
    scorings: list[str]
    defaults: Defaults
