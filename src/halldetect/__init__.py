"""Tell whether a generated text is faithful to its source.

>>> import halldetect
>>> report = halldetect.check("The bridge opened in 1932.", "The bridge opened in 1923.")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from halldetect.machine.version import __version__ as __version__

if TYPE_CHECKING:
    from halldetect.detector import Detector as Detector
    from halldetect.detector import acheck as acheck
    from halldetect.detector import check as check
    from halldetect.detector import check_conversation as check_conversation
    from halldetect.errors import HallDetectError as HallDetectError
    from halldetect.inputs import Pair as Pair
    from halldetect.protocols import Draft as Draft
    from halldetect.protocols import Extractor as Extractor
    from halldetect.protocols import Verifier as Verifier
    from halldetect.reading.claims import Claim as Claim
    from halldetect.report import Evidence as Evidence
    from halldetect.report import Probabilities as Probabilities
    from halldetect.report import Report as Report
    from halldetect.report import Status as Status
    from halldetect.report import Verdict as Verdict

# Imported on first use, to keep `import halldetect` fast.
_HOME = {
    "Claim": "halldetect.reading.claims",
    "Detector": "halldetect.detector",
    "Draft": "halldetect.protocols",
    "Evidence": "halldetect.report",
    "Extractor": "halldetect.protocols",
    "HallDetectError": "halldetect.errors",
    "Pair": "halldetect.inputs",
    "Probabilities": "halldetect.report",
    "Report": "halldetect.report",
    "Status": "halldetect.report",
    "Verdict": "halldetect.report",
    "Verifier": "halldetect.protocols",
    "acheck": "halldetect.detector",
    "check": "halldetect.detector",
    "check_conversation": "halldetect.detector",
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
