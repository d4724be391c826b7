"""What the proxy reads from a chat request and changes in the answer; pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from halldetect.pair_state import CHECK_FAILED
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.choices import ChoiceText
from halldetect_serve.proxy.rag_prompt import SourcePlaces, is_source, message_text
from halldetect_serve.request_schemas import CheckOptions, Text
from halldetect_serve.settings import CheckSettings, UpstreamSettings
from halldetect_serve.worker.wire import FinishedReport

_CLAIM_FIELDS = ("text", "span", "status", "support", "reason")
_CHANGE_FIELDS = ("action", "before", "after", "why")
_REPORT_FIELDS = ("verdict", "score", "threshold", "reason")


class Guarding(CheckOptions):
    """The field `halldetect` of a chat request."""

    sources: Annotated[list[Text], Field(max_length=1000)] | None = Field(
        default=None, description="What the answer must be faithful to."
    )


class ChatRequest(BaseModel):
    """A request of the OpenAI chat protocol; fields not named here are passed on unchanged."""

    model_config = ConfigDict(extra="allow")

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)]
    stream: StrictBool | None = None
    halldetect: Guarding | None = Field(default=None, description="Not passed on to the upstream.")

    @property
    def options(self) -> Guarding:
        """What the request chooses for the check."""
        return self.halldetect or Guarding()

    def upstream_body(self) -> dict[str, Any]:
        """Return the fields to pass on to the upstream."""
        return self.model_dump(exclude={"halldetect", "stream"}, exclude_unset=True)

    def sources(self, places: SourcePlaces) -> list[str]:
        """Return `halldetect.sources`; without it, what the request holds.

        Args:
            places: where the operator says that sources are.
        """
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

    index   of the choice in the answer
    choice  its text
    report  of the check
    stored  the fields `stored` and `store_error` of the answer
    repair  the outcome of a repair, as `Repair.to_dict` gives it; None if there was none
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
        """Return whether the operator does not want such an answer, or the check failed."""
        if self.verdict == "hallucinated":
            return True
        reason = str(json.loads(self.report.json)["reason"] or "")
        if self.verdict == "uncheckable" and reason.startswith(CHECK_FAILED):
            return True
        # A choice without text, such as a tool call, has nothing to block.
        has_text = bool(self.choice.text.strip())
        return upstream.block_unchecked and self.verdict == "uncheckable" and has_text

    def annotation(self, action: str) -> dict[str, Any]:
        """Return what the field `halldetect` of the answer says of this choice.

        Args:
            action: what was done with it.
        """
        report = json.loads(self.report.json)
        claims = [
            {**{name: claim[name] for name in _CLAIM_FIELDS}, "passage": _passage(claim)}
            for claim in report["claims"]
        ]
        return {
            "index": self.index,
            "action": action,
            **{name: report[name] for name in _REPORT_FIELDS},
            "claims": claims,
            "checked_fields": list(self.choice.checked),
            "unchecked_fields": sorted(self.choice.unchecked),
            **self.stored,
            **({} if self.repair is None else {"repair": self._repair_annotation()}),
        }

    def _repair_annotation(self) -> dict[str, Any]:
        repair = self.repair or {}
        changes = [
            {name: change[name] for name in _CHANGE_FIELDS}
            for change in repair["changes"]
            if change["action"] != "kept"
        ]
        return {"outcome": repair["outcome"], "reason": repair["reason"], "changes": changes}


def _passage(claim: dict[str, Any]) -> dict[str, Any] | None:
    """Return the passage that decides a claim, as `ClaimReport.evidence` does."""
    contradicted = claim["status"] == "contradicted" and claim["contradicting"] is not None
    evidence = claim["contradicting"] if contradicted else claim["entailing"]
    evidence = evidence or claim["contradicting"]
    if evidence is None:
        return None
    return {name: evidence[name] for name in ("text", "document", "span")}


def require_no_weaker(settings: CheckSettings, options: CheckOptions) -> None:
    """Refuse options that could let through what the operator wants blocked.

    A request may lower the threshold, which flags more, and choose nothing else. What number a
    named threshold stands for is not known here, so a name can only be repeated.

    Args:
        settings: what the operator chose.
        options: what the request chooses.

    Raises:
        ServiceError: `invalid_request`.
    """
    overrides = options.overrides()
    limit = settings.configuration.threshold
    threshold = overrides.pop("threshold", limit)
    numbers = not isinstance(threshold, str) and not isinstance(limit, str)
    if threshold != limit and not (numbers and threshold < limit):
        message = f"halldetect.threshold: {limit} at most, because this service blocks answers"
        raise service_error("invalid_request", message)
    for name in overrides:
        message = f"halldetect.{name}: not a choice of the request where answers are blocked"
        raise service_error("invalid_request", message)


def chunk_frame(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields that a further chunk of the same stream needs."""
    first = chunks[0] if chunks else {}
    known: dict[str, Any] = {key: first[key] for key in ("id", "created", "model") if key in first}
    return {**known, "object": "chat.completion.chunk"}


@dataclass(frozen=True, slots=True)
class Replacement:
    """What takes the place of a choice that is not shown.

    text           the repaired text, or a notice
    finish_reason  as the protocol has it
    action         "repaired" or "blocked"
    """

    text: str
    finish_reason: str
    action: str


def replacement(choice: CheckedChoice) -> Replacement:
    """Return what takes the place of a rejected choice: its repair, or a notice."""
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
    """Return the text that ends a streamed answer in place of what may not be shown.

    Args:
        choice: the answer as far as it was written.
        shown: what was passed on of it.
    """
    notice = block_notice(choice)
    if not shown.strip():
        return notice
    return "\n\n" + notice.replace("This answer", "The rest of this answer", 1)


def retry_body(body: dict[str, Any], rejected: Sequence[CheckedChoice]) -> dict[str, Any]:
    """Return the request for another attempt: with the answer and what is wrong with it.

    Args:
        body: the request to the upstream.
        rejected: the choices that the operator does not want.
    """
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
    """Return the field `halldetect` of an answer.

    Args:
        choices: the checked choices.
        replaced: what takes the place of choices that are not shown, by index.
        attempts: number of requests to the upstream.
        mode: the action that the operator chose.
    """

    def action(choice: CheckedChoice) -> str:
        if choice.index in replaced:
            return replaced[choice.index].action
        return "annotated" if choice.verdict == "hallucinated" else "passed"

    annotations = [choice.annotation(action(choice)) for choice in choices]
    return {"mode": mode, "attempts": attempts, "choices": annotations, "error": None}
