"""halldetect models list|pull|verify"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from halldetect.cli.exits import COULD_NOT_CHECK
from halldetect.cli.screen import put
from halldetect.errors import InputError, ModelError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "models",
        help="list, fetch and verify models",
        description="The models that can be used by name, and what of them is on this machine.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every model and its state", allow_abbrev=False)
    listing.set_defaults(run=run_list)
    pulling = actions.add_parser("pull", help="fetch models into the cache", allow_abbrev=False)
    pulling.add_argument("names", nargs="+", metavar="NAME")
    pulling.add_argument("--quiet", action="store_true", help="no progress on standard error")
    pulling.set_defaults(run=run_pull)
    verifying = actions.add_parser(
        "verify", help="read cached models in full and compare digests", allow_abbrev=False
    )
    verifying.add_argument("names", nargs="*", metavar="NAME", help="default: all in the cache")
    verifying.set_defaults(run=run_verify)


def run_list(arguments: argparse.Namespace) -> int:
    from halldetect import models

    rows = [("NAME", "STATE", "SIZE", "LICENCE")]
    for status in models.status():
        entry = status.entry
        # What `--extractor gguf` stands for; the default needs no model.
        name = entry.name + (" (gguf)" if entry.name == models.DEFAULT_EXTRACTOR else "")
        size = ("" if entry.pinned else "about ") + models.megabytes(entry.bytes)
        rows.append((name, str(status.state), size, entry.licence))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    put("\n".join([*lines, "", f"cache: {models.home()}"]) + "\n")
    return 0


def run_pull(arguments: argparse.Namespace) -> int:
    from halldetect import models

    _known(arguments.names)
    for name in arguments.names:
        if arguments.quiet:
            path = models.pull(name)
        else:
            with models.shown() as progress:
                path = models.pull(name, progress)
        put(f"{path}\n")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    from halldetect import models

    _known(arguments.names)
    names = arguments.names or [
        status.entry.name for status in models.status() if status.state is not models.State.ABSENT
    ]
    if not names:
        put(f"no model in the cache {models.home()}\n")
    failed = False
    for name in names:
        try:
            path = models.verify(name)
        except ModelError as error:
            failed = True
            print(f"halldetect: {error}", file=sys.stderr)
        else:
            put(f"{models.find(name).name}: sha256 {models.sha256_of(name)} {path}\n")
    return COULD_NOT_CHECK if failed else 0


def _known(names: Sequence[str]) -> None:
    """A name that is wrong is a mistake in the command, found out before anything is done."""
    from halldetect import models

    for name in names:
        try:
            models.find(name)
        except ModelError as error:
            raise InputError(str(error)) from error
