"""The modules and functions that docs/design.md names exist, and no module is left out."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "halldetect"
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
MODULES = PAGE.partition("## Modules\n")[2].partition("\n## ")[0]
PLACES = re.findall(r"((?:`\w+`(?:, | and )?)+) in `([\w/]+\.py)`", PAGE)
# Not worth a line: the package itself, its version, how it is run, its data.
UNLISTED = {"__init__.py", "__main__.py", "py.typed", "report.schema.json"}


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+(?:\.py|/))`", MODULES))
def test_a_module_of_the_list_exists(path: str) -> None:
    folders = [SOURCE, *(folder for folder in SOURCE.iterdir() if folder.is_dir()), ROOT]
    assert any((folder / path).exists() for folder in folders)


def test_every_module_of_the_package_is_listed() -> None:
    firsts = re.findall(r"^- (`.*?):", MODULES, re.MULTILINE)
    named = {name.rstrip("/") for first in firsts for name in re.findall(r"`([^`]+)`", first)}
    entries = {entry.name for entry in SOURCE.iterdir() if entry.name != "__pycache__"}
    assert entries - UNLISTED - {"weights"} == named


@pytest.mark.parametrize(("names", "path"), PLACES)
def test_a_function_is_where_the_page_says(names: str, path: str) -> None:
    text = (SOURCE / path).read_text(encoding="utf-8")
    for name in re.findall(r"`(\w+)`", names):
        assert re.search(rf"^\s*(def|class) {name}\b|^{name}\b.* = ", text, re.MULTILINE), name


def test_there_are_places_to_look() -> None:
    assert len(PLACES) > 8
