"""The first use of `--verifier large`: its notices, and errors of a bad base."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from halldetect import Detector
from halldetect.errors import ConfigurationError, ModelError
from halldetect.machine import catalogue, store
from halldetect.machine.integrity import WEIGHTS, digest_of
from halldetect.models import verifiers
from halldetect.verification.presets import LARGE_BASE
from tests.support.tiny_qwen import write_tiny

SOURCE = "The pump was repaired in May. The valve was replaced in June."


@pytest.fixture
def tiny_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model in the place of `large`, which was never used on this machine."""
    folder = tmp_path / "weights" / "large"
    folder.mkdir(parents=True)
    tiny = write_tiny(folder)
    (tmp_path / "weights" / "base").symlink_to(WEIGHTS / "base")
    entry = SimpleNamespace(sha256=digest_of(tiny.base))
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    monkeypatch.setattr(verifiers, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr(verifiers, "_loaded", {})
    monkeypatch.setattr(catalogue, "find", lambda name: entry)
    monkeypatch.setattr(store, "location", lambda entry: tiny.base)
    monkeypatch.setattr(store, "path", lambda name: tiny.base)
    monkeypatch.setattr(verifiers, "require_shipped", lambda *_: {})


@pytest.mark.usefixtures("tiny_large")
def test_first_use_announces_the_conversion_once() -> None:
    told: list[str] = []

    def tell(phase: str, done: int, of: int) -> None:
        if phase == "convert":
            told.append(f"{done * 3 // of} of 3")

    def check() -> None:
        verifiers._loaded.clear()  # as in another process
        detector = Detector("large", device="cpu", notice=told.append, progress=tell)
        detector.check(SOURCE, "The pump was repaired in May.")

    check()
    notice, *steps = told
    assert notice.startswith("converting the large verifier")
    assert steps == ["0 of 3", "1 of 3", "2 of 3"]
    told.clear()
    check()
    assert told == []


def test_truncated_base_is_called_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    file = store.location(catalogue.find(LARGE_BASE))
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"corrupt: it has 4 bytes.*models pull"):
        verifiers.load_verifier("large")


def test_auto_is_refused_as_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    detector = Detector("large", fallback="auto", notice=lambda line: None)
    with pytest.raises(ConfigurationError, match="two verifiers"):
        detector.check(SOURCE, "The pump was repaired in May.")
