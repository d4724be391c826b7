"""Bearer tokens: random, shown once, stored only as a digest."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from halldetect.errors import InputError
from halldetect_serve.storage.database import Database, tokens

SCOPES = ("read", "check", "admin")
PREFIX = "hd_"
# Seconds for which a lookup is cached: a revoked token may be accepted for that long.
CACHE_SECONDS = 5.0
_MAX_CACHED = 1000
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token without its secret.

    name     name that the operator gave to it
    scopes   what it allows: some of `SCOPES`; admin includes the others
    created  seconds since the epoch
    """

    name: str
    scopes: frozenset[str]
    created: float

    def allows(self, scope: str) -> bool:
        """Return whether the token allows what needs `scope`."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def created_at(self) -> str:
        """The time of creation in ISO 8601, to the second."""
        return datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds")


class TokenStore:
    """The tokens in the database.

    Args:
        database: where they are stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[str, tuple[float, AccessToken | None]] = {}

    def create(self, name: str, scopes: Iterable[str]) -> str:
        """Make a token and return its secret, which is not stored.

        Args:
            name: 1 to 64 letters, digits, dots, underscores or hyphens; not in use yet.
            scopes: at least one of `SCOPES`.

        Raises:
            InputError: if the name or the scopes cannot be used.
        """
        ordered = sorted(set(scopes), key=SCOPES.index)
        if not _NAME.fullmatch(name):
            raise InputError("a token's name is 1 to 64 letters, digits, dots, _ or -")
        if not ordered:
            raise InputError(f"a token needs a scope: {', '.join(SCOPES)}")
        secret = PREFIX + secrets.token_urlsafe(32)
        row = {
            "name": name,
            "digest": token_digest(secret),
            "scopes": " ".join(ordered),
            "created": time.time(),
        }
        with self._database.transaction() as connection:
            try:
                connection.execute(sa.insert(tokens).values(**row))
            except IntegrityError:
                raise InputError(f"there is a token {name!r} already: revoke it first") from None
        return secret

    def all(self) -> list[AccessToken]:
        """Return all tokens, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(tokens).order_by(tokens.c.created)).all()
        return [_access_token(row) for row in rows]

    def revoke(self, name: str) -> None:
        """Delete the token of that name.

        Raises:
            InputError: if there is none.
        """
        with self._database.transaction() as connection:
            deleted = connection.execute(sa.delete(tokens).where(tokens.c.name == name)).rowcount
        if not deleted:
            raise InputError(f"there is no token {name!r}")

    def find(self, secret: str) -> AccessToken | None:
        """Return the token with this secret, or None. Unknown secrets are cached as well."""
        key, now = token_digest(secret), time.monotonic()
        cached = self._cache.get(key)
        if cached is not None and now < cached[0]:
            return cached[1]
        with self._database.reading() as connection:
            row = connection.execute(sa.select(tokens).where(tokens.c.digest == key)).first()
        token = None if row is None else _access_token(row)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[key] = (now + CACHE_SECONDS, token)
        return token


def token_digest(secret: str) -> str:
    """Return the SHA-256 of a secret. A slow hash would add nothing to 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _access_token(row: Any) -> AccessToken:
    return AccessToken(row.name, frozenset(row.scopes.split()), row.created)
