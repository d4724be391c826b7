"""The command line with everything real but the weights."""

from __future__ import annotations

import pytest

from tests.support.fakes import OverlapVerifier


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "halldetect.verification.verifiers.load_verifier",
        lambda spec, **_: OverlapVerifier(),
    )
