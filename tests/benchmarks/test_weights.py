"""Every file of results is of the weights that ship, or benchmarks/results/weights.toml says not.

After a change of weights, measure again, or write the list again and say so on the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import result_weights
from tests.support.paths import ROOT
from tests.support.result_weights import FILES, FOLDERS, SHIPPED, listed, rendered

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The model cards compare with the weights before.
BEFORE = {"base/before.json", "large/before.json"}
# A page with a history.
HISTORY = {"lab-notes.md"}


def test_list_names_every_file_of_earlier_weights() -> None:
    stored = result_weights.LIST.read_text(encoding="utf-8")
    assert stored == rendered(), "run: python -m tests.support.result_weights"


def test_every_file_is_up_to_date_or_listed() -> None:
    found = listed()
    known = {digest for digests in found["known"].values() for digest in digests}  # type: ignore[attr-defined]
    for name in (*FILES, *FOLDERS):
        if not any(name in found[part] for part in ("earlier", "unnamed", "none")):
            digests = result_weights.digests_in(name, known)
            assert digests, name
            assert digests <= set(SHIPPED.values()), name
    assert "suites/base.json" in FILES


def test_file_without_digest_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "new.json").write_text("{}")
    monkeypatch.setattr(result_weights, "RESULTS", tmp_path)
    monkeypatch.setattr(result_weights, "FILES", ["new.json"])
    monkeypatch.setattr(result_weights, "FOLDERS", ())
    monkeypatch.setattr(result_weights, "aliases", dict)
    with pytest.raises(SystemExit, match="does not say which weights"):
        rendered()


def test_file_of_other_weights_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHIPPED, "base", "0" * 8)
    text = rendered()
    assert re.search(r'"suites/base\.json" = \["[0-9a-f]{8}"\]', text)
    assert re.search(r'"method_gate\.json" = \["\? [0-9a-f]{8}"\]', text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_says_that_its_figures_are_of_earlier_weights(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    earlier = listed()["earlier"].keys() - BEFORE
    shown = [name for name in earlier if f"results/{name}" in text and page.name not in HISTORY]
    assert not shown or re.search("earlier weights|not the weights that ship", text), shown
