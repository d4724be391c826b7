"""A streamed answer that is judged sentence by sentence while the upstream is still writing.

Only the text of an answer is guarded so. A choice with anything else to check, such as a tool
call, is collected from there on, and shown or not when it is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from halldetect.reading.sentences import sentences
from halldetect.stream.unfinished_text import complete_sentences
from halldetect_serve.proxy.choices import ChoiceText, read_choice


@dataclass(slots=True)
class GuardedChoice:
    """One choice of a streamed answer.

    written        what the upstream has written and was judged, as it was
    shown          what was passed on
    pending        what was written since, and is not judged yet
    changes        sentences that were not passed on as they were
    stopped        whether nothing more of it is passed on
    finish_reason  that the upstream states
    rest           what is not plain text, and all that came after it
    rest_text      the text of the rest
    """

    written: str = ""
    shown: str = ""
    pending: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False
    finish_reason: str | None = None
    rest: list[dict[str, Any]] = field(default_factory=list)
    rest_text: ChoiceText = field(default_factory=ChoiceText)
    unchecked: set[str] = field(default_factory=set)

    def take(self, choice: Mapping[str, Any]) -> None:
        """Add what a chunk has of the choice."""
        allowed, text = read_choice(choice, "delta")
        self.unchecked |= text.unchecked
        reason = allowed.pop("finish_reason", None)
        self.finish_reason = reason if isinstance(reason, str) else self.finish_reason
        if self.rest or set(text.checked) - {"content"} or text.arguments:
            read_choice(choice, "delta", self.rest_text)
            self.rest.append(allowed)
        elif not self.stopped:
            self.pending += "".join(text.content)

    def next_sentence(self, *, ended: bool) -> str | None:
        """Return the next sentence to judge, with the white space before it; None if none is.

        Args:
            ended: whether the upstream has ended, so that what is left is complete.
        """
        if self.stopped or not self.pending:
            return None
        ends = complete_sentences(self.pending)
        if not ends and ended:
            spans = sentences(self.pending)
            ends = [spans[0].end] if len(spans) > 1 else [len(self.pending)]
        if not ends:
            return None
        sentence, self.pending = self.pending[: ends[0]], self.pending[ends[0] :]
        return sentence

    def settle(self, sentence: str, shown: str | None, why: str | None = None) -> None:
        """Record what became of a sentence.

        Args:
            sentence: as it was written.
            shown: what is passed on; None if nothing is.
            why: why it is not passed on as it was.
        """
        self.written += sentence
        self.shown += shown or ""
        if shown != sentence:
            after = None if shown is None else shown.strip()
            action = "removed" if shown is None else "changed"
            change = {"action": action, "before": sentence.strip(), "after": after, "why": why}
            self.changes.append(change)

    @property
    def text(self) -> ChoiceText:
        """The text of the choice as far as it was written and judged, for the annotation."""
        rest = self.rest_text
        content = [self.written, *rest.content]
        return ChoiceText(content, rest.refusal, rest.transcript, rest.arguments, self.unchecked)
