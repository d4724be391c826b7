"""Starts the service: creates the database schema, then the worker, then the HTTP processes."""

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

from halldetect.errors import ConfigurationError
from halldetect_serve.app import create_app
from halldetect_serve.dependencies import AppArguments, open_database
from halldetect_serve.http_protocol import StrictH11Protocol
from halldetect_serve.prometheus import MULTIPROCESS_FOLDER
from halldetect_serve.settings import ServiceSettings
from halldetect_serve.shutdown import PromptMultiprocess
from halldetect_serve.worker.detectors import DetectorPoolFactory, ModelDetectorPool
from halldetect_serve.worker.supervisor import WorkerSupervisor

log = logging.getLogger("halldetect_serve")
_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        "halldetect_serve": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}


def run_server(
    settings: ServiceSettings, pool_factory: DetectorPoolFactory = ModelDetectorPool
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests that are running.

    Args:
        settings: the settings of the service.
        pool_factory: builds the detectors inside the worker process; tests pass fakes.

    Raises:
        ConfigurationError: if the platform has no Unix sockets or the address cannot be used.
        ModelError: if the worker cannot load its models.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise ConfigurationError("halldetect serve needs Unix sockets: Linux or macOS")
    # SIGTERM before uvicorn runs: leave every `with` below, as Ctrl-C does. Once it serves,
    # uvicorn handles both signals, drains, and raises them again when it is done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), open_listener(settings) as listener:
        database = open_database(settings)
        if database is not None:
            database.migrate()
            database.close()
        with WorkerSupervisor(settings.checks, settings.limits, pool_factory) as supervisor:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"halldetect: serving on http://{shown}:{port}", file=sys.stderr, flush=True)
            _run_http_processes(AppArguments(settings, supervisor.socket), listener)


def open_listener(settings: ServiceSettings) -> socket.socket:
    """Open the socket that the HTTP processes share.

    Raises:
        ConfigurationError: if the address is not available.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is given because asyncio disables Nagle's algorithm only where it sees TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        address = f"{settings.host}:{settings.port}"
        raise ConfigurationError(f"cannot serve on {address}: {error.strerror}") from None
    listener.listen(1024)
    listener.set_inheritable(True)
    return listener


def uvicorn_config(arguments: AppArguments) -> uvicorn.Config:
    """Return how uvicorn runs the application; uvicorn itself logs warnings only."""
    settings = arguments.settings
    return uvicorn.Config(
        partial(create_app, arguments),
        factory=True,
        workers=settings.workers,
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=StrictH11Protocol,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.limits.drain),
    )


def _run_http_processes(arguments: AppArguments, listener: socket.socket) -> None:
    several = arguments.settings.workers > 1
    folder = tempfile.mkdtemp(prefix="halldetect-metrics-") if several else None
    if folder is not None:  # before prometheus_client is imported in the children
        os.environ[MULTIPROCESS_FOLDER] = folder
    config = uvicorn_config(arguments)
    try:
        if several:
            PromptMultiprocess(config, sockets=[listener]).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        if folder is not None:
            os.environ.pop(MULTIPROCESS_FOLDER, None)
            shutil.rmtree(folder, ignore_errors=True)
