"""One chat request through the proxy: answered, checked, and possibly retried.

- annotate: pass the answer on with the result of the check in the field `halldetect`.
- block: replace a hallucinated answer by a notice.
- retry: ask the upstream again, with the wrong claims; block the last attempt if it fails.
- repair: replace a hallucinated answer by its repair; block it if the repair fails.

With annotate a stream is passed on as it arrives. With block and repair each complete sentence is
judged, then passed on, replaced or held back; block ends at the first sentence that fails. With
retry a stream waits for the verdict on the whole answer. Except with annotate, only fields that
were checked or that hold no text are passed on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect.preparation import CHECK_FAILED
from halldetect.stream.guard import ASSERTS_NOTHING
from halldetect.stream.unfinished_text import context_of
from halldetect_serve.context import (
    ServiceContext,
    compact_json,
    store_reports,
    submit,
    wait_for_reports,
    with_keep_alive,
)
from halldetect_serve.error_responses import error_object
from halldetect_serve.proxy.choices import (
    ChoiceText,
    GuardedChoice,
    allowed_answer,
    answer_choices,
    choice_index,
    read_choice,
    streamed_choices,
)
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

_DONE = b"data: [DONE]\n\n"
Guards = dict[int, GuardedChoice]


class ProxiedChat:
    """One chat request, until an answer may be shown."""

    def __init__(
        self,
        context: ServiceContext,
        upstream: UpstreamClient,
        request: ChatRequest,
        sources: list[str],
        request_id: str,
    ) -> None:
        self.context = context
        self.upstream = upstream
        self.request = request
        self.sources = sources
        self.request_id = request_id
        self.question = request.question()
        self.body = request.upstream_body()
        self.attempts = 1

    @property
    def mode(self) -> str:
        """The operator's action for hallucinated answers."""
        return self.upstream.settings.action

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

    async def stream(self, chunks: AsyncIterator[Chunk] | None) -> AsyncIterator[bytes]:
        """Yield the events of the answer; the last chunk has the annotation.

        Args:
            chunks: of the upstream; None with retry, which asks for whole answers.
        """
        if chunks is None:
            parts = self._late_stream()
        elif self.mode == "annotate":
            parts = self._annotated_stream(chunks)
        else:
            parts = self._guarded_stream(chunks)
        try:
            async for part in with_keep_alive(parts):
                yield part
            yield _DONE
        except ServiceError as error:
            yield _event({"error": error_object(error, self.request_id)})

    async def _annotated_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Pass the chunks on as they arrive, then check."""
        seen: list[Chunk] = []
        async for chunk in chunks:
            seen.append(chunk)
            yield _event(chunk)
        try:
            annotation = self._annotation(await self.check(streamed_choices(seen)), {})
        except ServiceError as error:
            annotation = self._failed_annotation(error)
        yield _event({**chunk_frame(seen), "choices": [], "halldetect": annotation})

    async def _late_stream(self) -> AsyncIterator[bytes]:
        """Yield a whole answer as chunks, one per choice."""
        self.body.pop("stream_options", None)
        answer = await self.answer()
        frame = chunk_frame([answer])
        for at, choice in enumerate(answer["choices"]):
            message = dict(choice.get("message") or {})
            calls = message.get("tool_calls")
            if calls:
                message["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
            index = choice_index(choice, at)
            yield _event(_chunk(frame, index, message, choice.get("finish_reason")))
        usage = {name: answer[name] for name in ("usage",) if name in answer}
        yield _event({**frame, "choices": [], **usage, "halldetect": answer["halldetect"]})

    async def _guarded_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Judge each sentence when it is complete; reading waits for the verdict."""
        guards: Guards = {}
        frame: dict[str, Any] = {}
        asked = self.body.get("n")
        wanted = asked if isinstance(asked, int) and asked > 1 else 1
        async for chunk in chunks:
            frame = frame or chunk_frame([chunk])
            for choice in chunk.get("choices", []):
                guards.setdefault(choice_index(choice), GuardedChoice()).take(choice)
            if not chunk.get("choices"):
                yield _event({**allowed_answer(chunk), "choices": []})
            async for part in self._judged_parts(guards, frame, ended=False):
                yield part
            if sum(guard.stopped for guard in guards.values()) >= wanted:
                break
        async for part in self._judged_parts(guards, frame, ended=True):
            yield part
        async for part in self._unguarded_parts(guards, frame):
            yield part
        checked, replaced = await self._checked_guards(guards)
        for item in checked:
            guard = guards[item.index]
            if guard.stopped:
                delta = {"role": "assistant", "content": stop_notice(item, guard.shown)}
                yield _event(_chunk(frame, item.index, delta, "content_filter"))
            else:
                yield _event(_chunk(frame, item.index, {}, guard.finish_reason))
        annotation = self._annotation(checked, replaced)
        yield _event({**frame, "choices": [], "halldetect": annotation})

    async def _judged_parts(
        self, guards: Guards, frame: dict[str, Any], *, ended: bool
    ) -> AsyncIterator[bytes]:
        """Yield the sentences that may be shown."""
        for index, guard in guards.items():
            while (sentence := guard.next_sentence(ended=ended)) is not None:
                if text := await self._judge_sentence(guard, sentence):
                    yield _event(_chunk(frame, index, {"role": "assistant", "content": text}))

    async def _judge_sentence(self, guard: GuardedChoice, sentence: str) -> str:
        """Settle a sentence and return the text to show for it."""
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
        """Return why a sentence may not follow the text shown so far, or None."""
        context = context_of(shown)
        pair = Pair(self.sources, context + sentence, self.question)
        options = self.request.options.model_copy(update={"store": False})
        with submit(self.context, options, [pair], judge_from=len(context)) as job:
            (finished,) = await job.reports()
        verdict, reason = finished.overview["verdict"], json.loads(finished.json)["reason"]
        if verdict == "hallucinated":
            return "it is not backed by the sources"
        if verdict == "uncheckable" and reason not in ASSERTS_NOTHING:
            blocked = self.upstream.settings.block_unchecked or reason.startswith(CHECK_FAILED)
            return str(reason) if blocked else None
        return None

    async def _repaired_sentence(self, shown: str, sentence: str) -> str | None:
        """Return a repair of a sentence that is supported after the text before it, or None."""
        (repair,) = await self._repairs([sentence.strip()])
        text = repair["text"]
        if not isinstance(text, str) or not text.strip():
            return None
        repaired = sentence[: len(sentence) - len(sentence.lstrip())] + text.strip()
        return repaired if await self._rejection(shown, repaired) is None else None

    async def _unguarded_parts(self, guards: Guards, frame: dict[str, Any]) -> AsyncIterator[bytes]:
        """Check the parts that are not plain text as a whole, and yield those that may be shown."""
        rests = {
            index: guard.rest_text
            for index, guard in guards.items()
            if guard.rest and not guard.stopped
        }
        for item in await self.check(rests):
            guard = guards[item.index]
            if item.is_rejected(self.upstream.settings):
                guard.stopped = True
                continue
            for choice in guard.rest:
                yield _event({**frame, "choices": [choice]})
        for guard in guards.values():  # nothing of them is left
            guard.stopped |= bool(guard.changes) and not (guard.shown.strip() or guard.rest)

    async def _checked_guards(
        self, guards: Guards
    ) -> tuple[list[CheckedChoice], dict[int, Replacement]]:
        """Check the original choices, for the annotation."""
        checked = await self.check({index: guard.text for index, guard in guards.items()})
        replaced = {
            index: Replacement(guard.shown, "", "blocked" if guard.stopped else "repaired")
            for index, guard in guards.items()
            if guard.stopped or guard.changes
        }
        if self.mode == "repair":
            outcome = {"outcome": "repaired", "reason": None}
            for at, item in enumerate(checked):
                if changes := guards[item.index].changes:
                    checked[at] = replace(item, repair={**outcome, "changes": changes})
        return checked, replaced

    async def check(self, choices: dict[int, ChoiceText]) -> list[CheckedChoice]:
        """Check every choice of an answer, by index, against the sources of the request."""
        if not choices:
            return []
        options = self.request.options
        pairs = [Pair(self.sources, choice.text, self.question) for choice in choices.values()]
        with submit(self.context, options, pairs) as job:
            reports = await wait_for_reports(self.context, job)
        stored = await store_reports(self.context, options, reports, self.request_id)
        return [
            CheckedChoice(index, choice, report, fields)
            for (index, choice), report, fields in zip(
                choices.items(), reports, stored, strict=True
            )
        ]

    def _prepare_retry(self, checked: list[CheckedChoice]) -> bool:
        """Prepare the next attempt; return False if no attempt is left or needed."""
        settings = self.upstream.settings
        rejected = [item for item in checked if item.is_rejected(settings)]
        if self.mode != "retry" or not rejected or self.attempts > settings.retries:
            return False
        self.attempts += 1
        self.body = retry_body(self.request.upstream_body(), rejected)
        return True

    async def _repair(self, checked: list[CheckedChoice]) -> list[CheckedChoice]:
        """Add repairs to the rejected choices, if the mode is repair.

        A choice with more than plain text, such as a tool call, cannot be reassembled.
        """
        settings = self.upstream.settings
        broken = [
            item
            for item in checked
            if item.is_rejected(settings) and set(item.choice.checked) == {"content"}
        ]
        if self.mode != "repair" or not broken:
            return checked
        repairs = await self._repairs([item.choice.text for item in broken])
        outcomes = {item.index: repair for item, repair in zip(broken, repairs, strict=True)}
        return [replace(item, repair=outcomes.get(item.index)) for item in checked]

    async def _repairs(self, texts: list[str]) -> list[dict[str, Any]]:
        """Return the repairs of texts, from `Repair.to_dict`."""
        options = self.request.options.model_copy(update={"store": False})
        pairs = [Pair(self.sources, text, self.question) for text in texts]
        with submit(self.context, options, pairs, repair=True) as job:
            return [json.loads(finished.json) for finished in await job.reports()]

    def _replacements(self, checked: list[CheckedChoice]) -> dict[int, Replacement]:
        """Return the replacements of the rejected choices, by index."""
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

        If answers may be blocked, the error is raised instead and the answer is not shown.
        """
        if self.mode != "annotate":
            raise error
        described = error_object(error, self.request_id)
        return {"mode": self.mode, "attempts": self.attempts, "choices": [], "error": described}


def _chunk(
    frame: dict[str, Any], index: int, delta: dict[str, Any], finish_reason: str | None = None
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {**frame, "choices": [choice]}


def _event(value: dict[str, Any]) -> bytes:
    return f"data: {compact_json(value)}\n\n".encode()
