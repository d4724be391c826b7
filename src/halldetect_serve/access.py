"""Access to the service: bearer tokens with scopes, and a limit on requests per caller.

Tokens come from a file or from the environment variable HALLDETECT_TOKENS, one per line:

    NAME  SCOPE,SCOPE  sha256:DIGEST

The variable may use semicolons instead of line ends. The secret may be given instead of its digest.
Empty lines and lines that begin with # are skipped. The scopes are read, check and admin; admin
includes the others.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import ConfigurationError, InputError

log = logging.getLogger("halldetect_serve")

SCOPES = ("read", "check", "admin")
PREFIX = "hd_"
TOKENS_VARIABLE = "HALLDETECT_TOKENS"
# Seconds between two reads of the file: a removed token may be accepted for that long.
REREAD_SECONDS = 5.0
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_MIN_SECRET = 20
# Above this number of callers, those with a full bucket are dropped.
_MAX_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token without its secret: its name and some of `SCOPES`."""

    name: str
    scopes: frozenset[str]

    def allows(self, scope: str) -> bool:
        """Return True if the token covers `scope`."""
        return scope in self.scopes or "admin" in self.scopes


# The caller of a service without tokens, who may do everything.
ANONYMOUS = AccessToken("anybody", frozenset(SCOPES))


class TokenTable:
    """The tokens of the service, by the digest of their secret.

    The file need not exist yet, and is read again when it changes. If it cannot be read, the last
    list stays in force and an error is logged.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._fixed = parse_tokens(os.environ.get(TOKENS_VARIABLE, "").replace(";", "\n"))
        self._from_file: dict[str, AccessToken] = {}
        self._version: tuple[int, ...] = ()
        self._next_look = 0.0
        if not (self._fixed or file.exists()):
            log.warning("no tokens yet: make one with `halldetect tokens create NAME`")

    def find(self, secret: str) -> AccessToken | None:
        """Return the token with this secret, or None."""
        self._reread()
        # Secrets are compared by digest, so timing reveals nothing about them.
        digest = token_digest(secret)
        return self._fixed.get(digest) or self._from_file.get(digest)

    def _reread(self) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + REREAD_SECONDS
        try:
            state = self._file.stat()
            version = (state.st_mtime_ns, state.st_ino, state.st_size)
            if version != self._version:
                self._from_file = parse_tokens(self._file.read_text(encoding="utf-8"))
                self._version = version
        except FileNotFoundError:
            self._from_file, self._version = {}, ()
        except (OSError, ValueError, ConfigurationError) as error:
            log.error("the tokens could not be read again: %s", error)


def parse_tokens(text: str) -> dict[str, AccessToken]:
    """Return the tokens of a file by digest; ConfigurationError gives the number of a bad line."""
    tokens = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            name, scopes, secret = words
            _check_token(name, scopes.split(","))
        except (ValueError, InputError):
            message = f"line {number} of the tokens is not NAME SCOPE,SCOPE sha256:DIGEST"
            raise ConfigurationError(message) from None
        digest = _DIGEST.fullmatch(secret)
        if digest is None and len(secret) < _MIN_SECRET:
            raise ConfigurationError(f"line {number} of the tokens: the secret is too short")
        key = token_digest(secret) if digest is None else digest[1]
        tokens[key] = AccessToken(name, frozenset(scopes.split(",")))
    return tokens


def create_token(file: Path, name: str, scopes: Iterable[str]) -> str:
    """Create a token, add its digest to the file and return its secret, which is not stored."""
    scopes = sorted(set(scopes), key=SCOPES.index)
    _check_token(name, scopes)
    try:
        known = parse_tokens(file.read_text(encoding="utf-8")) if file.exists() else {}
        if name in {token.name for token in known.values()}:
            raise InputError(f"there is a token {name!r} already: remove its line first")
        secret = PREFIX + secrets.token_urlsafe(32)
        line = f"{name} {','.join(scopes)} sha256:{token_digest(secret)}\n"
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(line)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot use the tokens in {str(file)!r}: {error}") from None
    return secret


def token_digest(secret: str) -> str:
    """Return the SHA-256 of a secret. A slow hash would add nothing to 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check_token(name: str, scopes: Iterable[str]) -> None:
    if not _NAME.fullmatch(name):
        raise InputError("a token's name is 1 to 64 letters, digits, dots, _ or -")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise InputError(f"a token needs a scope: {', '.join(SCOPES)}")


class RateLimiter:
    """A token bucket per caller; a tenth of the requests of a minute may come at once."""

    def __init__(self, per_minute: int) -> None:
        self._per_second = per_minute / 60
        self._burst = max(1.0, per_minute / 10)
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted

    def wait_seconds(self, caller: str) -> float:
        """Count one request; return 0 if it may pass, else the seconds until one may."""
        if not self._per_second:
            return 0.0
        now = time.monotonic()
        if len(self._buckets) > _MAX_BUCKETS:  # a full bucket is the same as none
            full = now - self._burst / self._per_second
            self._buckets = {key: item for key, item in self._buckets.items() if item[1] > full}
        tokens, counted = self._buckets.get(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - counted) * self._per_second)
        allowed = tokens >= 1.0
        self._buckets[caller] = (tokens - 1.0 if allowed else tokens, now)
        return 0.0 if allowed else (1.0 - tokens) / self._per_second
