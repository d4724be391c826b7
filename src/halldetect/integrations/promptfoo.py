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

from halldetect.integrations.checker import SOURCE_NAMES, Checker, faithfulness, first_of

_checker = Checker()


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Check the output of a test, whose variables are in `vars`; promptfoo calls this by name."""
    variables = context.get("vars") or {}
    report = _checker.check(first_of(variables, SOURCE_NAMES), output, variables.get("question"))
    return {"pass": report.ok, "score": faithfulness(report) or 0.0, "reason": str(report)}
