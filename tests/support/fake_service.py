"""The real service over a small verifier that does as the texts tell it.

python -m tests.support.fake_service [options of halldetect serve]
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep  # by name: tests replace time.sleep beside a worker thread

from halldetect import Detector
from halldetect.config import Configuration
from halldetect.protocols import Progress
from halldetect.report import Probabilities
from halldetect_serve.settings import CheckSettings
from halldetect_serve.worker.process import ModelDetectorPool
from tests.support.fakes import OverlapVerifier

# A file that ends every sleep as soon as it exists: tests that say when need no exact times.
AWAKE = "FAKE_AWAKE"
_SLEEP = re.compile(r"sleeps (\d+) ms")


def _sleep(seconds: float) -> None:
    until, awake = monotonic() + seconds, os.environ.get(AWAKE)
    while monotonic() < until and not (awake and Path(awake).exists()):
        sleep(0.005)


class ObedientVerifier(OverlapVerifier):
    """Sleeps, fails or dies where a claim says so; otherwise it counts words."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.clear()
        asked = {claim for _, claim in pairs}
        for claim in asked:
            if found := _SLEEP.search(claim):
                _sleep(int(found[1]) / 1000)
            if "never wakes" in claim:
                sleep(600)
            if "never pauses" in claim:
                deadline = monotonic() + 60
                while monotonic() < deadline:
                    re.match("(a|aa)+$", "a" * 25 + "b")
            if "never returns" in claim:
                re.search("-+x", "-" * 200_000)  # minutes in which no signal is seen
            if "verifier dies" in claim:
                os.kill(os.getpid(), signal.SIGKILL)
            if "verifier fails" in claim:
                raise RuntimeError(f"no good: {claim}")
        return super().judge(pairs)


class FakeDetectorPool(ModelDetectorPool):
    """Detectors over fakes, for `run_server` and `WorkerSupervisor`."""

    def __init__(self, settings: CheckSettings, progress: Progress) -> None:
        self._progress = progress
        self._verifier = ObedientVerifier()

    def load(self) -> None:
        if os.environ.get("FAKE_LOAD") == "fails":
            raise RuntimeError("no model")
        if os.environ.get("FAKE_LOAD") == "takes long":
            print("loading", file=sys.stderr, flush=True)
            sleep(600)

    def get(self, configuration: Configuration) -> Detector:
        if configuration.verifier == "broken":
            raise LookupError("secret inside")
        return Detector(self._verifier, config=configuration, progress=self._progress)


def main() -> None:
    from halldetect.cli import build_parser
    from halldetect.cli.serve import settings_for
    from halldetect_serve.server import run_server

    run_server(settings_for(build_parser().parse_args(["serve", *sys.argv[1:]])), FakeDetectorPool)


if __name__ == "__main__":
    main()
