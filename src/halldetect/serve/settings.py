"""What the operator decides when the service starts; nothing here comes from a request."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from halldetect.config import MAX_RESPONSE, MAX_SOURCE
from halldetect.errors import ConfigurationError
from halldetect.windows.scales import GRANULARITIES

EMBEDDED = "embedded"
ACTIONS = ("annotate", "block", "retry")
UPSTREAM_KEY = "HALLDETECT_UPSTREAM_API_KEY"


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """How texts are checked where a request does not say; what a request may choose from."""

    extractor: str = "auto"
    verifier: str = EMBEDDED
    scoring: str = "calibrated"
    threshold: float = 0.5
    exact: bool = False
    guard: bool = True
    truncate: bool = False
    granularities: tuple[int, ...] = GRANULARITIES
    seed: int = 0
    threads: int | None = None
    max_source: int = MAX_SOURCE
    max_response: int = MAX_RESPONSE
    more_extractors: tuple[str, ...] = ("sentences",)
    more_verifiers: tuple[str, ...] = ()

    @property
    def extractors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.extractor, *self.more_extractors)))

    @property
    def verifiers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.verifier, *self.more_verifiers)))


@dataclass(frozen=True, slots=True)
class Limits:
    """queue and batch count pairs of source and response; rate is requests a minute a token."""

    max_body: int = 8_000_000
    max_items: int = 64
    queue: int = 128
    batch: int = 16
    timeout: float = 120.0
    read_timeout: float = 20.0
    write_timeout: float = 20.0
    drain: float = 30.0
    rate: int = 600


@dataclass(frozen=True, slots=True)
class Storage:
    """`reports` says whether a request may ask for its report to be kept.

    The database holds the tokens too, and is not touched where neither is used.
    """

    url: str
    reports: bool = False
    keep_days: float | None = None
    keep_reports: int | None = None


@dataclass(frozen=True, slots=True)
class Upstream:
    """The chat server behind the guarding proxy; fixed here so that no request can choose it."""

    url: str
    action: str = "annotate"
    retries: int = 2
    block_unchecked: bool = False
    timeout: float = 120.0
    max_bytes: int = 8_000_000
    key: str = field(default="", repr=False)

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
        if parts.username or parts.password:
            raise ConfigurationError(f"put the upstream's key into {UPSTREAM_KEY}, not its URL")
        if not (self.key.isascii() and self.key.isprintable()):
            raise ConfigurationError(f"{UPSTREAM_KEY} holds characters that no key can have")

    @property
    def endpoint(self) -> str:
        return f"{self.url.rstrip('/').removesuffix('/chat/completions')}/chat/completions"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything. `auth` may be off only where nobody but this machine can connect."""

    storage: Storage
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    auth: bool = False
    checking: CheckSettings = CheckSettings()
    limits: Limits = Limits()
    upstream: Upstream | None = None
    origins: tuple[str, ...] = ()
    log_text: bool = False

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
        for name in ("workers", "queue", "batch", "max_items", "max_body"):
            value = self.workers if name == "workers" else getattr(self.limits, name)
            if value < 1:
                raise ConfigurationError(f"{name.replace('_', '-')} must be at least 1")
        if self.limits.queue < self.limits.max_items:
            raise ConfigurationError("the queue must have room for the largest batch request")
        for name in ("timeout", "read_timeout", "write_timeout"):
            if not getattr(self.limits, name) > 0:
                raise ConfigurationError(f"{name.replace('_', '-')} must be more than 0")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def upstream_key() -> str:
    return os.environ.get(UPSTREAM_KEY, "").strip()
