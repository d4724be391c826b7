"""The folders that tests read."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
# Published datasets, which are not part of the project; tests that need them skip without them.
DATASETS_FOLDER = Path(os.environ.get("HALLDETECT_DATA") or ROOT.parent / "shared" / "datasets")
