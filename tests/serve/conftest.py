"""One service for all the tests that only ask it things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from halldetect.serve.settings import CheckSettings, Limits, Settings, Storage
from halldetect.serve.worker.supervisor import WorkerSupervisor
from tests.support.fake_service import Fakes
from tests.support.running import Inside, front

CHECKING = CheckSettings(more_extractors=("sentences", "broken"), max_response=5000)


@pytest.fixture(scope="session")
def keeper() -> Iterator[WorkerSupervisor]:
    """One worker for all services that do nothing bad to it."""
    with WorkerSupervisor(CHECKING, Limits(queue=32, max_items=8), Fakes) as keeper:
        yield keeper


@pytest.fixture(scope="session")
def service(keeper: WorkerSupervisor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder: Path = tmp_path_factory.mktemp("service")
    settings = Settings(
        Storage(f"sqlite:///{folder / 'serve.db'}", reports=True),
        checking=CHECKING,
        limits=Limits(rate=0, max_body=100_000, queue=32, max_items=8, read_timeout=1.0),
    )
    with front(settings, keeper) as running:
        yield running


@pytest.fixture
def client(service: Inside) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client
