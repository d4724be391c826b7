"""Which processor a figure was measured on."""

from __future__ import annotations

import platform
import shutil
import subprocess


def processor() -> str:
    """Its name; from lscpu where there is one, because /proc/cpuinfo names none of ARM's."""
    if shutil.which("lscpu"):
        told = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
        for line in told.splitlines():
            if "Model name" in line:
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
