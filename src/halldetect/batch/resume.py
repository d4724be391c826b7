"""What makes an unfinished run safe to resume: the same settings, one writer, whole files.

Used by the local engine, by the Ray engine and by `halldetect bench`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halldetect.errors import InputError

HOW_TO_RESUME = "the same command with --resume (and without --overwrite) goes on from there"


def partial_file(out: Path) -> Path:
    """Where the local engine collects the lines that become `out`."""
    return out.with_name(f"{out.name}.partial")


def parts_folder(out: Path) -> Path:
    """Where the Ray engine collects the parts that become `out`."""
    return out.with_name(f"{out.name}.parts")


def already_exists(name: str) -> InputError:
    """The error for output that exists when the run was to begin from scratch."""
    return InputError(
        f"{name!r} is there already: --resume goes on with an unfinished run, "
        "--overwrite begins again"
    )


def require_same_settings(recorded: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise InputError if an unfinished run had other settings than this one.

    Args:
        recorded: the settings of the unfinished run, as read from JSON.
        settings: the settings of this run.
    """
    current = json.loads(json.dumps(settings))
    if changed := [name for name in current if recorded.get(name) != current[name]]:
        raise InputError(
            f"cannot resume: the unfinished run had another {' and another '.join(changed)}; "
            "give the same options again, or begin again with --overwrite"
        )


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it has all of the data on disk, or its old content.

    Args:
        path: the file; a process that is killed may leave `PATH.new` beside it.
        data: all of its content.
    """
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def lock_for_writing(descriptor: int, name: str) -> None:
    """Make this process the only writer; the system frees the lock when the process ends.

    Args:
        descriptor: an open file.
        name: what to call the output in the InputError if another process has the lock.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise InputError(f"another run is writing {name!r}; wait for it") from error
