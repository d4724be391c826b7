"""Chat requests, checked choices, and the texts that replace a blocked answer."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictBool

from halldetect.agents.messages import read_messages
from halldetect.errors import InputError
from halldetect.inputs import ASSERTS_NOTHING, CHECK_FAILED, LastTurn, Pair
from halldetect.reading.document import Span
from halldetect.report import ClaimReport, Report
from halldetect.report.json_form import plain
from halldetect.report.passages import Passages
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.answer import Choice, Vocabulary
from halldetect_serve.proxy.rag_prompt import (
    SOURCE_NAME,
    SOURCE_ROLES,
    SourcePlaces,
    message_text,
)
from halldetect_serve.schemas import CheckOptions, Text
from halldetect_serve.settings import CheckSettings
from halldetect_serve.worker.process import FinishedReport

_CHANGE_FIELDS = ("action", "before", "after", "why")


class Guarding(CheckOptions):
    """The field `halldetect` of a chat request."""

    sources: Annotated[list[Text], Field(max_length=1000)] | None = Field(
        default=None, description="The texts that the answer must be faithful to."
    )


class ChatRequest(BaseModel, extra="allow"):
    """A request of the OpenAI chat protocol; other fields are passed on unchanged."""

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

    def read(self, places: SourcePlaces) -> RequestContext:
        """Return what an answer is checked against; without named sources, the operator's."""
        body, named = self.upstream_body(), self.options.sources
        sources = places.find(body) if named is None else named
        vocabulary = Vocabulary.of(body, sources)
        said, asked, uses_tools = [], None, bool(vocabulary.tools)
        for item in self.messages:
            document, role = item.get("name") == SOURCE_NAME, item.get("role")
            said.append({**item, "role": "system"} if document else item)
            uses_tools |= "tool_calls" in item or role in SOURCE_ROLES
            if role == "user" and not document:
                asked = message_text(item.get("content"))
        if not uses_tools:
            return RequestContext(sources, vocabulary, asked)
        try:
            deque(read_messages(said), maxlen=0)
        except InputError:  # a form that only the upstream knows
            return RequestContext(sources, vocabulary, asked, sources, "[")
        documents = [] if named is None and places == SourcePlaces() else sources
        return RequestContext(sources, vocabulary, asked, documents, f"{json.dumps(said)[:-1]}, ")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What the answers to a request are checked against.

    An agent, with tools, also has `documents` and the conversation `before` the answer, as JSON
    without the end of the list. Its answers are checked as turns (`Detector.check_conversation`).
    """

    sources: list[str]
    vocabulary: Vocabulary
    question: str | None
    documents: Sequence[str] = ()
    before: str | None = None

    def pair(self, text: str, calls: Sequence[Any] = (), judge_from: int = 0) -> Pair:
        """Return an answer with its sources, to judge it from an offset on."""
        if self.before is None or not (text.strip() or calls):
            return Pair(self.sources, text, self.question, judge_from=judge_from)
        answer = json.dumps({"role": "assistant", "content": text, "tool_calls": calls})
        return LastTurn(self.documents, f"{self.before}{answer}]", judge_from=judge_from)


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
        if texts := checked.get("tool_calls"):
            read = Report.from_json(report.json)
            spans = [claim.span for claim in read.claims if claim.span is not None]
            for text in filter(None, map(str.strip, texts.split("\n\n"))):
                at = read.response.find(text)
                place = Span(at, at + len(text))
                unjudged |= at < 0 or not any(span.overlaps(place) for span in spans)
        return cls(index, choice, checked, choice.message(), report, stored, unjudged)

    @property
    def verdict(self) -> str:
        """The verdict of the report."""
        return str(self.report.overview["verdict"])

    def is_rejected(self, block_unchecked: bool) -> bool:
        """Return True if the operator blocks such an answer, or the check failed."""
        # A choice without text, such as a call without arguments, has nothing to block.
        if why_rejected(self.report, block_unchecked and bool(self.checked)) is not None:
            return True
        judged = self.verdict != "uncheckable" or self.report.overview["reason"] in ASSERTS_NOTHING
        return judged and self.has_unjudged_call

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


def why_rejected(report: FinishedReport, block_unchecked: bool) -> str | None:
    """Return why the operator blocks such a text, or why the check failed; else None."""
    verdict, reason = report.overview["verdict"], str(report.overview["reason"])
    if verdict == "hallucinated":
        return "it is not backed by the sources"
    blocked = block_unchecked or reason.startswith(CHECK_FAILED)
    return reason if verdict == "uncheckable" and blocked else None


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
