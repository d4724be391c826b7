"""A plugin of pytest that empties the caches of texts before every test.

mutmut runs mutants in forks of a process that has run all tests. A cached
result of the unchanged code would hide the mutant.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

# Modules with mutants have thousands of names, so each module is read once.
_read: set[str] = set()
_caches: list[Any] = []


def pytest_runtest_setup() -> None:
    """Empty the caches of limited size; the others hold what is loaded once."""
    for name in {name for name in sys.modules if name.startswith("halldetect")} - _read:
        _read.add(name)
        _caches.extend(_limited(sys.modules[name]))
    for cached in _caches:
        cached.cache_clear()


def _limited(module: ModuleType) -> list[Any]:
    """Return the caches of limited size of a module."""
    found = [
        cached
        for value in list(vars(module).values())
        for cached in (value, getattr(value, "__wrapped__", None))
        if hasattr(cached, "cache_clear")
    ]
    return [cached for cached in found if cached.cache_parameters()["maxsize"]]
