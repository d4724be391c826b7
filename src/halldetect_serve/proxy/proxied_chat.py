"""One chat request on its way through the proxy: answered, checked, and perhaps asked again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect.pair_state import CHECK_FAILED
from halldetect.stream.guard import ASSERTS_NOTHING
from halldetect.stream.unfinished_text import context_of
from halldetect_serve.dependencies import ServiceContext
from halldetect_serve.error_responses import error_object
from halldetect_serve.proxy.choices import (
    ChoiceText,
    allowed_answer,
    answer_choices,
    choice_index,
    read_choice,
    streamed_choices,
)
from halldetect_serve.proxy.guarded_stream import GuardedChoice
from halldetect_serve.proxy.messages import (
    ChatRequest,
    CheckedChoice,
    Replacement,
    annotate,
    chunk_frame,
    replacement,
    retry_body,
    stop_notice,
)
from halldetect_serve.proxy.upstream import Chunk, UpstreamClient
from halldetect_serve.submission import (
    KEEP_ALIVE_COMMENT,
    KEEP_ALIVE_SECONDS,
    compact_json,
    store_reports,
    submit,
    wait_for_reports,
)

_DONE = b"data: [DONE]\n\n"


class ProxiedChat:
    """One chat request, until there is an answer that may be shown."""

    def __init__(
        self,
        context: ServiceContext,
        upstream: UpstreamClient,
        request: ChatRequest,
        request_id: str,
    ) -> None:
        self.context = context
        self.upstream = upstream
        self.request = request
        self.request_id = request_id
        self.body = request.upstream_body()
        self.sources = request.sources(upstream.settings.sources)
        self.attempts = 1

    @property
    def mode(self) -> str:
        return self.upstream.settings.action

    @property
    def _choices_asked_for(self) -> int:
        asked = self.body.get("n")
        return asked if isinstance(asked, int) and asked > 1 else 1

    async def answer(self) -> dict[str, Any]:
        """Return the whole answer, annotated, with blocked choices replaced."""
        answer = await self.upstream.complete(self.body)
        try:
            checked = await self.check(answer_choices(answer))
            while self._prepare_retry(checked):
                answer = await self.upstream.complete(self.body)
                checked = await self.check(answer_choices(answer))
            checked = await self._repair(checked)
        except ServiceError as error:
            return {**answer, "halldetect": self._failed_annotation(error)}
        replaced = self._replacements(checked)
        if self.mode != "annotate":
            choices = []
            for at, choice in enumerate(answer["choices"]):
                allowed, _ = read_choice(choice, "message")
                if (index := choice_index(choice, at)) in replaced:
                    allowed["message"] = {"role": "assistant", "content": replaced[index].text}
                    allowed["finish_reason"] = replaced[index].finish_reason
                choices.append(allowed)
            answer = {**allowed_answer(answer), "choices": choices}
        return {**answer, "halldetect": self._annotation(checked, replaced)}

    async def stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Yield the events of the answer; the last chunk has the annotation."""
        parts = {
            "annotate": self._annotated_stream,
            "retry": self._checked_stream,
        }.get(self.mode, self._guarded_stream)
        try:
            async for part in parts(chunks):
                yield part
            yield _DONE
        except ServiceError as error:
            yield _event({"error": error_object(error, self.request_id)})

    async def _annotated_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Pass the chunks on as they come, then check."""
        seen: list[Chunk] = []
        async for chunk in chunks:
            seen.append(chunk)
            yield _event(chunk)
        task = asyncio.create_task(self.check(streamed_choices(seen)))
        async for comment in _keep_alive(task):
            yield comment
        try:
            annotation = self._annotation(task.result(), {})
        except ServiceError as error:
            annotation = self._failed_annotation(error)
        yield _event({**chunk_frame(seen), "choices": [], "halldetect": annotation})

    async def _checked_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Check first, then send what may be shown."""
        task = asyncio.create_task(self._collect_and_check(chunks))
        async for comment in _keep_alive(task):
            yield comment
        seen, checked = task.result()
        replaced = self._replacements(checked)
        frame = chunk_frame(seen)
        for chunk in seen:
            choices = chunk.get("choices", [])
            shown = [
                read_choice(choice, "delta")[0]
                for choice in choices
                if choice_index(choice) not in replaced
            ]
            if shown or not choices:
                yield _event({**allowed_answer(chunk), "choices": shown})
        for index, other in replaced.items():
            delta = {"role": "assistant", "content": other.text}
            choice = {"index": index, "delta": delta, "finish_reason": other.finish_reason}
            yield _event({**frame, "choices": [choice]})
        annotation = self._annotation(checked, replaced)
        yield _event({**frame, "choices": [], "halldetect": annotation})

    async def _guarded_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Judge each sentence when it is complete; nothing is read meanwhile."""
        guards: dict[int, GuardedChoice] = {}
        frame: dict[str, Any] = {}
        async for chunk in chunks:
            frame = frame or chunk_frame([chunk])
            for choice in chunk.get("choices", []):
                guards.setdefault(choice_index(choice), GuardedChoice()).take(choice)
            if not chunk.get("choices"):
                yield _event({**allowed_answer(chunk), "choices": []})
            async for part in self._judged_parts(guards, frame, ended=False):
                yield part
            if sum(guard.stopped for guard in guards.values()) >= self._choices_asked_for:
                break
        async for part in self._judged_parts(guards, frame, ended=True):
            yield part
        async for part in self._unguarded_parts(guards, frame):
            yield part
        task = asyncio.create_task(self._checked_guards(guards))
        async for comment in _keep_alive(task):
            yield comment
        checked, replaced = task.result()
        notices = {item.index: stop_notice(item, guards[item.index].shown) for item in checked}
        for index, guard in guards.items():
            if guard.stopped:
                delta = {"role": "assistant", "content": notices[index]}
                yield _event(_chunk(frame, index, delta, "content_filter"))
            else:
                yield _event(_chunk(frame, index, {}, guard.finish_reason))
        annotation = self._annotation(checked, replaced)
        yield _event({**frame, "choices": [], "halldetect": annotation})

    async def _judged_parts(
        self, guards: dict[int, GuardedChoice], frame: dict[str, Any], *, ended: bool
    ) -> AsyncIterator[bytes]:
        """Yield the sentences that may be shown, and comments while they are judged."""
        for index, guard in guards.items():
            while (sentence := guard.next_sentence(ended=ended)) is not None:
                task = asyncio.create_task(self._judge_sentence(guard, sentence))
                async for comment in _keep_alive(task):
                    yield comment
                if text := task.result():
                    yield _event(_chunk(frame, index, {"role": "assistant", "content": text}))

    async def _judge_sentence(self, guard: GuardedChoice, sentence: str) -> str:
        """Return what may be shown for a sentence; settle it."""
        why = await self._rejection(guard.shown, sentence)
        if why is None:
            guard.settle(sentence, sentence)
            return sentence
        if self.mode == "repair":
            repaired = await self._repaired_sentence(guard.shown, sentence)
            guard.settle(sentence, repaired, why)
            return repaired or ""
        guard.settle(sentence, None, why)
        guard.stopped = True
        return ""

    async def _rejection(self, shown: str, sentence: str) -> str | None:
        """Return why a sentence may not be shown behind what was shown; None if it may."""
        context = context_of(shown)
        pair = Pair(self.sources, context + sentence, self.request.question())
        options = self.request.options.model_copy(update={"store": False})
        with await submit(self.context, options, [pair], judge_from=len(context)) as job:
            (finished,) = await job.reports()
        verdict, reason = finished.overview["verdict"], json.loads(finished.json)["reason"]
        if verdict == "hallucinated":
            return "it is not backed by the sources"
        if verdict == "uncheckable" and reason not in ASSERTS_NOTHING:
            blocked = self.upstream.settings.block_unchecked or reason.startswith(CHECK_FAILED)
            return str(reason) if blocked else None
        return None

    async def _repaired_sentence(self, shown: str, sentence: str) -> str | None:
        """Return a repair of a sentence that holds behind what was shown; None if there is none."""
        pair = Pair(self.sources, sentence.strip(), self.request.question())
        options = self.request.options.model_copy(update={"store": False})
        with await submit(self.context, options, [pair], repair=True) as job:
            (finished,) = await job.reports()
        text = json.loads(finished.json)["text"]
        if not isinstance(text, str) or not text.strip():
            return None
        repaired = sentence[: len(sentence) - len(sentence.lstrip())] + text.strip()
        return repaired if await self._rejection(shown, repaired) is None else None

    async def _unguarded_parts(
        self, guards: dict[int, GuardedChoice], frame: dict[str, Any]
    ) -> AsyncIterator[bytes]:
        """Check what is not plain text as a whole, and yield it if it may be shown."""
        rests = {
            index: guard.rest_text
            for index, guard in guards.items()
            if guard.rest and not guard.stopped
        }
        task = asyncio.create_task(self.check(rests))
        async for comment in _keep_alive(task):
            yield comment
        for item in task.result():
            guard = guards[item.index]
            if item.is_rejected(self.upstream.settings):
                guard.stopped = True
                continue
            for choice in guard.rest:
                yield _event({**frame, "choices": [choice]})
        for guard in guards.values():  # of which nothing is left
            guard.stopped |= bool(guard.changes) and not (guard.shown.strip() or guard.rest)

    async def _checked_guards(
        self, guards: dict[int, GuardedChoice]
    ) -> tuple[list[CheckedChoice], dict[int, Replacement]]:
        """Check the choices as they were written, for the annotation, and say what was done."""
        checked = await self.check({index: guard.text for index, guard in guards.items()})
        replaced = {
            index: Replacement(guard.shown, "", "blocked" if guard.stopped else "repaired")
            for index, guard in guards.items()
            if guard.stopped or guard.changes
        }
        if self.mode != "repair":
            return checked, replaced
        outcome = {"outcome": "repaired", "reason": None}
        return [
            replace(item, repair={**outcome, "changes": guards[item.index].changes})
            if guards[item.index].changes
            else item
            for item in checked
        ], replaced

    async def _collect_and_check(
        self, chunks: AsyncIterator[Chunk]
    ) -> tuple[list[Chunk], list[CheckedChoice]]:
        seen = [chunk async for chunk in chunks]
        checked = await self.check(streamed_choices(seen))
        while self._prepare_retry(checked):
            async with self.upstream.stream(self.body) as more:
                seen = [chunk async for chunk in more]
            checked = await self.check(streamed_choices(seen))
        return seen, await self._repair(checked)

    async def check(self, choices: dict[int, ChoiceText]) -> list[CheckedChoice]:
        """Check every choice of an answer against the sources of the request.

        Args:
            choices: the texts of the choices, by index.
        """
        if not choices:
            return []
        options = self.request.options
        question = self.request.question()
        pairs = [Pair(self.sources, choice.text, question) for choice in choices.values()]
        with await submit(self.context, options, pairs) as job:
            reports = await wait_for_reports(self.context, job)
        stored = await store_reports(self.context, options, reports, self.request_id)
        return [
            CheckedChoice(index, choice, report, fields)
            for (index, choice), report, fields in zip(
                choices.items(), reports, stored, strict=True
            )
        ]

    def _prepare_retry(self, checked: list[CheckedChoice]) -> bool:
        """Return whether to ask once more, and set the request for it."""
        settings = self.upstream.settings
        rejected = [item for item in checked if item.is_rejected(settings)]
        if self.mode != "retry" or not rejected or self.attempts > settings.retries:
            return False
        self.attempts += 1
        self.body = retry_body(self.request.upstream_body(), rejected)
        return True

    async def _repair(self, checked: list[CheckedChoice]) -> list[CheckedChoice]:
        """Return the choices with repairs of those that are rejected, if that is the mode.

        A choice with more than plain text, such as a tool call, cannot be put back together.
        """
        settings = self.upstream.settings
        broken = [
            item
            for item in checked
            if item.is_rejected(settings) and set(item.choice.checked) == {"content"}
        ]
        if self.mode != "repair" or not broken:
            return checked
        question = self.request.question()
        pairs = [Pair(self.sources, item.choice.text, question) for item in broken]
        with await submit(self.context, self.request.options, pairs, repair=True) as job:
            repairs = await job.reports()
        outcomes = {
            item.index: json.loads(repair.json)
            for item, repair in zip(broken, repairs, strict=True)
        }
        return [replace(item, repair=outcomes.get(item.index)) for item in checked]

    def _replacements(self, checked: list[CheckedChoice]) -> dict[int, Replacement]:
        """Return what takes the place of the choices that are rejected, by index."""
        if self.mode == "annotate":
            return {}
        rejected = (item for item in checked if item.is_rejected(self.upstream.settings))
        return {item.index: replacement(item) for item in rejected}

    def _annotation(
        self, checked: list[CheckedChoice], replaced: dict[int, Replacement]
    ) -> dict[str, Any]:
        annotation = annotate(checked, replaced, self.attempts, self.mode)
        for choice in annotation["choices"]:
            self.context.metrics.proxied.labels(choice["action"]).inc()
        return annotation

    def _failed_annotation(self, error: ServiceError) -> dict[str, Any]:
        """Return the annotation for a check that failed.

        Where answers may be blocked, the error is raised instead: the answer is not shown.
        """
        if self.mode != "annotate":
            raise error
        described = error_object(error, self.request_id)
        return {"mode": self.mode, "attempts": self.attempts, "choices": [], "error": described}


async def _keep_alive(task: asyncio.Task[Any]) -> AsyncIterator[bytes]:
    """Yield comments until the task is done; it is cancelled if nobody reads them any more."""
    try:
        while not (await asyncio.wait({task}, timeout=KEEP_ALIVE_SECONDS))[0]:
            yield KEEP_ALIVE_COMMENT
    finally:
        if not task.done():
            task.cancel()


def _chunk(
    frame: dict[str, Any], index: int, delta: dict[str, Any], finish_reason: str | None = None
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {**frame, "choices": [choice]}


def _event(value: dict[str, Any]) -> bytes:
    return f"data: {compact_json(value)}\n\n".encode()
