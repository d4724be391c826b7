"""Where the repository and the data beside it lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
# Benchmark data that is not part of the project: tests that need it skip without it.
SHARED_DATASETS = ROOT.parent / "shared" / "datasets"
