"""Every file of results is of the weights that ship, or benchmarks/results/weights.toml says not.

After a change of weights, measure again, or move the file to `[earlier]` and say so on its page.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from halldetect.models import digest_of
from halldetect_bench.stats.selection import read_settings
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
LISTED = tomllib.loads((RESULTS / "weights.toml").read_text(encoding="utf-8"))
EARLIER, UNNAMED, NONE = LISTED["earlier"], LISTED["unnamed"], LISTED["none"]
KNOWN = {digest for digests in LISTED["known"].values() for digest in digests}
PACKAGE = ROOT / "src" / "halldetect" / "weights"
SHIPPED = {
    "base": digest_of(PACKAGE / "base" / "model.onnx")[:8],
    "large": digest_of(PACKAGE / "large" / "adapter.lora8")[:8],
}
FOLDERS = ("bench", "selfcheck")  # packed predictions: settings.toml names their weights
FILES = sorted(
    path.relative_to(RESULTS).as_posix()
    for path in RESULTS.rglob("*.json")
    if path.relative_to(RESULTS).parts[0] not in FOLDERS
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# These pages compare the weights before with the present ones, or tell a history.
EXEMPT = {"base/before.json", "large/before.json"}
HISTORY = {"lab-notes.md"}


def named(name: str) -> set[str]:
    """Return the weights whose digest is in a file."""
    text = (RESULTS / name).read_text(encoding="utf-8")
    return {digest[:8] for digest in re.findall(r"\b[0-9a-f]{64}\b", text)} & KNOWN


def test_shipped_weights_are_known() -> None:
    for name, digest in SHIPPED.items():
        assert digest in LISTED["known"][name], f"add {digest} to [known] in weights.toml"


@pytest.mark.parametrize("name", FILES)
def test_file_names_the_weights_that_ship_or_is_listed(name: str) -> None:
    if name in NONE:
        assert not named(name), f"{name} depends on weights"
    elif name in UNNAMED:
        assert not named(name), f"{name} names its weights: remove it from [unnamed]"
        assert UNNAMED[name] in SHIPPED.values(), f"{name}: measure again, or list it in [earlier]"
    elif name in EARLIER:
        told = {digest.removeprefix("? ") for digest in EARLIER[name]}
        assert not told <= set(SHIPPED.values()), f"{name} is up to date: remove it from [earlier]"
        unknown = {digest for digest in EARLIER[name] if digest.startswith("?")}
        assert named(name) == (set() if unknown else told)
    else:
        assert named(name), f"{name} does not say which weights it was measured with"
        assert named(name) <= set(SHIPPED.values()), f"{name}: measure again, or list as earlier"


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_names_its_weights(folder: str) -> None:
    weights = read_settings(RESULTS / folder).weights
    told = {digest[:8] for digests in weights.values() for digest in digests}
    assert told, folder
    if told <= set(SHIPPED.values()):
        assert folder not in EARLIER, f"{folder} is up to date: remove it from [earlier]"
    else:
        assert set(EARLIER[folder]) == told


def test_list_has_no_file_that_is_gone() -> None:
    assert {*EARLIER, *UNNAMED, *NONE} <= {*FILES, *FOLDERS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_says_that_its_figures_are_of_earlier_weights(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = [
        name
        for name in EARLIER
        if f"results/{name}" in text and name not in EXEMPT and page.name not in HISTORY
    ]
    if shown:
        assert re.search("earlier weights|not the weights that ship", text), shown
