"""The quality that the README states is what the files it names give."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def stated() -> list[list[float | None]]:
    """F1, balanced accuracy and AUROC of each row of the table, in its order."""
    _, _, section = README.partition("## How good it is")
    rows = re.findall(r"^\|[^|]*\| `(?:base|large)`[^|]*\|(.*)\|$", section, re.MULTILINE)
    return [[float(cell) if cell.strip() else None for cell in row.split("|")] for row in rows]


def read(verifier: str) -> dict[str, Any]:
    path = f"benchmarks/results/{verifier}/report.json"
    assert f"`{path}`" in README
    found: dict[str, Any] = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return found


def test_the_table_is_that_of_the_files() -> None:
    base, large = read("base"), read("large")
    set_of_base = base["sets"]["qags-cnndm"]
    set_of_large = large["sets"]["qags-cnndm"]["whole min"]
    means = large["means"]["whole min"]
    expected = [
        [set_of_base["f1"], set_of_base["balanced_accuracy"], set_of_base["auroc"]],
        [set_of_large["f1"], set_of_large["balanced"], set_of_large["auroc"]],
        [None, base["mean_balanced_accuracy_of_six"], base["mean_auroc_of_six"]],
        [None, means["six_balanced"], means["six_auroc"]],
    ]
    rounded = [[None if x is None else round(x, 3) for x in row] for row in expected]
    assert stated() == rounded
