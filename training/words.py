"""The word lists of `words.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)


def words(name: str) -> list[str]:
    """Return the words, or the lines, of a named list."""
    found = _TABLE[name]
    return found.split() if isinstance(found, str) else list(found)


def pairs(name: str) -> dict[str, str]:
    """Return a named list of `one:other` as a mapping."""
    return dict(pair.split(":") for pair in words(name))


def rules(name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a named list of patterns with their replacements."""
    return tuple((pattern, tuple(options)) for pattern, *options in _TABLE[name])
