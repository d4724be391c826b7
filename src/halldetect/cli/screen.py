"""What a person sees while waiting (standard error), and the result (standard output)."""

from __future__ import annotations

import os
import sys
from time import monotonic
from types import TracebackType

from halldetect.errors import InputError

_WORDS = {
    "fetch": "fetching the model, MB",
    "extract": "extracting claims",
    "verify": "judging pairs",
}
_BAR = 28
# Where no bar can be drawn, a line every so many seconds shows that work goes on.
_PLAIN_EVERY = 5.0


class Screen:
    """Notices and progress: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or sys.stderr is None
        self._terminal = not self._quiet and sys.stderr.isatty()
        self._drawn = False
        self._last = monotonic()

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wipe()

    def notice(self, line: str) -> None:
        if not self._quiet:
            self.wipe()
            print(f"halldetect: {line}", file=sys.stderr, flush=True)

    def progress(self, phase: str, done: int, of: int) -> None:
        words = _WORDS.get(phase, phase)
        if phase == "fetch":
            done, of = done // 1_000_000, of // 1_000_000
        if self._terminal:
            filled = _BAR * done // max(of, 1)
            bar = "#" * filled + "." * (_BAR - filled)
            print(f"\r\x1b[2K{words} [{bar}] {done}/{of}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        elif not self._quiet and monotonic() - self._last >= _PLAIN_EVERY:
            print(f"halldetect: {words}, {done} of {of}", file=sys.stderr, flush=True)
            self._last = monotonic()

    def wipe(self) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def put(text: str) -> None:
    """Write a result to standard output, always as UTF-8; a reader that has left is no error."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        # Python would complain again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"cannot write to standard output: {error.strerror}") from error
