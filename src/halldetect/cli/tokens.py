"""halldetect tokens create|list|revoke"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from halldetect.cli.screen import put
from halldetect.cli.serve import add_database, database_url
from halldetect.errors import MissingExtra

if TYPE_CHECKING:
    from halldetect.serve.storage.access_tokens import Tokens


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "tokens",
        help="who may use the service",
        description="The tokens of halldetect serve --auth. Only a digest of each is kept.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    creating = actions.add_parser(
        "create", help="make a token and show it once", allow_abbrev=False
    )
    creating.add_argument("name", metavar="NAME")
    creating.add_argument(
        "--scope",
        action="append",
        choices=("read", "check", "admin"),
        help="repeatable; admin includes the others; default: read and check",
    )
    creating.set_defaults(run=run_create)
    listing = actions.add_parser("list", help="names and scopes", allow_abbrev=False)
    listing.set_defaults(run=run_list)
    revoking = actions.add_parser("revoke", help="delete a token", allow_abbrev=False)
    revoking.add_argument("name", metavar="NAME")
    revoking.set_defaults(run=run_revoke)
    for action in (creating, listing, revoking):
        add_database(action)


def run_create(arguments: argparse.Namespace) -> int:
    with _tokens(arguments) as tokens:
        put(f"{tokens.create(arguments.name, arguments.scope or ('read', 'check'))}\n")
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    with _tokens(arguments) as tokens:
        for token in tokens.all():
            put(f"{token.name}  {','.join(sorted(token.scopes))}  {token.moment}\n")
    return 0


def run_revoke(arguments: argparse.Namespace) -> int:
    with _tokens(arguments) as tokens:
        tokens.revoke(arguments.name)
    return 0


@contextmanager
def _tokens(arguments: argparse.Namespace) -> Iterator[Tokens]:
    try:
        from halldetect.serve.storage.access_tokens import Tokens
        from halldetect.serve.storage.database import Database
    except ModuleNotFoundError as error:
        raise MissingExtra("halldetect tokens", "serve") from error
    database = Database(database_url(arguments))
    try:
        database.migrate()
        yield Tokens(database)
    finally:
        database.close()
