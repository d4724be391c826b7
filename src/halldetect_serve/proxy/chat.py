"""One chat request through the proxy: answered and checked.

- annotate: pass the answer on with the result of the check in the field `halldetect`.
- block: replace a hallucinated answer by a notice.
- repair: replace a hallucinated answer by its repair; block it if the repair fails.

With annotate a stream is passed on as it arrives. With block and repair each complete sentence is
judged, then passed on, replaced or held back; block ends at the first sentence that fails. Except
with annotate, an answer is rebuilt from its judged fields (`answer.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from anyio.to_thread import run_sync

from halldetect.errors import ServiceError
from halldetect.inputs import ASSERTS_NOTHING, Pair
from halldetect.stream import complete_sentences, context_of
from halldetect_serve.context import (
    ServiceContext,
    check_pairs,
    compact_json,
    store_reports,
    submit,
    with_keep_alive,
)
from halldetect_serve.error_responses import error_object
from halldetect_serve.proxy.answer import Choice, answer_choices, choice_index, token_counts
from halldetect_serve.proxy.messages import (
    ChatRequest,
    CheckedChoice,
    RequestContext,
    block_notice,
    why_rejected,
)
from halldetect_serve.proxy.upstream import Chunk, UpstreamClient

_DONE = b"data: [DONE]\n\n"


@dataclass(slots=True)
class GuardedChoice:
    """One choice of a stream that is judged sentence by sentence."""

    choice: Choice  # what the upstream has written
    judged: int = 0  # characters of its content
    held: str = ""  # judged, but asserts nothing, such as a heading: waits for its sentence
    shown: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)  # replaced or held back
    stopped: bool = False

    def next_sentence(self, ended: bool) -> str | None:
        """Return the next sentence with the space before it; None if it could still continue."""
        pending = self.choice.content[self.judged :]
        if self.stopped or not pending:
            return None
        ends = complete_sentences(pending) or (ended and complete_sentences(pending, ended=True))
        if not ends:
            return None
        self.judged += ends[0]
        return pending[: ends[0]]

    def release(self, text: str) -> str:
        """Return the held text and `text`, to pass them on."""
        released, self.held = self.held + text, ""
        self.shown += released
        return released

    def change(self, sentence: str, after: str | None, why: str) -> None:
        """Record a sentence that was replaced, or held back (None)."""
        action, after = ("changed", after.strip()) if after else ("removed", None)
        change = {"action": action, "before": sentence.strip(), "after": after, "why": why}
        self.changes.append(change)

    def stop(self) -> None:
        """Pass nothing more on; the rest of the content is not judged."""
        self.stopped = True
        self.choice.content = self.choice.content[: self.judged]


Guards = dict[int, GuardedChoice]


@dataclass
class ProxiedChat:
    """One chat request, until an answer may be shown."""

    context: ServiceContext
    upstream: UpstreamClient
    request: ChatRequest
    read: RequestContext
    request_id: str

    def __post_init__(self) -> None:
        self.body = self.request.upstream_body()
        self.mode = self.upstream.settings.action
        model = self.body.get("model")
        self.frame = {
            "id": f"chatcmpl-{self.request_id}",
            "object": "chat.completion.chunk" if self.request.stream else "chat.completion",
            "created": int(time.time()),
            "model": model if isinstance(model, str) else "",
        }

    async def answer(self) -> dict[str, Any]:
        """Return the whole answer, annotated, with blocked choices replaced."""
        answer = await self.upstream.complete(self.body)
        try:
            checked = await self.check(answer_choices(answer, self.read.vocabulary))
            checked = await self._repair(checked)
        except ServiceError as error:
            return {**answer, "halldetect": self._failed_annotation(error)}
        if self.mode == "annotate":
            return {**answer, "halldetect": await self._annotation(checked, {})}
        choices, actions = [], {}
        for item in checked:
            message, reason = item.message, item.choice.finish_reason
            if self._rejects(item):
                repaired = None if item.repair is None else item.repair["text"]
                message = {"role": "assistant", "content": repaired or block_notice(item)}
                reason = "stop" if repaired else "content_filter"
                actions[item.index] = "repaired" if repaired else "blocked"
            choices.append({"index": item.index, "message": message, "finish_reason": reason})
        rebuilt = {**self.frame, "choices": choices, **token_counts(answer)}
        return {**rebuilt, "halldetect": await self._annotation(checked, actions)}

    async def stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Yield the events of the answer; the last chunk has the annotation."""
        annotates = self.mode == "annotate"
        parts = self._annotated_stream(chunks) if annotates else self._guarded_stream(chunks)
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
            chunk.pop("halldetect", None)  # ours is the last one
            yield _event(chunk)
        choices: dict[int, Choice] = {}
        try:
            for choice in (choice for chunk in seen for choice in chunk.get("choices", [])):
                known = choices.setdefault(choice_index(choice), Choice(self.read.vocabulary))
                known.take(choice, "delta")
            annotation = await self._annotation(await self.check(choices), {})
        except ServiceError as error:
            annotation = self._failed_annotation(error)
        same = {name: value for name, value in (seen or [{}])[0].items() if name in self.frame}
        yield _event({**self.frame, **same, "choices": [], "halldetect": annotation})

    async def _guarded_stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        """Judge each sentence when it is complete; reading waits for the verdict."""
        guards: Guards = {}
        usage: dict[str, Any] = {}
        asked = self.body.get("n")
        wanted = asked if isinstance(asked, int) and asked > 1 else 1
        async for chunk in chunks:
            usage = token_counts(chunk) or usage
            for choice in chunk.get("choices", []):
                new = GuardedChoice(Choice(self.read.vocabulary))
                guard = guards.setdefault(choice_index(choice), new)
                if not guard.stopped:
                    guard.choice.take(choice, "delta")
            async for part in self._judged_parts(guards, ended=False):
                yield part
            if sum(guard.stopped for guard in guards.values()) >= wanted:
                break
        async for part in self._judged_parts(guards, ended=True):
            yield part
        async for part in self._other_parts(guards):
            yield part
        checked = await self.check({index: guard.choice for index, guard in guards.items()})
        actions = {}
        for at, item in enumerate(checked):
            guard = guards[item.index]
            if guard.stopped or guard.changes:
                actions[item.index] = "blocked" if guard.stopped else "repaired"
            if guard.changes and self.mode == "repair":
                repair = {"outcome": "repaired", "reason": None, "changes": guard.changes}
                checked[at] = replace(item, repair=repair)
            if guard.stopped:
                delta = {"role": "assistant", "content": block_notice(item, guard.shown)}
                yield self._chunk(item.index, delta, "content_filter")
            else:
                yield self._chunk(item.index, {}, guard.choice.finish_reason)
        annotation = await self._annotation(checked, actions)
        yield _event({**self.frame, "choices": [], **usage, "halldetect": annotation})

    async def _judged_parts(self, guards: Guards, *, ended: bool) -> AsyncIterator[bytes]:
        """Yield the sentences that may be shown."""
        for index, guard in guards.items():
            # In a thread, because the upstream's text may be hard to read.
            while (sentence := await run_sync(guard.next_sentence, ended)) is not None:
                text = await self._judged_text(guard, sentence)
                if text:
                    yield self._chunk(index, {"role": "assistant", "content": text})
            if ended and guard.held and not guard.stopped:
                yield self._chunk(index, {"role": "assistant", "content": guard.release("")})

    async def _judged_text(self, guard: GuardedChoice, sentence: str) -> str:
        """Judge a sentence and return the text to show now."""
        why, asserts = await self._rejection(guard.shown + guard.held, sentence)
        if why is None and not asserts:
            guard.held += sentence
            return ""
        if why is None:
            return guard.release(sentence)
        repaired = None
        if self.mode == "repair":
            repaired = await self._repaired_sentence(guard.shown + guard.held, sentence)
        else:
            guard.stop()
        guard.change(sentence, repaired, why)
        return "" if repaired is None else guard.release(repaired)

    async def _rejection(self, shown: str, sentence: str) -> tuple[str | None, bool]:
        """Return why a sentence may not follow the text `shown`, and if it asserts anything."""
        context = context_of(shown).lstrip()
        pair = self.read.pair(context + sentence, judge_from=len(context))
        with submit(self.context, self._unstored, [pair]) as job:
            (finished,) = await job.reports()
        if finished.overview["reason"] in ASSERTS_NOTHING:
            return None, False
        return why_rejected(finished, self.upstream.settings.block_unchecked), True

    async def _repaired_sentence(self, shown: str, sentence: str) -> str | None:
        """Return a repair of a sentence that is supported after the text before it, or None."""
        (repair,) = await self._repairs([sentence.strip()])
        text = repair["text"]
        if not isinstance(text, str) or not text.strip():
            return None
        repaired = sentence[: len(sentence) - len(sentence.lstrip())] + text.strip()
        why, _ = await self._rejection(shown, repaired)
        return repaired if why is None else None

    async def _other_parts(self, guards: Guards) -> AsyncIterator[bytes]:
        """Check the fields besides the content, and yield those that may be shown."""
        found = await run_sync(_rests, guards)
        for item in await self.check(found, store=False):
            if self._rejects(item):
                guards[item.index].stop()
            else:
                yield self._chunk(item.index, item.message)
        for index, guard in guards.items():  # nothing of them is left
            if guard.changes and not (guard.shown.strip() or index in found):
                guard.stop()

    @property
    def _unstored(self) -> Any:
        return self.request.options.model_copy(update={"store": False})

    async def check(self, choices: dict[int, Choice], *, store: bool = True) -> list[CheckedChoice]:
        """Check every choice of an answer, by index, against the sources of the request."""
        if not choices:
            return []
        options = self.request.options if store else self._unstored
        pairs = await run_sync(
            lambda: [self.read.pair(*choice.to_judge()) for choice in choices.values()]
        )
        reports = await check_pairs(self.context, options, pairs)
        stored = await store_reports(self.context, options, reports, self.request_id)
        # In a thread, as every reading of a report: it has the sources.
        made = zip(choices, choices.values(), reports, stored, strict=True)
        return await run_sync(lambda: [CheckedChoice.of(*parts) for parts in made])

    def _rejects(self, item: CheckedChoice) -> bool:
        return item.is_rejected(self.upstream.settings.block_unchecked)

    async def _repair(self, checked: list[CheckedChoice]) -> list[CheckedChoice]:
        """Repair the rejected choices in that mode; tool calls cannot be reassembled."""
        broken = [
            item for item in checked if self._rejects(item) and set(item.checked) == {"content"}
        ]
        if self.mode != "repair" or not broken:
            return checked
        repairs = await self._repairs([item.checked["content"] for item in broken])
        outcomes = {item.index: repair for item, repair in zip(broken, repairs, strict=True)}
        mended = {
            item.index: replace(item.choice, content=outcomes[item.index]["text"])
            for item in broken
            if outcomes[item.index]["text"] and self.read.before is not None
        }
        for item in await self.check(mended, store=False):  # a repair does not know the rules
            if self._rejects(item):
                del outcomes[item.index]
        return [replace(item, repair=outcomes.get(item.index)) for item in checked]

    async def _repairs(self, texts: list[str]) -> list[dict[str, Any]]:
        """Return the repairs of texts, from `Repair.to_dict`."""
        pairs = [Pair(self.read.sources, text, self.read.question) for text in texts]
        with submit(self.context, self._unstored, pairs, repair=True) as job:
            return [json.loads(finished.json) for finished in await job.reports()]

    async def _annotation(
        self, checked: list[CheckedChoice], actions: dict[int, str]
    ) -> dict[str, Any]:
        """Return the field `halldetect` of an answer; `actions` are those on changed choices."""
        choices = []
        for item in checked:
            usual = "annotated" if item.verdict == "hallucinated" else "passed"
            action = actions.get(item.index, usual)
            self.context.metrics.proxied.labels(action).inc()
            choices.append(await run_sync(item.annotation, action))
        return {"mode": self.mode, "choices": choices, "error": None}

    def _failed_annotation(self, error: ServiceError) -> dict[str, Any]:
        """Return the annotation for a check that failed; raise it if answers may be blocked."""
        if self.mode != "annotate":
            raise error
        described = error_object(error, self.request_id)
        return {"mode": self.mode, "choices": [], "error": described}

    def _chunk(self, index: int, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        if calls := delta.get("tool_calls"):
            delta = {
                **delta,
                "tool_calls": [{"index": at, **call} for at, call in enumerate(calls)],
            }
        choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
        return _event({**self.frame, "choices": [choice]})


def _rests(guards: Guards) -> dict[int, Choice]:
    """Return the choices whose other fields are still to be judged, without their content."""
    open_choices = ((at, guard.choice) for at, guard in guards.items() if not guard.stopped)
    rests = {at: replace(choice, content="") for at, choice in open_choices}
    return {at: rest for at, rest in rests.items() if rest.checked or rest.known_calls}


def _event(value: dict[str, Any]) -> bytes:
    return f"data: {compact_json(value)}\n\n".encode()
