"""A worker and a service that all tests share which only send them requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from halldetect.config import Configuration
from halldetect_serve.settings import CheckSettings, Limits, ServiceSettings, StorageSettings
from halldetect_serve.worker.supervisor import WorkerSupervisor
from tests.support.fake_service import FakeDetectorPool
from tests.support.running import LocalService, http_front

CHECKS = CheckSettings(Configuration(max_response=5000), more_extractors=("sentences", "broken"))


@pytest.fixture(scope="session")
def supervisor() -> Iterator[WorkerSupervisor]:
    """One worker for all services that do nothing bad to it."""
    with WorkerSupervisor(CHECKS, Limits(queue=32, max_items=8), FakeDetectorPool) as supervisor:
        yield supervisor


@pytest.fixture(scope="session")
def service(
    supervisor: WorkerSupervisor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalService]:
    folder: Path = tmp_path_factory.mktemp("service")
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{folder / 'serve.db'}", reports=True),
        checks=CHECKS,
        limits=Limits(rate=0, max_body=100_000, queue=32, max_items=8, read_timeout=1.0),
    )
    with http_front(settings, supervisor) as running:
        yield running


@pytest.fixture
def client(service: LocalService) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client
