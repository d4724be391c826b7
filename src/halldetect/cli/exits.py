"""The exit statuses, the same for every command."""

from __future__ import annotations

from halldetect.report import Verdict

USAGE = 2
COULD_NOT_CHECK = 3
INTERRUPTED = 130

OF_VERDICT = {
    Verdict.FAITHFUL: 0,
    Verdict.HALLUCINATED: 1,
    Verdict.UNCHECKABLE: COULD_NOT_CHECK,
}
