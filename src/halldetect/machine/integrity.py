"""Digests of model folders, and a check of the weights in the package.

`python -m training.refresh_digests` writes the digests: run it after every change to the weights.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

from halldetect.errors import ModelError

WEIGHTS = Path(str(files("halldetect"))) / "weights"
REFRESH_COMMAND = "python -m training.refresh_digests"
DIGESTS = WEIGHTS / "digests.json"
SHIPPED_DIGESTS: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))


def digest_of(file: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 digest of every file in a folder, by its path in the folder."""
    return {
        file.relative_to(folder).as_posix(): digest_of(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def joint_digest(digests: dict[str, str]) -> str:
    """Return one SHA-256 digest over the names and digests of files, in any order."""
    return hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()


def require_shipped(name: str, weights: Path = WEIGHTS) -> dict[str, str]:
    """Return the digests of weights in the package by file, as `file_digests` does.

    Raises ModelError if a file is missing, altered or added.
    """
    folder, released = weights / name, SHIPPED_DIGESTS[name]
    if not folder.is_dir():
        raise ModelError(f"this installation lacks the weights of {name}: reinstall halldetect")
    try:
        found = file_digests(folder)
    except OSError as error:
        raise ModelError(f"cannot read the weights of {name}: {error.strerror}") from error
    if joint_digest(found) != released:
        raise ModelError(
            f"the weights of {name} are not those of this version of halldetect (digest "
            f"{joint_digest(found)[:16]}, not {released[:16]}): reinstall halldetect, "
            f"or run `{REFRESH_COMMAND}` if you have changed them yourself"
        )
    return found
