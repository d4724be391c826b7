"""The claims of a response and the windows of its source, fitted to what a verifier reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.claims import Claim
from halldetect.protocols import Verifier
from halldetect.reading.document import Document
from halldetect.verification.pages import fit_windows, truncate_windows
from halldetect.verification.scales import Window
from halldetect.verification.tokens import SourceTokens, token_verifier

# The room a claim takes is counted in steps of so many tokens: windows are then divided in few
# ways, and the division for one claim never depends on the other claims of the batch.
CLAIM_STEP = 64
# A claim may take at most this share of what the verifier reads; the rest is for the window.
CLAIM_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """The claims of one response and the windows of its source.

    `finer` asks for finer scales where all windows of a long source are long.
    """

    claims: tuple[Claim, ...]
    windows: tuple[Window, ...]
    documents: tuple[Document, ...]
    finer: bool = False


class FittedTask:
    """A task whose windows fit beside each claim, and the tokens of both.

    Claims of about the same length have the same room beside them and share their windows.
    """

    def __init__(self, verifier: Verifier, task: Task, truncate: bool) -> None:
        self.task = task
        self.longest_claim = int(verifier.max_tokens * CLAIM_SHARE)
        self._verifier = verifier
        self._truncate = truncate
        self._claim_ids: list[tuple[int, ...]] = []
        texts = [claim.hypothesis for claim in task.claims]
        by_tokens = token_verifier(verifier)
        if by_tokens is None:
            self.claim_tokens = verifier.count_tokens(texts)
        else:
            self._claim_ids = by_tokens.tokenize(texts)
            self.claim_tokens = [len(ids) for ids in self._claim_ids]
        self._tokens = SourceTokens(verifier, task.documents)
        self.problems = [claim.problem or _unreadable(verifier, claim) for claim in task.claims]
        self._rooms = [
            None if problem is not None else self._room(tokens)
            for problem, tokens in zip(self.problems, self.claim_tokens, strict=True)
        ]
        self._windows = {room: self._fit(room) for room in self._rooms if room is not None}
        self._counts = {
            room: self._tokens.count_windows(windows) for room, windows in self._windows.items()
        }

    def _room(self, claim_tokens: int) -> int | None:
        """The tokens that a window may have beside a claim; None if the claim is too long."""
        if claim_tokens > self.longest_claim:
            return None
        most = self._verifier.max_tokens
        if self._truncate:
            return most - claim_tokens
        steps = -(-max(claim_tokens, 1) // CLAIM_STEP)
        return most - min(steps * CLAIM_STEP, self.longest_claim)

    def _fit(self, room: int) -> tuple[Window, ...]:
        task = self.task
        if self._truncate:
            return truncate_windows(task.windows, self._verifier, self._tokens, room)
        return fit_windows(
            task.windows,
            task.documents,
            self._tokens,
            room,
            finer=task.finer,
            # Its verdict rests on pages, and hardly on the windows inside them.
            overlap=getattr(self._verifier, "reads_whole_sources", False),
        )

    def windows(self, claim: int) -> tuple[Window, ...]:
        """The windows that a claim can be judged against; none if it is too long."""
        room = self._rooms[claim]
        return () if room is None else self._windows[room]

    def sizes(self, claim: int) -> list[int]:
        """The tokens of each of these windows together with the claim."""
        room = self._rooms[claim]
        if room is None:
            return []
        return [count + self.claim_tokens[claim] for count in self._counts[room]]

    def pair_tokens(self, window: Window, claim: int) -> tuple[Sequence[int], Sequence[int]]:
        """The tokens of a window and of a claim."""
        # What is left of a truncated window may be shorter than what is read for its span.
        document = self.task.documents[window.document]
        whole = not self._truncate or document.readable(window.span) == window.text
        ids = self._tokens.tokens(window) if whole else None
        if ids is None:
            by_tokens = token_verifier(self._verifier)
            assert by_tokens is not None
            (ids,) = by_tokens.tokenize([window.text])
        return ids, self._claim_ids[claim]


def _unreadable(verifier: Verifier, claim: Claim) -> str | None:
    """Why a verifier cannot judge a claim: a word that it has no tokens for would be ignored."""
    unknown_words = getattr(verifier, "unknown_words", None)
    unknown = [] if unknown_words is None else unknown_words(claim.hypothesis)
    if not unknown:
        return None
    shown = ", ".join(repr(word[:40]) for word in dict.fromkeys(unknown[:3]))
    return f"the verifier cannot read {shown}"
