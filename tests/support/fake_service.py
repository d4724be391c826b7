"""The real service over a small verifier that does as the texts tell it.

python fake_service.py [options of halldetect serve]
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence

from halldetect import Detector
from halldetect.pipeline import Progress
from halldetect.report import Probabilities
from halldetect.serve.settings import CheckSettings
from halldetect.serve.worker.wire import Options
from tests.support.fakes import OverlapVerifier, SentenceExtractor

_SLEEP = re.compile(r"sleeps (\d+) ms")


class ObedientVerifier(OverlapVerifier):
    """Sleeps, fails or dies where a claim says so; otherwise it counts words."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.clear()
        asked = {claim for _, claim in pairs}
        for claim in asked:
            if found := _SLEEP.search(claim):
                time.sleep(int(found[1]) / 1000)
            if "verifier dies" in claim:
                os.kill(os.getpid(), signal.SIGKILL)
            if "verifier fails" in claim:
                raise RuntimeError(f"no good: {claim}")
        return super().judge(pairs)


class Fakes:
    def __init__(
        self, checking: CheckSettings, progress: Progress, alive: Callable[[], None]
    ) -> None:
        self._checking = checking
        self._progress = progress
        self._verifier = ObedientVerifier()

    def load(self) -> None:
        if os.environ.get("FAKE_LOAD") == "fails":
            raise RuntimeError("no model")
        if os.environ.get("FAKE_LOAD") == "takes long":
            print("loading", file=sys.stderr, flush=True)
            time.sleep(600)

    def of(self, options: Options) -> Detector:
        if options.extractor == "broken":
            raise LookupError("secret inside")
        extractor = SentenceExtractor()
        extractor.blocks = _Nothing()
        return Detector(
            extractor,
            self._verifier,
            scoring=options.scoring,
            threshold=options.threshold,
            exact=options.exact,
            max_source=self._checking.max_source,
            max_response=self._checking.max_response,
            progress=self._progress,
        )


class _Nothing(list[str]):
    """The fake extractor notes what it has read; a service would fill up with it."""

    def append(self, item: str) -> None:
        pass


def main() -> None:
    from halldetect.cli import build_parser
    from halldetect.cli.serve import settings_for
    from halldetect.serve.server import run

    run(settings_for(build_parser().parse_args(["serve", *sys.argv[1:]])), Fakes)


if __name__ == "__main__":
    main()
