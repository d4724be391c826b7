"""The digests of model folders, and of the weights in the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from halldetect.errors import ModelError
from halldetect.machine import integrity
from halldetect.machine.integrity import (
    REFRESH_COMMAND,
    SHIPPED_DIGESTS,
    WEIGHTS,
    file_digests,
    joint_digest,
    require_shipped,
)


def test_digests_of_shipped_weights_are_current() -> None:
    found = {
        folder.name: joint_digest(file_digests(folder))
        for folder in WEIGHTS.iterdir()
        if folder.is_dir()
    }
    assert found == SHIPPED_DIGESTS, (
        f"the weights have changed, their digests have not: run `{REFRESH_COMMAND}`"
    )


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "weights" / "tiny"
    (folder / "deep").mkdir(parents=True)
    (folder / "model").write_bytes(b"1")
    (folder / "deep" / "config.json").write_bytes(b"2")
    monkeypatch.setattr(integrity, "SHIPPED_DIGESTS", {"tiny": joint_digest(file_digests(folder))})
    return tmp_path / "weights"


def test_weights_as_released(weights: Path) -> None:
    found = require_shipped("tiny", weights)
    assert sorted(found) == ["deep/config.json", "model"]


@pytest.mark.parametrize("change", ["altered", "removed", "added", "renamed", "swapped"])
def test_any_change_to_the_weights_is_found(weights: Path, change: str) -> None:
    model, config = weights / "tiny" / "model", weights / "tiny" / "deep" / "config.json"
    if change == "altered":
        config.write_bytes(b"3")
    elif change == "removed":
        config.unlink()
    elif change == "added":
        (weights / "tiny" / "extra").touch()
    elif change == "renamed":
        model.rename(weights / "tiny" / "model2")
    else:
        model.write_bytes(b"2")
        config.write_bytes(b"1")
    with pytest.raises(ModelError, match=f"reinstall halldetect, or run `{REFRESH_COMMAND}`"):
        require_shipped("tiny", weights)
