"""Chat requests, and the changes of the proxy to their answers; pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from halldetect.preparation import CHECK_FAILED
from halldetect.report import ClaimReport, Report
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.choices import ChoiceText
from halldetect_serve.proxy.rag_prompt import SourcePlaces, is_source, message_text
from halldetect_serve.schemas import CheckOptions, Text
from halldetect_serve.settings import CheckSettings, UpstreamSettings
from halldetect_serve.worker.process import FinishedReport

_CHANGE_FIELDS = ("action", "before", "after", "why")


class Guarding(CheckOptions):
    """The field `halldetect` of a chat request."""

    sources: Annotated[list[Text], Field(max_length=1000)] | None = Field(
        default=None, description="The texts that the answer must be faithful to."
    )


class ChatRequest(BaseModel):
    """A request of the OpenAI chat protocol; other fields are passed on unchanged."""

    model_config = ConfigDict(extra="allow")

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)]
    stream: StrictBool | None = None
    halldetect: Guarding | None = Field(default=None, description="Not passed on to the upstream.")

    @property
    def options(self) -> Guarding:
        """The options of the check."""
        return self.halldetect or Guarding()

    def upstream_body(self) -> dict[str, Any]:
        """Return the fields to pass on to the upstream."""
        return self.model_dump(exclude={"halldetect", "stream"}, exclude_unset=True)

    def sources(self, places: SourcePlaces) -> list[str]:
        """Return `halldetect.sources`; without it, the texts in the operator's places."""
        if self.options.sources is not None:
            return self.options.sources
        return places.find(self.upstream_body())

    def question(self) -> str | None:
        """Return the last message of the user that is not a source."""
        for message in reversed(self.messages):
            if message.get("role") == "user" and not is_source(message):
                return message_text(message.get("content"))
        return None


@dataclass(frozen=True, slots=True)
class CheckedChoice:
    """One choice of an answer with its report.

    `stored` has the fields `stored` and `store_error` of the answer, `repair` the result of
    `Repair.to_dict`.
    """

    index: int
    choice: ChoiceText
    report: FinishedReport
    stored: dict[str, Any]
    repair: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        """The verdict of the report."""
        return str(self.report.overview["verdict"])

    def is_rejected(self, upstream: UpstreamSettings) -> bool:
        """Return True if the operator blocks such an answer, or the check failed."""
        if self.verdict == "hallucinated":
            return True
        reason = str(json.loads(self.report.json)["reason"] or "")
        if self.verdict == "uncheckable" and reason.startswith(CHECK_FAILED):
            return True
        # A choice without text, such as a tool call, has nothing to block.
        has_text = bool(self.choice.text.strip())
        return upstream.block_unchecked and self.verdict == "uncheckable" and has_text

    def annotation(self, action: str) -> dict[str, Any]:
        """Return the entry of this choice in the field `halldetect` of the answer."""
        report = Report.from_json(self.report.json)
        return {
            "index": self.index,
            "action": action,
            "verdict": str(report.verdict),
            "score": report.score,
            "threshold": report.threshold,
            "reason": report.reason,
            "claims": [_claim_annotation(claim) for claim in report.claims],
            "checked_fields": list(self.choice.checked),
            "unchecked_fields": sorted(self.choice.unchecked),
            **self.stored,
            **({} if self.repair is None else {"repair": _repair_annotation(self.repair)}),
        }


def _claim_annotation(claim: ClaimReport) -> dict[str, Any]:
    passage = claim.proof
    return {
        "text": claim.text,
        "span": None if claim.span is None else asdict(claim.span),
        "status": str(claim.status),
        "support": claim.support,
        "reason": claim.reason,
        "passage": None
        if passage is None
        else {
            "text": passage.text,
            "document": passage.document,
            "span": asdict(passage.span),
        },
    }


def _repair_annotation(repair: dict[str, Any]) -> dict[str, Any]:
    changes = [
        {name: change[name] for name in _CHANGE_FIELDS}
        for change in repair["changes"]
        if change["action"] != "kept"
    ]
    return {"outcome": repair["outcome"], "reason": repair["reason"], "changes": changes}


def require_no_weaker(settings: CheckSettings, options: CheckOptions) -> None:
    """Refuse options that could weaken the operator's settings.

    A request may lower the threshold, which flags more. The value of a named threshold is not
    known here, so only the same name is allowed.

    Raises:
        ServiceError: `invalid_request`.
    """
    limit, threshold = settings.configuration.threshold, options.threshold
    if threshold not in (None, limit) and not (
        isinstance(threshold, float) and isinstance(limit, (int, float)) and threshold < limit
    ):
        message = f"halldetect.threshold: {limit} at most, because this service blocks answers"
        raise service_error("invalid_request", message)
    if options.verifier is not None:
        message = "halldetect.verifier: not a choice of the request where answers are blocked"
        raise service_error("invalid_request", message)


def chunk_frame(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields that a further chunk of the same stream needs."""
    first = chunks[0] if chunks else {}
    known: dict[str, Any] = {key: first[key] for key in ("id", "created", "model") if key in first}
    return {**known, "object": "chat.completion.chunk"}


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of a hidden choice: its repaired text, or a notice."""

    text: str
    finish_reason: str
    action: str


def replacement(choice: CheckedChoice) -> Replacement:
    """Return the replacement of a rejected choice: its repair, or a notice."""
    text = None if choice.repair is None else choice.repair["text"]
    if isinstance(text, str):
        return Replacement(text, "stop", "repaired")
    return Replacement(block_notice(choice), "content_filter", "blocked")


def block_notice(choice: CheckedChoice) -> str:
    """Return the text that replaces a blocked answer."""
    if choice.verdict != "hallucinated":
        return "This answer was held back: it could not be checked against the sources."
    claims = choice.report.overview["claims"]
    wrong = claims["contradicted"] + claims["unsupported"]
    total = sum(claims.values())
    return f"This answer was held back: {wrong} of {total} claims are not backed by the sources."


def stop_notice(choice: CheckedChoice, shown: str) -> str:
    """Return the notice that ends a streamed answer after the text `shown`."""
    notice = block_notice(choice)
    if not shown.strip():
        return notice
    return "\n\n" + notice.replace("This answer", "The rest of this answer", 1)


def retry_body(body: dict[str, Any], rejected: Sequence[CheckedChoice]) -> dict[str, Any]:
    """Return the request for another attempt, with the answer and its wrong claims."""
    worst = next(choice for choice in rejected if choice.verdict != "faithful")
    claims = json.loads(worst.report.json)["claims"]
    wrong = [claim["text"] for claim in claims if claim["status"] != "supported"]
    listed = "\n".join(f"- {text}" for text in wrong)
    instruction = (
        "Some of that is not backed by the sources you were given:\n"
        f"{listed}\n"
        "Answer the question once more. Say only what the sources say, and leave out the rest."
    )
    more = [
        {"role": "assistant", "content": worst.choice.text},
        {"role": "user", "content": instruction},
    ]
    return {**body, "messages": [*body["messages"], *more]}


def annotate(
    choices: Sequence[CheckedChoice], replaced: dict[int, Replacement], attempts: int, mode: str
) -> dict[str, Any]:
    """Return the field `halldetect` of an answer; `replaced` maps indices of choices."""

    def action(choice: CheckedChoice) -> str:
        if choice.index in replaced:
            return replaced[choice.index].action
        return "annotated" if choice.verdict == "hallucinated" else "passed"

    annotations = [choice.annotation(action(choice)) for choice in choices]
    return {"mode": mode, "attempts": attempts, "choices": annotations, "error": None}
