"""What the routes of one HTTP process share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from halldetect.serve.error_responses import problem
from halldetect.serve.prometheus import Metrics
from halldetect.serve.proxy.upstream import Chat
from halldetect.serve.rate_limit import Rate
from halldetect.serve.settings import Settings
from halldetect.serve.storage.access_tokens import SCOPES, Token, Tokens
from halldetect.serve.storage.database import Database
from halldetect.serve.storage.report_store import Store
from halldetect.serve.worker.worker_client import WorkerClient


@dataclass(frozen=True, slots=True)
class AppArguments:
    """What the parent process hands to each HTTP process (it has to pickle)."""

    settings: Settings
    worker: Path


@dataclass(frozen=True, slots=True)
class Service:
    settings: Settings
    judge: WorkerClient
    metrics: Metrics
    rate: Rate
    database: Database | None
    store: Store | None
    tokens: Tokens | None
    chat: Chat | None

    @property
    def kept(self) -> Store:
        """The reports; a problem where the operator has not turned storage on."""
        if self.store is None:
            raise problem("storage_off", "this service keeps no reports")
        return self.store


# Who may do everything: whoever can connect to a service without tokens.
ANYBODY = Token("anybody", frozenset(SCOPES), 0.0)


def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def request_id(request: Request) -> str:
    name: Any = request.scope.get("request_id", "")
    return str(name)


Here = Annotated[Service, Depends(_service)]
RequestId = Annotated[str, Depends(request_id)]
