"""Chat requests, checked choices, and the texts that replace a blocked answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from halldetect.inputs import ASSERTS_NOTHING
from halldetect.preparation import CHECK_FAILED
from halldetect.render.passages import Passages
from halldetect.report import ClaimReport, Report
from halldetect.report.json_form import plain
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.answer import Choice, Vocabulary
from halldetect_serve.proxy.rag_prompt import SourcePlaces, is_source, message_text
from halldetect_serve.schemas import CheckOptions, Text
from halldetect_serve.settings import CheckSettings
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

    def read(self, places: SourcePlaces) -> tuple[list[str], Vocabulary]:
        """Return the sources, those in the operator's places if none are named, and the words."""
        body, sources = self.upstream_body(), self.options.sources
        found = places.find(body) if sources is None else sources
        return found, Vocabulary.of(body, found)

    def question(self) -> str | None:
        """Return the last message of the user that is not a source."""
        for message in reversed(self.messages):
            if message.get("role") == "user" and not is_source(message):
                return message_text(message.get("content"))
        return None


@dataclass(frozen=True, slots=True)
class CheckedChoice:
    """One choice with the texts that were judged, its report, its storage and its repair."""

    index: int
    choice: Choice
    checked: dict[str, str]
    message: dict[str, Any]
    report: FinishedReport
    stored: dict[str, Any]
    has_unjudged_call: bool
    repair: dict[str, Any] | None = None

    @classmethod
    def of(
        cls, index: int, choice: Choice, report: FinishedReport, stored: dict[str, Any]
    ) -> CheckedChoice:
        """Return a choice with its report; look for arguments of tools that no claim covers."""
        checked, unjudged = choice.checked, False
        texts = checked.get("tool_calls", "")
        claims = Report.from_json(report.json).claims if texts else ()
        spans = [claim.span for claim in claims if claim.span is not None]
        end = len("\n\n".join(checked.values())) - len(texts)
        for text in texts.split("\n\n"):
            start, end = end, end + len(text)
            covered = any(span.start < end and span.end > start for span in spans)
            unjudged |= bool(text.strip()) and not covered
            end += 2
        return cls(index, choice, checked, choice.message(), report, stored, unjudged)

    @property
    def verdict(self) -> str:
        """The verdict of the report."""
        return str(self.report.overview["verdict"])

    def is_rejected(self, *, block_unchecked: bool) -> bool:
        """Return True if the operator blocks such an answer, or the check failed."""
        reason = self.report.overview["reason"] or ""
        # A choice without text, such as a call without arguments, has nothing to block.
        if self.verdict == "uncheckable" and block_unchecked and self.checked:
            return True
        if self.verdict == "uncheckable" and reason not in ASSERTS_NOTHING:
            return reason.startswith(CHECK_FAILED)
        return self.verdict == "hallucinated" or self.has_unjudged_call

    def annotation(self, action: str) -> dict[str, Any]:
        """Return the entry of this choice in the field `halldetect` of the answer."""
        report = Report.from_json(self.report.json)
        passages = Passages(report)
        entry = {
            "index": self.index,
            "action": action,
            "verdict": str(report.verdict),
            "score": report.score,
            "threshold": report.threshold,
            "reason": report.reason,
            "claims": [_claim_annotation(claim, report, passages) for claim in report.claims],
            "unchecked": plain(report.left_out),
            "checked_fields": list(self.checked),
            "unchecked_fields": self.choice.unchecked_fields,
            **self.stored,
        }
        if self.repair is not None:
            changes = [
                {name: change[name] for name in _CHANGE_FIELDS}
                for change in self.repair["changes"]
                if change["action"] != "kept"
            ]
            outcome = {name: self.repair[name] for name in ("outcome", "reason")}
            entry["repair"] = {**outcome, "changes": changes}
        return entry


def _claim_annotation(claim: ClaimReport, report: Report, passages: Passages) -> dict[str, Any]:
    fields, passage, span = plain(claim), None, passages.span(claim)
    if claim.proof is not None and span is not None:
        text = span.cut(report.documents[claim.proof.document])
        passage = {"text": text, "document": claim.proof.document, "span": plain(span)}
    names = ("text", "span", "status", "support", "reason", "wrong")
    return {**{name: fields[name] for name in names if name in fields}, "passage": passage}


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


def block_notice(choice: CheckedChoice, shown: str = "") -> str:
    """Return the text that replaces a blocked answer, or its rest after the text `shown`."""
    subject = "\n\nThe rest of this answer" if shown.strip() else "This answer"
    if choice.verdict != "hallucinated":
        return f"{subject} was held back: it could not be checked against the sources."
    claims = choice.report.overview["claims"]
    wrong = claims["contradicted"] + claims["unsupported"]
    total = sum(claims.values())
    return f"{subject} was held back: {wrong} of {total} claims are not backed by the sources."
