"""Read a folder of results, in lines and packed."""

from __future__ import annotations

from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.packed import read_packed
from halldetect_bench.predictions import Results, read


def read_all(folder: Path) -> list[Results]:
    """Read every file of a folder of results, in the order of their names."""
    if not folder.is_dir():
        raise InputError(f"no folder {folder}; `halldetect bench run -o {folder}` makes one")
    files = sorted(path for path in folder.glob("*/*.jsonl") if path.stat().st_size)
    packed = [
        one for inner in sorted(folder.iterdir()) if inner.is_dir() for one in read_packed(inner)
    ]
    if not files and not packed:
        raise InputError(f"no results in {folder}; `halldetect bench run -o {folder}` makes some")
    found: dict[tuple[str, str], Results] = {}
    for one in (*packed, *map(read, files)):
        key = (one.header.dataset, one.header.digest)
        before = found[key].predictions if key in found else ()
        rows = {item.id: item for item in (*before, *one.predictions)}
        found[key] = Results(one.header, tuple(rows.values()))
    return list(found.values())
