"""Digests of model folders, and whether the weights in the package are those that were released.

The digests of the weights in the package are in `shipped_digests.py`, which
`python -m halldetect.models.refresh_digests` writes: run it after every change to the weights.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

from halldetect.errors import ModelError
from halldetect.models.shipped_digests import SHIPPED_DIGESTS

WEIGHTS = Path(str(files("halldetect"))) / "weights"
REFRESH_COMMAND = "python -m halldetect.models.refresh_digests"


def digest_of(file: Path) -> str:
    """The SHA-256 digest of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 digest of every file in a folder, by its path in the folder."""
    return {
        file.relative_to(folder).as_posix(): digest_of(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def joint_digest(digests: dict[str, str]) -> str:
    """One SHA-256 digest over the names and digests of files; the order does not matter."""
    return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def shipped_names() -> tuple[str, ...]:
    """The names of the weights in the package, as they were released."""
    return tuple(SHIPPED_DIGESTS)


def require_shipped(name: str, weights: Path = WEIGHTS) -> dict[str, str]:
    """The digests of the files of weights in the package, once they are known to be the released.

    Args:
        name: of the weights.
        weights: the folder that holds the folders of weights.

    Raises:
        ModelError: if a file is missing, altered or added.
    """
    folder = weights / name
    if not folder.is_dir():
        raise ModelError(f"this installation lacks the weights of {name}: reinstall halldetect")
    try:
        found = file_digests(folder)
    except OSError as error:
        raise ModelError(f"cannot read the weights of {name}: {error.strerror}") from error
    if joint_digest(found) != SHIPPED_DIGESTS[name]:
        raise ModelError(
            f"the weights of {name} are not those of this version of halldetect (digest "
            f"{joint_digest(found)[:16]}, not {SHIPPED_DIGESTS[name][:16]}): reinstall halldetect, "
            f"or run `{REFRESH_COMMAND}` if you have changed them yourself"
        )
    return found
