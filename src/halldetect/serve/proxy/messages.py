"""What the proxy reads from a chat request and does to the answer; no input or output here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from halldetect.serve.schemas import Chosen, Text
from halldetect.serve.settings import Upstream
from halldetect.serve.worker.worker_client import FinishedReport

# A message that brings a source: the result of a tool, or one that says so by its name.
_SOURCE_ROLES = ("tool", "function")
_SOURCE_NAME = "source"


class Guarding(Chosen):
    """The proxy's own field of a chat request."""

    sources: Annotated[list[Text], Field(max_length=1000)] | None = Field(
        default=None, description="What the answer must be faithful to."
    )


class ChatRequest(BaseModel):
    """A request of the OpenAI chat protocol; what is not named here is passed on untouched."""

    model_config = ConfigDict(extra="allow")

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)]
    stream: StrictBool | None = None
    halldetect: Guarding | None = Field(default=None, description="Not passed on to the upstream.")

    @property
    def chosen(self) -> Guarding:
        return self.halldetect or Guarding()

    def forwarded(self) -> dict[str, Any]:
        return self.model_dump(exclude={"halldetect", "stream"}, exclude_unset=True)

    def sources(self) -> list[str]:
        """`halldetect.sources`; without it, the messages that bring sources."""
        if self.chosen.sources is not None:
            return self.chosen.sources
        return [
            text_of(message.get("content"))
            for message in self.messages
            if message.get("role") in _SOURCE_ROLES or message.get("name") == _SOURCE_NAME
        ]

    def question(self) -> str | None:
        """The last thing the user said that is not a source."""
        for message in reversed(self.messages):
            if message.get("role") == "user" and message.get("name") != _SOURCE_NAME:
                return text_of(message.get("content"))
        return None


def text_of(content: object) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


@dataclass(frozen=True, slots=True)
class Judged:
    """One choice of an answer and what became of it."""

    index: int
    text: str
    finding: FinishedReport
    stored: dict[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.finding.facts["verdict"])

    def flagged(self, upstream: Upstream) -> bool:
        if self.verdict == "hallucinated":
            return True
        # A choice without text, such as a call of a tool, holds nothing to block.
        return (
            upstream.block_unchecked and self.verdict == "uncheckable" and bool(self.text.strip())
        )

    def annotation(self, action: str) -> dict[str, Any]:
        report = json.loads(self.finding.report)
        kept = ("text", "span", "status", "score", "reason")
        return {
            "index": self.index,
            "action": action,
            **{key: report[key] for key in ("verdict", "score", "threshold", "reason")},
            "claims": [{key: claim[key] for key in kept} for claim in report["claims"]],
            **self.stored,
        }


def texts(answer: dict[str, Any]) -> dict[int, str]:
    """The text of each choice of a whole answer."""
    found = {}
    for at, choice in enumerate(answer["choices"]):
        message = choice.get("message")
        found[index_of(choice, at)] = text_of(
            message.get("content") if isinstance(message, dict) else ""
        )
    return found


def index_of(choice: dict[str, Any], at: int = 0) -> int:
    index = choice.get("index", at)
    return index if isinstance(index, int) else at


def notice(judged: Judged) -> str:
    """What stands where an answer was held back."""
    if judged.verdict != "hallucinated":
        return "This answer was held back: it could not be checked against the sources."
    claims = judged.finding.facts["claims"]
    bad = claims["contradicted"] + claims["unsupported"]
    every = sum(claims.values())
    return f"This answer was held back: {bad} of {every} claims are not backed by the sources."


def asked_again(body: dict[str, Any], judged: Sequence[Judged]) -> dict[str, Any]:
    """The same request with the answer and what is wrong with it, for another try."""
    worst = next(one for one in judged if one.verdict != "faithful")
    claims = json.loads(worst.finding.report)["claims"]
    wrong = [claim["text"] for claim in claims if claim["status"] != "supported"]
    listed = "\n".join(f"- {text}" for text in wrong)
    request = (
        "Some of that is not backed by the sources you were given:\n"
        f"{listed}\n"
        "Answer the question once more. Say only what the sources say, and leave out the rest."
    )
    more = [{"role": "assistant", "content": worst.text}, {"role": "user", "content": request}]
    return {**body, "messages": [*body["messages"], *more]}


def summed(
    judged: Sequence[Judged], blocked: set[int], attempts: int, action: str
) -> dict[str, Any]:
    """The field `halldetect` of an answer."""

    def done(one: Judged) -> str:
        if one.index in blocked:
            return "blocked"
        return "annotated" if one.verdict == "hallucinated" else "passed"

    choices = [one.annotation(done(one)) for one in judged]
    return {"mode": action, "attempts": attempts, "choices": choices, "error": None}
