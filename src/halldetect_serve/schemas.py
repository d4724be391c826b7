"""Requests and answers as pydantic models; reports in them are the core's dataclass."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from halldetect.inputs import Conversation, Pair
from halldetect.report import Report, Status, Verdict

Text = Annotated[str, Field(max_length=10_000_000)]
ReportId = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]
_NO_NUL = r"^[^\x00]*$"  # databases end a text there: a search for it would find everything
_CURSOR = r"^[0-9]{1,12}(\.[0-9]{1,9})?~[A-Za-z0-9_-]{1,64}$"


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise ValueError if a key comes twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key comes twice")
    return values


# A form of the report that an answer may include besides the JSON.
Form = Literal["view", "markdown", "html"]


class _Request(BaseModel, extra="forbid", strict=True):
    pass


class CheckOptions(_Request):
    """The options of a request; null means the service's setting."""

    threshold: (
        Annotated[float, Field(ge=0, le=1)] | Literal["recall", "balanced", "precision"] | None
    ) = Field(default=None, description="Hallucinated at this score or above.")
    verifier: str | None = Field(default=None, description="A name of GET /v1/models.")
    store: bool = Field(default=False, description="Store the report; otherwise nothing is stored.")
    timeout_seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Shorter than the service's own limit, if given."
    )
    missing: bool = Field(
        default=False, description="With a question: list what the response leaves unanswered."
    )
    words: bool = Field(
        default=False, description="Ask the verifier for wrong words that no rule finds."
    )


class NamedDocument(_Request):
    """A document with the name that views of the report show."""

    id: Annotated[str, Field(max_length=1000)]
    text: Text


Document = Text | NamedDocument
Source = Document | Annotated[list[Document], Field(max_length=1000)]


class Item(_Request):
    """One response and its source."""

    source: Source = Field(
        description="The source, or several documents; a document is a text, or has id and text."
    )
    response: Text = Field(description="The text to check against the source.")
    question: Text | None = Field(
        default=None,
        description="The question that the response answers; a short answer is judged with it.",
    )

    def pair(self) -> Pair:
        """Return the texts as the detector takes them."""
        return Pair(self.model_dump(include={"source"})["source"], self.response, self.question)


class CheckRequest(Item, CheckOptions):
    """One response and its source."""

    include: list[Form] = Field(
        default=[], max_length=3, description="Further forms of the report to send along."
    )
    conversation: bool = Field(
        default=False,
        description="The response is a JSON list of messages; all turns of the assistant are "
        "checked, with the source as further documents.",
    )

    def pair(self) -> Pair:
        """Return the texts, or the conversation, as the detector takes them."""
        pair = super().pair()
        kind = Conversation if self.conversation else Pair
        return kind(pair.source, pair.response, pair.question)


class RepairRequest(Item, CheckOptions):
    """One response to repair, and its source."""

    store: Literal[False] = Field(default=False, description="A repair is not stored.")


class CompareRequest(CheckOptions):
    """Two responses to the same source."""

    store: Literal[False] = Field(default=False, description="A comparison is not stored.")
    source: Source = Field(description="As of a check.")
    a: Text = Field(description="The first response.")
    b: Text = Field(description="The second response.")
    question: Text | None = Field(default=None, description="As of a check.")


class BatchRequest(CheckOptions):
    """Many responses, each with its source, checked with the same options."""

    items: Annotated[list[Item], Field(min_length=1, max_length=1000)]


def _whole(value: object) -> object:
    """Return 3 for 3.0: JSON has one type of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Decision(_Request):
    """A person's decision on the state of a claim."""

    claim: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_whole)] = Field(
        description="Its number, from 1."
    )
    decision: Literal["agree", "disagree"]


class ReviewRequest(_Request):
    """The review of a report; it replaces the previous one."""

    note: Annotated[str, Field(max_length=20_000, pattern=_NO_NUL)] = ""
    decisions: Annotated[list[Decision], Field(max_length=10_000)] = []


class SummaryQuery(BaseModel, extra="forbid"):
    """The period of a summary."""

    days: int = Field(default=30, ge=1, le=3660)


class ReportQuery(BaseModel, extra="forbid"):
    """The query that selects stored reports; unknown names are refused."""

    id: list[ReportId] = Field(default=[], max_length=500, description="Only these.")
    verdict: Verdict | None = None
    state: Status | None = Field(default=None, description="With a claim in this state.")
    search: str | None = Field(
        default=None, max_length=500, pattern=_NO_NUL, description="In response, question or note."
    )
    since: date | None = Field(default=None, description="First day, in UTC.")
    until: date | None = Field(default=None, description="Last day, in UTC.")
    reviewed: bool | None = None

    @property
    def is_empty(self) -> bool:
        """True if no condition is set, so that every report is selected."""
        return all(getattr(self, name) in (None, [], "") for name in ReportQuery.model_fields)


class ListQuery(ReportQuery):
    """A part of the list of reports."""

    limit: int = Field(default=50, ge=1, le=200)
    before: str | None = Field(default=None, pattern=_CURSOR)


class ExportQuery(ReportQuery):
    """The form of an export."""

    form: Literal["reports", "labelled"] = "reports"


class DeleteQuery(ReportQuery):
    """The reports to delete: at least one condition, or `all=true`."""

    all: Literal["true"] | None = Field(
        default=None, description="Delete every report; only without any other condition."
    )


class Error(BaseModel):
    """An error; see `error_responses`."""

    version: int
    code: str
    message: str
    request_id: str


class Problem(BaseModel):
    """The body of every answer that is not a success."""

    error: Error


class Stored(BaseModel):
    """The address of a stored report."""

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
    view: list[Any] | None
    markdown: str | None
    html: str | None


class BatchResult(BaseModel):
    """The answer to a batch, in the order of its items."""

    request_id: str
    results: list[Result]


class ReviewAnswer(BaseModel):
    """The review of a report; without a review, `updated` is null."""

    note: str = ""
    decisions: list[Decision] = []
    reviewer: str | None = None
    updated: str | None = None
    verdict: Verdict | None = Field(
        default=None, description="By the decisions; null if they do not settle it."
    )

    @property
    def by_claim(self) -> dict[int, str]:
        """The decisions by number of the claim."""
        return {item.claim: item.decision for item in self.decisions}
