"""halldetect models list|pull|verify: the models that can be used by name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from halldetect.cli.exits import COULD_NOT_CHECK
from halldetect.cli.output import print_result
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import InputError, ModelError


def add(commands: Any) -> None:
    """Add the command `models` to the parser."""
    parser = commands.add_parser(
        "models",
        help="list, download and verify models",
        description="The models that can be used by name, and what of them is on this machine.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every model and its state", allow_abbrev=False)
    listing.set_defaults(run=run_list)
    pulling = actions.add_parser("pull", help="download models into the cache", allow_abbrev=False)
    pulling.add_argument("names", nargs="+", metavar="NAME", help="as `models list` shows it")
    pulling.add_argument("--quiet", action="store_true", help="no progress on standard error")
    pulling.set_defaults(run=run_pull)
    verifying = actions.add_parser(
        "verify", help="read models in full and compare digests", allow_abbrev=False
    )
    verifying.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="models to verify (default: all in the cache, and the weights in the package)",
    )
    verifying.set_defaults(run=run_verify)


def run_list(arguments: argparse.Namespace) -> int:
    """Print every model and its state."""
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
    print_result("\n".join([*lines, "", f"cache: {models.home()}"]) + "\n")
    return 0


def run_pull(arguments: argparse.Namespace) -> int:
    """Download models into the cache."""
    from halldetect import models

    _require_known(arguments.names)
    for name in arguments.names:
        with ProgressDisplay(quiet=arguments.quiet) as display:
            path = models.pull(name, display.download)
        print_result(f"{path}\n")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Read models in full and compare their digests."""
    from halldetect import models

    shipped = models.shipped_names()
    if arguments.names:
        # `large` is both: an adapter in the package, on a model in the cache.
        packaged = [name for name in arguments.names if name in shipped]
        cached = [name for name in arguments.names if name not in shipped or models.is_known(name)]
        _require_known(cached)
    else:
        packaged, absent = list(shipped), models.State.ABSENT
        cached = [item.entry.name for item in models.status() if item.state is not absent]
    checks = [(_verify_packaged, name) for name in packaged]
    checks += [(_verify_cached, name) for name in cached]
    failed = False
    for verify, name in checks:
        try:
            print_result(f"{verify(name)}\n")
        except ModelError as error:
            failed = True
            print(f"halldetect: {error}", file=sys.stderr)
    return COULD_NOT_CHECK if failed else 0


def _verify_packaged(name: str) -> str:
    from halldetect.models.integrity import joint_digest, require_shipped

    return f"{name}: sha256 {joint_digest(require_shipped(name))}, in the package"


def _verify_cached(name: str) -> str:
    from halldetect import models

    path = models.verify(name)
    return f"{models.find(name).name}: sha256 {models.sha256_of(name)} {path}"


def _require_known(names: Sequence[str]) -> None:
    """A wrong name is a mistake in the command: say so before anything is done."""
    from halldetect import models

    for name in names:
        try:
            models.find(name)
        except ModelError as error:
            raise InputError(str(error)) from error
