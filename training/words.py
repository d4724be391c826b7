"""The word lists of `words.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)


def words(name: str) -> list[str]:
    """Return the words of a list, or its lines.

    name: of a list in `words.toml`.
    """
    found = _TABLE[name]
    return found.split() if isinstance(found, str) else list(found)


def pairs(name: str) -> dict[str, str]:
    """Return a list of `one:other` as a mapping.

    name: of a list in `words.toml`.
    """
    return dict(pair.split(":") for pair in words(name))
