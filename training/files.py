"""Read the records of a file of any of the forms that datasets come in."""

from __future__ import annotations

import csv
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read(path: Path) -> Iterator[Any]:
    """Yield the records of a JSON, JSON lines, CSV or xz-compressed JSON lines file."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    elif path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
    else:
        text = path.read_text(encoding="utf-8")
        try:
            data = json.loads(text)
            yield from data if isinstance(data, list) else data.values()
        except json.JSONDecodeError:
            yield from map(json.loads, filter(None, text.splitlines()))
