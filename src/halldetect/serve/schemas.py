"""Requests and answers as pydantic models; the report in them is the report's own dataclass."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from halldetect.report import Report, Verdict

Text = Annotated[str, Field(max_length=10_000_000)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Form(StrEnum):
    VIEW = "view"
    MARKDOWN = "markdown"
    HTML = "html"


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Chosen(_Request):
    """What a request may choose; null is the service's own setting."""

    threshold: Fraction | None = None
    scoring: Literal["calibrated", "fed"] | None = None
    exact: bool | None = Field(default=None, description="Judge every pair of claim and window.")
    extractor: str | None = Field(default=None, description="A name of GET /v1/models.")
    verifier: str | None = Field(default=None, description="A name of GET /v1/models.")
    store: bool = Field(default=False, description="Keep the report; nothing is kept otherwise.")
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Shorter than the service's own limit, if given."
    )


class Item(_Request):
    source: Text | Annotated[list[Text], Field(max_length=1000)] = Field(
        description="The source, or several documents."
    )
    response: Text = Field(description="The text to check against the source.")
    question: Text | None = Field(default=None, description="Recorded in the report, not judged.")


class CheckRequest(Item, Chosen):
    """One response and its source."""

    include: list[Annotated[Form, Field(strict=False)]] = Field(
        default=[], max_length=3, description="Further forms of the report to send along."
    )


class BatchRequest(Chosen):
    """Many responses, each with its source, checked with the same options."""

    items: Annotated[list[Item], Field(min_length=1, max_length=1000)]


class Error(BaseModel):
    version: int
    code: str
    message: str
    request_id: str


class Problem(BaseModel):
    """The body of every answer that is not a success."""

    error: Error


class Stored(BaseModel):
    id: str
    url: str


class Result(BaseModel):
    report: Report
    stored: Stored | None
    store_error: Error | None


class CheckResult(Result):
    request_id: str
    view: dict[str, Any] | None
    markdown: str | None
    html: str | None


class BatchResult(BaseModel):
    request_id: str
    results: list[Result]


class ClaimCounts(BaseModel):
    supported: int
    contradicted: int
    unsupported: int
    uncheckable: int


class Row(BaseModel):
    id: str
    created: str
    verdict: Verdict
    score: float | None
    threshold: float
    claims: ClaimCounts
    seconds: float
    excerpt: str
    question: str | None


class ReportList(BaseModel):
    reports: list[Row]
    next: str | None


class VerdictCounts(BaseModel):
    faithful: int
    hallucinated: int
    uncheckable: int


class Day(VerdictCounts):
    day: str


class Durations(BaseModel):
    mean: float | None
    p95: float | None


class Summary(BaseModel):
    days: int
    total: int
    verdicts: VerdictCounts
    hallucination_rate: float | None
    by_day: list[Day]
    claims: ClaimCounts
    seconds: Durations
    slowest: list[Row]


class View(BaseModel):
    id: str
    created: str
    view: dict[str, Any]


class Deleted(BaseModel):
    deleted: int


class State(BaseModel):
    status: str


class Bounds(BaseModel):
    max_body_bytes: int
    max_source: int
    max_response: int
    max_items: int
    timeout_seconds: float


class Session(BaseModel):
    auth_required: bool
    authenticated: bool
    token_name: str | None
    scopes: list[str]
    storage: bool
    version: str
    limits: Bounds


class NamedModel(BaseModel):
    name: str
    description: str


class ModelPair(BaseModel):
    extractor: str
    verifier: str


class Defaults(BaseModel):
    scoring: str
    threshold: float
    exact: bool


class Models(BaseModel):
    default: ModelPair
    extractors: list[NamedModel]
    verifiers: list[NamedModel]
    scorings: list[str]
    defaults: Defaults
