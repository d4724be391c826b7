"""The processor of this machine, and the weights in the package."""

from __future__ import annotations

import platform
import shutil
import subprocess

from halldetect.models.integrity import WEIGHTS, digest_of


def processor() -> str:
    """Return its name; by lscpu if possible, because /proc/cpuinfo does not name ARM processors."""
    if shutil.which("lscpu"):
        output = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
        for line in output.splitlines():
            if "Model name" in line:
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def base_weights() -> str:
    """Return the digest of the verifier in the package, for results that were made with it."""
    return digest_of(WEIGHTS / "base" / "model.onnx")
