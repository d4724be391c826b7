"""serve --knowledge: evidence is retrieved from an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from halldetect.config import Configuration
from halldetect.errors import InputError
from halldetect.knowledge.builder import build_index
from halldetect.knowledge.readers import find_files
from halldetect.protocols import Progress
from halldetect_serve.settings import CheckSettings, Limits, ServiceSettings, StorageSettings
from halldetect_serve.worker.process import ModelDetectorPool
from tests.support.running import http_front


def no_progress(phase: str, done: int, of: int) -> None:
    """Nobody watches."""


def test_checks_and_repairs_without_a_source(tmp_path: Path) -> None:
    text = "The bridge over the river opened in 1932. Anna Holm designed the bridge."
    (tmp_path / "bridge.txt").write_text(text, encoding="utf-8")
    build_index(tmp_path / "knowledge.index", find_files([tmp_path]))
    checks = CheckSettings(Configuration(knowledge=str(tmp_path / "knowledge.index")))
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{tmp_path / 'serve.db'}"), checks=checks, limits=Limits(rate=0)
    )
    body = {"source": [], "response": "The bridge opened in 1923. Zebras sing."}
    with (
        http_front(settings) as service,
        service.client() as client,
    ):
        report = client.post("/v1/check", json=body).json()["report"]
        repair = client.post("/v1/repair", json=body).json()["repair"]
    assert [claim["status"] for claim in report["claims"]] == ["contradicted", "unsupported"]
    assert report["document_names"] == ["bridge.txt, characters 0–72"]
    assert report["claims"][1]["reason"].startswith("nothing found")
    assert repair["text"] == "The bridge opened in 1932."


def test_a_missing_index_is_noticed_at_the_start(tmp_path: Path) -> None:
    checks = CheckSettings(Configuration(knowledge=str(tmp_path / "none")))
    progress: Progress = no_progress
    pool = ModelDetectorPool(checks, progress)
    with pytest.raises(InputError, match="there is no index"):
        pool.load()
