"""Guard a stream: judge each sentence as soon as it is complete, before it is passed on.

The next part of the stream is requested only when all sentences before it are judged. A slow
verifier slows the stream down, but never lets an unjudged sentence through.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from time import perf_counter

from halldetect.errors import ConfigurationError, InputError, name_advice
from halldetect.inputs import ASSERTS_NOTHING, Pair, Source
from halldetect.reading.sentences import sentences
from halldetect.repair.outcome import Repair
from halldetect.report import ClaimReport, Report

# Characters before a sentence that are read with it to resolve "it" or "she".
CONTEXT_CHARACTERS = 2000
# A sentence without an end is judged in parts of this length.
MAX_SENTENCE = 4000


class StreamAction(StrEnum):
    """The treatment that a sentence received."""

    PASSED = "passed"
    FLAGGED = "flagged"
    HELD = "held"
    REPAIRED = "repaired"
    STOPPED = "stopped"


# What to do with a sentence that the source does not support, and what that makes of it.
ON_FAILURE = {
    "pass": StreamAction.FLAGGED,  # pass it on, marked as failed
    "hold": StreamAction.HELD,  # leave it out and continue
    "repair": StreamAction.REPAIRED,  # pass on the repaired sentence; leave it out if that fails
    "stop": StreamAction.STOPPED,  # leave it out and end the stream
}


@dataclass(frozen=True, slots=True)
class StreamedSentence:
    """One sentence of a stream and its treatment.

    `text` is what to show, with the white space before it; empty if nothing may be shown. `claims`
    is empty if the sentence asserts nothing, `reason` None if it was passed on unchanged.
    """

    text: str
    original: str
    action: StreamAction
    claims: tuple[ClaimReport, ...] = ()
    reason: str | None = None
    seconds: float = 0.0


class StreamGuard:
    """Judges the sentences of a response while it is written; see `Detector.stream`.

    `check_many` and `repair` are those of a detector. `stopped` is True if the stream has ended
    because a sentence failed.
    """

    def __init__(
        self,
        check_many: Callable[[Iterable[Pair]], list[Report]],
        repair: Callable[..., Repair],
        source: Source,
        on_failure: str = "hold",
        question: str | None = None,
    ) -> None:
        if on_failure not in ON_FAILURE:
            advice = name_advice(str(on_failure), tuple(ON_FAILURE))
            raise ConfigurationError(f"unknown action {on_failure!r}: {advice}")
        self._failed = ON_FAILURE[on_failure]
        self._check_many, self._repair = check_many, repair
        self._source, self._question = source, question
        self._shown = ""
        self._pending = ""
        self.stopped = False

    def feed(self, chunk: str) -> list[StreamedSentence]:
        """Take the next part of the response, cut anywhere; return the sentences it completes."""
        if not isinstance(chunk, str):
            raise InputError(f"a stream must consist of text, not {type(chunk).__name__}")
        self._pending += chunk
        return self._judged()

    def close(self) -> list[StreamedSentence]:
        """Take the end of the response; return the remaining sentences."""
        return self._judged(ended=True)

    def run(self, chunks: Iterable[str]) -> Iterator[StreamedSentence]:
        """Guard a whole stream; close it when the caller stops reading."""
        try:
            for chunk in chunks:
                yield from self.feed(chunk)
                if self.stopped:
                    return
            yield from self.close()
        finally:
            if (close := getattr(chunks, "close", None)) is not None:
                close()

    async def run_async(self, chunks: AsyncIterable[str]) -> AsyncIterator[StreamedSentence]:
        """Guard an asynchronous stream; another thread judges the sentences."""
        try:
            async for chunk in chunks:
                for sentence in await asyncio.to_thread(self.feed, chunk):
                    yield sentence
                if self.stopped:
                    return
            for sentence in await asyncio.to_thread(self.close):
                yield sentence
        finally:
            if (close := getattr(chunks, "aclose", None)) is not None:
                await close()

    def _judged(self, *, ended: bool = False) -> list[StreamedSentence]:
        """Judge the complete sentences of the pending text, in order."""
        pending, start = "" if self.stopped else self._pending, 0
        outcomes = []
        for end in complete_sentences(pending, ended=ended) if pending else ():
            started = perf_counter()
            outcome = self._outcome(pending[start:end])
            outcomes.append(replace(outcome, seconds=round(perf_counter() - started, 4)))
            self._shown += outcome.text
            start = end
            if outcome.action is StreamAction.STOPPED:
                self.stopped = True
                break
        self._pending = pending[start:]
        return outcomes

    def _outcome(self, sentence: str) -> StreamedSentence:
        claims, reason = self._check(sentence)
        text, action = sentence, StreamAction.PASSED
        if reason is not None:
            action = self._failed
            text = sentence if action is StreamAction.FLAGGED else ""
            if action is StreamAction.REPAIRED and not (text := self._repaired(sentence)):
                action = StreamAction.HELD
        return StreamedSentence(text, sentence, action, claims, reason)

    def _check(self, sentence: str) -> tuple[tuple[ClaimReport, ...], str | None]:
        """Return the claims of a sentence in its context, and why it must not be passed on."""
        if not sentence.strip():
            return (), None
        context = context_of(self._shown)
        text = context + sentence
        pair = Pair(self._source, text, self._question, judge_from=len(context))
        (report,) = self._check_many([pair])
        if report.reason in ASSERTS_NOTHING:
            return (), None
        wrong = [claim for claim in report.claims if not report.passes(claim)]
        if wrong:
            worst = min(wrong, key=lambda claim: claim.support or 0.0)
            return report.claims, worst.reason or f"{worst.status}: {worst.text}"
        return report.claims, None if report.ok else report.reason or f"score {report.score}"

    def _repaired(self, sentence: str) -> str:
        """Return the repaired sentence; empty unless it is supported in its context."""
        body = sentence.lstrip()
        repair = self._repair(self._source, body, question=self._question)
        text = sentence.removesuffix(body) + (repair.text or "")
        return text if text.strip() and self._check(text)[1] is None else ""


def context_of(shown: str) -> str:
    """Return the last whole sentences of the text so far, as context of the next sentence."""
    if len(shown) <= CONTEXT_CHARACTERS:
        return shown
    context = shown[-CONTEXT_CHARACTERS:]
    spans = sentences(context)
    return context[spans[1].start :] if len(spans) > 1 else ""


def complete_sentences(text: str, *, ended: bool = False) -> list[int]:
    """Return the ends of the sentences that further text cannot change; of all if it has `ended`.

    A sentence is complete when a line end or the first word of the next sentence follows it: the
    full stop of "Dr." ends nothing. A sentence without an end is cut after `MAX_SENTENCE`
    characters.
    """
    ends: list[int] = []
    spans = sentences(text)
    if ended:
        return [*(span.end for span in spans[:-1]), len(text)]
    for span, following in zip_longest(spans, spans[1:]):
        has_word = following and re.search(r"\s", text[following.start :].rstrip("\n"))
        if not has_word and not re.search("[\r\n]", text[span.end :]):
            break
        ends.append(span.end)
    start = ends[-1] if ends else 0
    while len(text) - start > MAX_SENTENCE:
        space = text.rfind(" ", start + 1, start + MAX_SENTENCE)
        start = space if space > start else start + MAX_SENTENCE
        ends.append(start)
    return ends
