"""Starts the service: the database brought up to date, the worker, the HTTP processes."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from functools import partial

import uvicorn
from uvicorn.supervisors import Multiprocess

from halldetect.errors import ConfigurationError
from halldetect.serve.app import create_app, open_database
from halldetect.serve.dependencies import AppArguments
from halldetect.serve.prometheus import SHARED_FOLDER
from halldetect.serve.settings import Settings
from halldetect.serve.worker.detectors import Builder, Loaded
from halldetect.serve.worker.supervisor import WorkerSupervisor

log = logging.getLogger("halldetect.serve")
_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        "halldetect.serve": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}


def run(settings: Settings, builder: Builder = Loaded) -> None:
    """Serve until told to stop (SIGTERM, SIGINT), then finish what has begun."""
    if not hasattr(socket, "AF_UNIX"):
        raise ConfigurationError("halldetect serve needs Unix sockets: Linux or macOS")
    # As Ctrl-C does: leave through every `with` below. Once serving, uvicorn takes both signals,
    # drains, and raises them again when it is done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), listen(settings) as listener:
        database = open_database(settings)
        if database is not None:
            database.migrate()
            database.close()
        with WorkerSupervisor(settings.checking, settings.limits, builder) as keeper:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"halldetect: serving on http://{shown}:{port}", file=sys.stderr, flush=True)
            _serve(AppArguments(settings, keeper.socket), listener)


def listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named in full: asyncio turns off Nagle's delay only where it sees that this is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise ConfigurationError(f"cannot serve on {where}: {error.strerror}") from None
    listener.listen(1024)
    listener.set_inheritable(True)
    return listener


def configured(shared: AppArguments) -> uvicorn.Config:
    """How uvicorn runs the application; what it logs itself is warnings only."""
    settings = shared.settings
    return uvicorn.Config(
        partial(create_app, shared),
        factory=True,
        workers=settings.workers,
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.limits.drain),
    )


def _serve(shared: AppArguments, listener: socket.socket) -> None:
    several = shared.settings.workers > 1
    folder = tempfile.mkdtemp(prefix="halldetect-metrics-") if several else None
    if folder is not None:  # before the metrics are imported in the children
        os.environ[SHARED_FOLDER] = folder
    config = configured(shared)
    try:
        if several:
            Multiprocess(config, sockets=[listener]).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        if folder is not None:
            os.environ.pop(SHARED_FOLDER, None)
            shutil.rmtree(folder, ignore_errors=True)
