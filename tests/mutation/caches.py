"""A plugin of pytest that empties the caches of texts before every test.

mutmut runs mutants in forks of a process that has run all tests. A cached
result of the unchanged code would hide the mutant.
"""

from __future__ import annotations

import sys


def pytest_runtest_setup() -> None:
    """Empty the caches of limited size; the others hold what is loaded once."""
    for name, module in list(sys.modules.items()):
        if name.startswith("halldetect"):
            for value in list(vars(module).values()):
                for cached in (value, getattr(value, "__wrapped__", None)):
                    if hasattr(cached, "cache_clear") and cached.cache_parameters()["maxsize"]:
                        cached.cache_clear()
