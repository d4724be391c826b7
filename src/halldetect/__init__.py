"""Tell whether a generated text is faithful to its source.

>>> import halldetect
>>> report = halldetect.check("The bridge opened in 1932.", "The bridge opened in 1923.")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from halldetect.detector import Detector as Detector
    from halldetect.detector import check as check
    from halldetect.errors import HallDetectError as HallDetectError
    from halldetect.inputs import Pair as Pair
    from halldetect.report import Report as Report
    from halldetect.report import Status as Status
    from halldetect.report import Verdict as Verdict

# Looked up when first used, so that `import halldetect` costs next to nothing.
_HOME = {
    "Detector": "halldetect.detector",
    "HallDetectError": "halldetect.errors",
    "Pair": "halldetect.inputs",
    "Report": "halldetect.report",
    "Status": "halldetect.report",
    "Verdict": "halldetect.report",
    "check": "halldetect.detector",
}
__all__ = [*sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'halldetect' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
