"""halldetect models list|pull|verify: the models that can be used by name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from halldetect.cli.exits import COULD_NOT_CHECK, fail
from halldetect.cli.options import QUIET
from halldetect.cli.output import print_result
from halldetect.cli.parser import add_command
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import InputError, ModelError


def add(commands: Any) -> None:
    """Add the command `models` to the parser."""
    description = "The models that can be used by name, and their state on this machine."
    parser = add_command(commands, "models", None, "list, download and verify models", description)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_command(actions, "list", run_list, "every model and its state")
    names = {"nargs": "+", "metavar": "NAME", "help": "as `models list` shows it"}
    options = {"": {"names": names, **QUIET}}
    add_command(actions, "pull", run_pull, "download models into the cache", groups=options)
    default = "models to verify (default: all in the cache, and the weights in the package)"
    options = {"": {"names": {"nargs": "*", "metavar": "NAME", "help": default}}}
    help = "read models in full and compare digests"
    add_command(actions, "verify", run_verify, help, groups=options)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the verifiers in the package and every model of the cache with its state."""
    from halldetect import models
    from halldetect.models import integrity

    rows = [("NAME", "STATE", "SIZE", "LICENCE")]
    for name in models.shipped_names():
        files = (integrity.WEIGHTS / name).rglob("*")
        size = models.megabytes(sum(file.stat().st_size for file in files))
        needs = f", needs {models.find(name).name}" if models.is_known(name) else ""
        rows.append((name, f"in the package{needs}", size, ""))
    for status in models.status():
        entry = status.entry
        # `--extractor gguf` selects this one.
        name = entry.name + (" (gguf)" if entry.name == models.DEFAULT_EXTRACTOR else "")
        rows.append((name, str(status.state), models.megabytes(entry.bytes), entry.licence))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
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
    """Read whole models and compare their digests."""
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
    status = 0
    for verify, names in ((_verify_packaged, packaged), (_verify_cached, cached)):
        for name in names:
            try:
                print_result(f"{verify(name)}\n")
            except ModelError as error:
                status = fail(error, COULD_NOT_CHECK)
    return status


def _verify_packaged(name: str) -> str:
    from halldetect.models.integrity import joint_digest, require_shipped

    return f"{name}: sha256 {joint_digest(require_shipped(name))}, in the package"


def _verify_cached(name: str) -> str:
    from halldetect import models

    entry = models.find(name)
    return f"{entry.name}: sha256 {entry.sha256} {models.verify(name)}"


def _require_known(names: Sequence[str]) -> None:
    """Raise InputError for an unknown name before any work."""
    from halldetect import models

    for name in names:
        try:
            models.find(name)
        except ModelError as error:
            raise InputError(str(error)) from error
