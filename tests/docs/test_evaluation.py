"""The page on the evaluation names every dataset and every method."""

from __future__ import annotations

import re

import pytest

from halldetect_bench.registry import DATASETS, METHODS
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`([^`\s]+)`", PAGE))
# Written once with a placeholder for the part.
FAMILIES = ("summedits-", "defacto-")


@pytest.mark.parametrize("name", [*DATASETS, *METHODS])
def test_every_name_is_there(name: str) -> None:
    family = next((start for start in FAMILIES if name.startswith(start)), None)
    if family is None:
        assert name in NAMES
    else:
        assert re.search(rf"`{family}[A-Z]+`", PAGE)
        assert re.search(rf"\b{name.removeprefix(family)}\b", PAGE)


def test_every_module_of_the_map_exists() -> None:
    listed = PAGE.split("In `src/halldetect_bench`:")[1]
    assert "`registry.py`" in listed
    for path in re.findall(r"`([\w/]+(?:\.py|/))`", listed):
        folder = ROOT / "src" / "halldetect_bench"
        assert (folder / path).exists() or list(folder.glob(f"*/{path}")), path
