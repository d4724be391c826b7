"""Citations and proofs report their progress, and a check can be stopped there."""

from __future__ import annotations

import pytest

from halldetect import Detector
from tests.support.fakes import OverlapVerifier

SOURCE = (
    "The ferry leaves at nine. The captain is Anna Brandt. The harbour was dredged in spring. "
    "Bicycles travel free of charge. Hot meals are served on board. Nobody was hurt."
)
RESPONSE = (
    "Anna Brandt is the captain and became a volcano. "
    "Bicycles travel free of charge, hot meals are served on board."
)


def phases(response: str) -> list[tuple[str, int, int]]:
    seen: list[tuple[str, int, int]] = []
    detector = Detector(
        verifier=OverlapVerifier(), granularities=[1], progress=lambda *step: seen.append(step)
    )
    detector.check(SOURCE, response)
    return seen


def test_both_phases_tell_how_far_they_are() -> None:
    seen = phases(RESPONSE)
    names = list(dict.fromkeys(phase for phase, _, _ in seen))
    assert names == ["extract", "verify", "explain", "proof"]
    for name in names:
        shares = [done / of for phase, done, of in seen if phase == name and of]
        assert shares == sorted(shares)


@pytest.mark.parametrize("phase", ["explain", "proof"])
def test_a_check_can_be_stopped_in_both(phase: str) -> None:
    class Stop(BaseException):
        """As the service raises where nobody waits any more."""

    def stop(name: str, done: int, of: int) -> None:
        if name == phase:
            raise Stop

    detector = Detector(verifier=OverlapVerifier(), granularities=[1], progress=stop)
    with pytest.raises(Stop):
        detector.check(SOURCE, RESPONSE)
