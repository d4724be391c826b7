"""Bearer tokens: random, shown once, kept only as a digest."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from halldetect.errors import InputError
from halldetect.serve.storage.database import Database, tokens

SCOPES = ("read", "check", "admin")
PREFIX = "hd_"
# How long a looked-up token is believed: so long may a revoked one still be let in.
BELIEVED = 5.0
_REMEMBERED = 1000
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is known here: its secret cannot be told from this."""

    name: str
    scopes: frozenset[str]
    created: float

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    @property
    def moment(self) -> str:
        return datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds")


class Tokens:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[float, Token | None]] = {}

    def create(self, name: str, scopes: Iterable[str]) -> str:
        """A new token: the only time that its secret is seen."""
        chosen = sorted(set(scopes), key=SCOPES.index)
        if not _NAME.fullmatch(name):
            raise InputError("a token's name is 1 to 64 letters, digits, dots, _ or -")
        if not chosen:
            raise InputError(f"a token needs a scope: {', '.join(SCOPES)}")
        secret = PREFIX + secrets.token_urlsafe(32)
        row = {
            "name": name,
            "digest": digest(secret),
            "scopes": " ".join(chosen),
            "created": time.time(),
        }
        try:
            with self._database.engine.begin() as connection:
                connection.execute(sa.insert(tokens).values(**row))
        except IntegrityError:
            raise InputError(f"there is a token {name!r} already: revoke it first") from None
        return secret

    def all(self) -> list[Token]:
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(tokens).order_by(tokens.c.created)).all()
        return [Token(row.name, frozenset(row.scopes.split()), row.created) for row in rows]

    def revoke(self, name: str) -> None:
        with self._database.transaction() as connection:
            gone = connection.execute(sa.delete(tokens).where(tokens.c.name == name)).rowcount
        if not gone:
            raise InputError(f"there is no token {name!r}")

    def find(self, secret: str) -> Token | None:
        """The token with this secret, or None. Unknown ones are remembered for a while, too."""
        key, now = digest(secret), time.monotonic()
        found = self._known.get(key)
        if found is not None and now < found[0]:
            return found[1]
        with self._database.reading() as connection:
            row = connection.execute(sa.select(tokens).where(tokens.c.digest == key)).first()
        token = None if row is None else Token(row.name, frozenset(row.scopes.split()), row.created)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = (now + BELIEVED, token)
        return token


def digest(secret: str) -> str:
    """A plain digest will do: 256 random bits cannot be guessed, slow hashing or not."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
