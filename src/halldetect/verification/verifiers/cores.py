"""How many cores this process may use."""

from __future__ import annotations

import os
from pathlib import Path


def physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    """Cores, not hardware threads: two threads of one core share its arithmetic."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    try:
        siblings = {
            (topology / f"cpu{number}" / "topology" / "thread_siblings_list").read_text()
            for number in allowed
        }
    except OSError:
        return len(allowed)
    return len(siblings)
