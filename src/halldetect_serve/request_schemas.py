"""Requests as pydantic models.

The options that a request may set are those of `halldetect.config` marked `per_request`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from halldetect.config import Configuration, Option, options
from halldetect.scoring import OPERATING_POINTS

Text = Annotated[str, Field(max_length=10_000_000)]

PER_REQUEST = tuple(option for option in options() if option.per_request)
# The options that name a model; a request names one of those on offer.
MODEL_OPTIONS = ("extractor", "verifier")
# What the type of an option does not say.
_TYPES: dict[str, Any] = {
    "threshold": Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    | Literal[OPERATING_POINTS]
}


class Form(StrEnum):
    """A form of the report that an answer may bring besides the JSON."""

    VIEW = "view"
    MARKDOWN = "markdown"
    HTML = "html"


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _value_type(option: Option) -> Any:
    kind = get_type_hints(Configuration)[option.name]
    if option.choices:
        kind = Literal[option.choices]
    return _TYPES.get(option.name, kind)


def _request_field(option: Option) -> tuple[Any, Any]:
    """Return type and field of an option in a request; null is the service's own setting."""
    is_model = option.name in MODEL_OPTIONS
    description = "A name of GET /v1/models." if is_model else option.help
    return _value_type(option) | None, Field(default=None, description=description)


if TYPE_CHECKING:

    class _PerRequestOptions(_Request):
        """A type checker does not know the fields: read them with `CheckOptions.overrides`."""

    class Defaults(BaseModel):
        """The options of a request that sets none, the models aside."""

else:
    _PerRequestOptions = create_model(
        "_PerRequestOptions",
        __base__=_Request,
        **{option.name: _request_field(option) for option in PER_REQUEST},
    )
    Defaults = create_model(
        "Defaults",
        __doc__="The options of a request that sets none, the models aside.",
        **{
            option.name: get_type_hints(Configuration)[option.name]
            for option in PER_REQUEST
            if option.name not in MODEL_OPTIONS
        },
    )


class CheckOptions(_PerRequestOptions):
    """What a request may choose; null is the service's own setting."""

    store: bool = Field(default=False, description="Store the report; otherwise nothing is stored.")
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Shorter than the service's own limit, if given."
    )

    def overrides(self) -> dict[str, Any]:
        """Return the options of `Configuration` that the request sets."""
        names = [option.name for option in PER_REQUEST]
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class NamedDocument(_Request):
    """A document with the name that views of the report show."""

    id: Annotated[str, Field(max_length=1000)]
    text: Text


SourceDocument = Text | NamedDocument


class Item(_Request):
    """One response and its source."""

    source: SourceDocument | Annotated[list[SourceDocument], Field(max_length=1000)] = Field(
        description="The source, or several documents; a document is a text, or has id and text."
    )
    response: Text = Field(description="The text to check against the source.")
    question: Text | None = Field(
        default=None,
        description="What the response answers; an answer that leans on it is judged with it.",
    )


class CheckRequest(Item, CheckOptions):
    """One response and its source."""

    include: list[Annotated[Form, Field(strict=False)]] = Field(
        default=[], max_length=3, description="Further forms of the report to send along."
    )


def _never_stored() -> Any:
    return Field(
        default=False,
        description="Only reports of checks are stored.",
        json_schema_extra={"enum": [False]},
    )


class RepairRequest(Item, CheckOptions):
    """One response to repair, and its source."""

    store: bool = _never_stored()


class CompareRequest(CheckOptions):
    """Two responses to the same source."""

    store: bool = _never_stored()
    source: SourceDocument | Annotated[list[SourceDocument], Field(max_length=1000)] = Field(
        description="As of a check."
    )
    a: Text = Field(description="The first response.")
    b: Text = Field(description="The second response.")
    question: Text | None = Field(default=None, description="As of a check.")


class BatchRequest(CheckOptions):
    """Many responses, each with its source, checked with the same options."""

    items: Annotated[list[Item], Field(min_length=1, max_length=1000)]


def _whole(value: object) -> object:
    """JSON knows one kind of number: 3.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Decision(_Request):
    """What a person says of the state of a claim."""

    claim: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_whole)] = Field(
        description="Its number, from 1."
    )
    decision: Literal["agree", "disagree"]


class ReviewRequest(_Request):
    """What a person says of a report; it replaces what was said before."""

    note: Annotated[str, Field(max_length=20_000)] = ""
    decisions: Annotated[list[Decision], Field(max_length=10_000)] = []


class PdfRequest(_Request):
    """A report to be printed."""

    report: dict[str, Any] = Field(description="A report as a check answers it.")
    response_name: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="Name of the file with the response."
    )
