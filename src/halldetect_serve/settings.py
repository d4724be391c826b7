"""The operator's settings, fixed when the service starts; no request can change them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from halldetect.config import Configuration
from halldetect.errors import ConfigurationError
from halldetect.machine.store import require_network
from halldetect.verification.presets import DEFAULT
from halldetect_serve.proxy.rag_prompt import SourcePlaces

ACTIONS = ("annotate", "block", "repair")
UPSTREAM_KEY = "HALLDETECT_UPSTREAM_API_KEY"


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The options of every check, and the other verifiers on offer."""

    configuration: Configuration = field(default_factory=Configuration)
    more_verifiers: tuple[str, ...] = ()

    @property
    def verifiers(self) -> tuple[str, ...]:
        """The names of the verifiers on offer, the default first."""
        default = self.configuration.verifier or DEFAULT
        return tuple(dict.fromkeys((default, *self.more_verifiers)))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size, the number and the duration (in seconds) of requests."""

    max_body: int = 8_000_000
    max_items: int = 64
    queue: int = 128  # pairs of source and response that may wait
    batch: int = 16  # pairs that are checked together
    timeout: float = 120.0  # of a check, waiting included
    read_timeout: float = 20.0  # for a request to arrive
    write_timeout: float = 20.0  # for a client to read one piece of an answer
    drain: float = 30.0  # to finish running requests after a signal to stop
    rate: int = 600  # requests per minute and caller; 0 means no limit

    def __post_init__(self) -> None:
        for name in ("queue", "batch", "max_items", "max_body"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name.replace('_', '-')} must be at least 1")
        if self.queue < self.max_items:
            raise ConfigurationError("the queue must have room for the largest batch request")
        for name in ("timeout", "read_timeout", "write_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name.replace('_', '-')} must be more than 0")


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """The database of the reports, SQLite or PostgreSQL, and the limits on their age and number."""

    url: str
    reports: bool = False
    keep_days: float | None = None
    keep_reports: int | None = None


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """The chat server behind the proxy."""

    url: str
    action: str = "annotate"  # on a hallucinated answer, one of `ACTIONS`
    block_unchecked: bool = False
    timeout: float = 120.0
    max_bytes: int = 8_000_000  # per answer
    key: str = field(default="", repr=False)
    sources: SourcePlaces = field(default_factory=SourcePlaces)

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ConfigurationError(f"unknown action {self.action!r}: use {', '.join(ACTIONS)}")
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
            _ = parts.port
        except ValueError:
            usable = False
        if not usable or parts.query or parts.fragment:
            raise ConfigurationError(
                "the upstream must look like http://127.0.0.1:8080/v1, with nothing after the path"
            )
        require_network("the upstream of the proxy", parts.hostname)
        if parts.username or parts.password:
            raise ConfigurationError(f"put the upstream's key into {UPSTREAM_KEY}, not its URL")
        if not (self.key.isascii() and self.key.isprintable()):
            raise ConfigurationError(f"{UPSTREAM_KEY} holds characters that no key can have")

    def endpoint(self, name: str) -> str:
        """Return the full address of `chat/completions` or `models`."""
        base = self.url.rstrip("/").removesuffix("/chat/completions")
        return f"{base}/{name}"


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """All settings of the service."""

    storage: StorageSettings
    host: str = "127.0.0.1"  # without `auth` it must be a loopback address
    port: int = 8000  # 0 chooses a free one
    auth: bool = False
    tokens: Path = Path("tokens")  # a file, used with `auth`
    checks: CheckSettings = field(default_factory=CheckSettings)
    limits: Limits = field(default_factory=Limits)
    upstream: UpstreamSettings | None = None
    origins: tuple[str, ...] = ()  # web sites whose scripts may call the API

    def __post_init__(self) -> None:
        if not self.auth and not is_loopback(self.host):
            raise ConfigurationError(
                f"serving on {self.host} needs tokens: add --auth and make one with "
                "`halldetect tokens create NAME`"
            )
        if not 0 <= self.port <= 65535:
            raise ConfigurationError(f"there is no port {self.port}")
        if "*" in self.origins:
            raise ConfigurationError("name the origins that may call the service; * is too many")


def is_loopback(host: str) -> bool:
    """Return True if `host`, a name or an address, is this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
