"""Guarding a stream: each sentence is judged as soon as it is complete, before it is passed on.

Nothing is read ahead: the next part of the stream is asked for only when the sentences before it
are judged, so a slow verifier slows the stream down and never lets a sentence through unjudged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING

from halldetect.errors import ConfigurationError, InputError
from halldetect.inputs import Source
from halldetect.pair_state import Problem
from halldetect.reading.sentences import sentences
from halldetect.report import ClaimReport, Status
from halldetect.stream.unfinished_text import complete_sentences, context_of

if TYPE_CHECKING:
    from halldetect.detector import Detector
    from halldetect.repair.rewriters import Rewriter

# Why a sentence has no claims: there is nothing in it that could be wrong.
ASSERTS_NOTHING = (Problem.NOTHING_ASSERTED, Problem.ABSTAINED)


class OnFailure(StrEnum):
    """What to do with a sentence that the source does not support.

    PASS    pass it on; its action says that it failed
    HOLD    leave it out and go on
    REPAIR  pass on what a repair makes of it; leave it out if that fails
    STOP    leave it out and end the stream
    """

    PASS = "pass"
    HOLD = "hold"
    REPAIR = "repair"
    STOP = "stop"


class StreamAction(StrEnum):
    """What was done with a sentence."""

    PASSED = "passed"
    FLAGGED = "flagged"
    HELD = "held"
    REPAIRED = "repaired"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class StreamedSentence:
    """One sentence of a stream and what was done with it.

    text      what may be shown, with the white space before it; empty if nothing may
    original  the sentence as it was written, with the white space before it
    action    what was done with it
    claims    its claims; empty if it asserts nothing
    reason    why it was not passed on as it is; None if it was
    seconds   that judging it took
    """

    text: str
    original: str
    action: StreamAction
    claims: tuple[ClaimReport, ...] = ()
    reason: str | None = None
    seconds: float = 0.0


class StreamGuard:
    """Judges the sentences of one response while it is written.

    detector        checks
    source          what the response should be faithful to
    on_failure      what to do with a sentence that is not supported, or cannot be judged
    question        what the response answers
    rewriter        as for `Detector.repair`; only used with "repair"
    """

    def __init__(
        self,
        detector: Detector,
        source: Source,
        *,
        on_failure: OnFailure | str = OnFailure.HOLD,
        question: str | None = None,
        rewriter: str | Rewriter | None = None,
    ) -> None:
        try:
            self._on_failure = OnFailure(on_failure)
        except ValueError:
            known = ", ".join(OnFailure)
            raise ConfigurationError(f"unknown action {on_failure!r}: use {known}") from None
        if not detector.configuration.guard:
            raise ConfigurationError(
                "a stream needs the guard: without it, sentences may go unchecked"
            )
        self._detector = detector
        self._source = source
        self._question = question
        self._rewriter = rewriter
        self._shown = ""
        self._pending = ""
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether the stream has ended because a sentence failed."""
        return self._stopped

    def feed(self, chunk: str) -> list[StreamedSentence]:
        """Take the next part of the response; returns the sentences that it completes.

        chunk  any part, even of a word
        """
        if not isinstance(chunk, str):
            raise InputError(f"a stream must consist of text, not {type(chunk).__name__}")
        if self._stopped:
            return []
        self._pending += chunk
        return self._judged(complete_sentences(self._pending))

    def close(self) -> list[StreamedSentence]:
        """Say that the response is complete; returns the sentences that are left."""
        if self._stopped or not self._pending:
            return []
        ends = [span.end for span in sentences(self._pending)]
        outcomes = self._judged([*ends[:-1], len(self._pending)] if ends else [])
        if self._pending and not self._stopped:  # white space only
            outcomes.append(StreamedSentence(self._pending, self._pending, StreamAction.PASSED))
            self._pending = ""
        return outcomes

    def run(self, chunks: Iterable[str]) -> Iterator[StreamedSentence]:
        """Guard a whole stream; when the caller stops reading, the stream is closed.

        chunks  the parts of the response
        """
        try:
            for chunk in chunks:
                yield from self.feed(chunk)
                if self._stopped:
                    return
            yield from self.close()
        finally:
            if (close := getattr(chunks, "close", None)) is not None:
                close()

    async def run_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[StreamedSentence]:
        """As `run`, for an asynchronous stream; sentences are judged in another thread.

        chunks  the parts of the response
        """
        try:
            async for chunk in chunks:
                for sentence in await asyncio.to_thread(self.feed, chunk):
                    yield sentence
                if self._stopped:
                    return
            for sentence in await asyncio.to_thread(self.close):
                yield sentence
        finally:
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    def _judged(self, ends: Iterable[int]) -> list[StreamedSentence]:
        """Judge the pending text up to each end, in order."""
        pending, start = self._pending, 0
        outcomes = []
        for end in ends:
            outcomes.append(self._judge(pending[start:end]))
            self._shown += outcomes[-1].text
            start = end
            if outcomes[-1].action is StreamAction.STOPPED:
                self._stopped = True
                break
        self._pending = pending[start:]
        return outcomes

    def _judge(self, sentence: str) -> StreamedSentence:
        started = perf_counter()
        outcome = self._outcome(sentence)
        return replace(outcome, seconds=round(perf_counter() - started, 4))

    def _outcome(self, sentence: str) -> StreamedSentence:
        claims, reason = self._check(sentence)
        if reason is None:
            return StreamedSentence(sentence, sentence, StreamAction.PASSED, claims)
        if self._on_failure is OnFailure.PASS:
            return StreamedSentence(sentence, sentence, StreamAction.FLAGGED, claims, reason)
        if self._on_failure is OnFailure.REPAIR:
            repaired = self._repaired(sentence)
            if repaired is not None:
                return StreamedSentence(repaired, sentence, StreamAction.REPAIRED, claims, reason)
        stop = self._on_failure is OnFailure.STOP
        action = StreamAction.STOPPED if stop else StreamAction.HELD
        return StreamedSentence("", sentence, action, claims, reason)

    def _check(self, sentence: str) -> tuple[tuple[ClaimReport, ...], str | None]:
        """The claims of a sentence behind what was shown, and why it may not be passed on."""
        context = context_of(self._shown)
        report = self._detector.check_part(
            self._source, context + sentence, len(context), question=self._question
        )
        if report.reason in ASSERTS_NOTHING:
            return (), None
        wrong = [claim for claim in report.claims if claim.status is not Status.SUPPORTED]
        if wrong:
            worst = min(wrong, key=lambda claim: claim.support or 0.0)
            return report.claims, worst.reason or f"{worst.status}: {worst.text}"
        return report.claims, None if report.ok else report.reason or f"score {report.score}"

    def _repaired(self, sentence: str) -> str | None:
        """What a repair makes of a sentence, if that holds behind what was shown."""
        body = sentence.lstrip()
        lead = sentence[: len(sentence) - len(body)]
        repair = self._detector.repair(
            self._source, body, question=self._question, rewriter=self._rewriter
        )
        if not repair.text or not repair.text.strip():
            return None
        text = lead + repair.text
        _, reason = self._check(text)
        return text if reason is None else None
