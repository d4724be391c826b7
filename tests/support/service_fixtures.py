"""A service that all tests share which only send requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from halldetect.config import Configuration
from halldetect_serve.settings import CheckSettings, Limits, ServiceSettings, StorageSettings
from tests.support.running import Reachable, http_front

CHECKS = CheckSettings(Configuration(max_response=5000), more_verifiers=("broken",))


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reachable]:
    folder: Path = tmp_path_factory.mktemp("service")
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{folder / 'serve.db'}", reports=True),
        checks=CHECKS,
        limits=Limits(rate=0, max_body=100_000, queue=32, max_items=8),
    )
    with http_front(settings) as running:
        yield running


@pytest.fixture
def client(service: Reachable) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client
