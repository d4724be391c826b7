"""The command line with everything real but the weights."""

from __future__ import annotations

import pytest

from tests.support.fakes import use_overlap_verifier


@pytest.fixture(autouse=True)
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
