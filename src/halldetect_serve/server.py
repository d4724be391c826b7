"""Starts the service: the tables of the database, then the worker, then the HTTP server."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import suppress

import uvicorn

from halldetect.errors import ConfigurationError
from halldetect_serve.app import create_app
from halldetect_serve.database import Database
from halldetect_serve.settings import ServiceSettings
from halldetect_serve.worker.process import DetectorPoolFactory, ModelDetectorPool
from halldetect_serve.worker.supervisor import WorkerSupervisor

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
    """Serve until SIGTERM or SIGINT, then finish the running requests.

    Args:
        settings: the settings of the service.
        pool_factory: builds the detectors inside the worker process; tests pass fakes.

    Raises:
        ConfigurationError: if the address or the database cannot be used.
        ModelError: if the worker cannot load its models.
    """
    # SIGTERM before uvicorn runs leaves every `with` below, as Ctrl-C does. Later uvicorn handles
    # both signals, drains, and raises them again at the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), open_listener(settings) as listener:
        create_tables(settings)
        with WorkerSupervisor(settings.checks, pool_factory) as supervisor:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"halldetect: serving on http://{shown}:{port}", file=sys.stderr, flush=True)
            uvicorn.Server(uvicorn_config(settings, supervisor)).run(sockets=[listener])


def create_tables(settings: ServiceSettings) -> None:
    """Create the tables of the database if reports are stored."""
    if settings.storage.reports:
        database = Database(settings.storage.url)
        database.create()
        database.close()


def open_listener(settings: ServiceSettings) -> socket.socket:
    """Open the socket to serve on.

    Raises:
        ConfigurationError: if the address is not available.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol set to TCP, asyncio disables Nagle's algorithm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        address = f"{settings.host}:{settings.port}"
        raise ConfigurationError(f"cannot serve on {address}: {error.strerror}") from None
    listener.listen(1024)
    return listener


def uvicorn_config(settings: ServiceSettings, supervisor: WorkerSupervisor) -> uvicorn.Config:
    """Return the configuration of uvicorn, which logs warnings only."""
    return uvicorn.Config(
        create_app(settings, supervisor),
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.limits.drain),
    )
