"""A promptfoo assertion:

    assert:
      - type: python
        value: file://grounded.py

where grounded.py says `from halldetect.integrations.promptfoo import get_assert`. The source is
the variable `context` (or `source`, `sources`, `documents`) of the test. promptfoo knows only pass
and fail: an output that could not be checked fails, and its reason begins with "uncheckable".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halldetect.integrations.checker import Checker, faithfulness

_SOURCE_VARIABLES = ("context", "source", "sources", "documents")
_checker = Checker()


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Check the output of a test; promptfoo calls this by name.

    Args:
        output: the text to check.
        context: holds the variables of the test in `vars`.
    """
    variables = context.get("vars") or {}
    source = next((variables[name] for name in _SOURCE_VARIABLES if variables.get(name)), None)
    report = _checker.check(source, output, variables.get("question"))
    return {"pass": report.ok, "score": faithfulness(report) or 0.0, "reason": str(report)}
