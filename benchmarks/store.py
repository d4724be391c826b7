"""What all benchmarks share: the suites of tests/data, the files of results, the machine."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks import code_state
from halldetect.machine.integrity import WEIGHTS, digest_of
from training.files import read

RESULTS = code_state.RESULTS
DATA = Path(__file__).parents[1] / "tests" / "data"


def command(doc: str | None, out: str = "") -> argparse.ArgumentParser:
    """Return a parser with the first line of a docstring; `out` names the file of results."""
    code_state.digests()  # of the code that runs now, whatever is edited meanwhile
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    if out:
        parser.add_argument("--out", type=Path, default=RESULTS / out, help="the results file")
    return parser


def entries(name: str) -> list[dict[str, Any]]:
    """Return the entries of a suite."""
    return list(read(DATA / f"{name}.jsonl"))


def stored(path: Path) -> dict[str, Any]:
    """Return the results of a file, or an empty dictionary without one."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def store(path: Path, found: dict[str, Any]) -> None:
    """Write results, and note the code that they were measured with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    code_state.record(path)


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
