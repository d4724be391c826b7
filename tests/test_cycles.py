"""No module imports itself through others: type-only imports and those of functions count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.circles import circles, imports
from tests.support.paths import ROOT

# Circles that are still there; there should never be any.
ALLOWED: list[set[str]] = []


@pytest.fixture(scope="module")
def found() -> list[set[str]]:
    return [set(group) for group in circles(imports(ROOT))]


def test_no_new_circle_of_imports(found: list[set[str]]) -> None:
    assert [group for group in found if not any(group <= old for old in ALLOWED)] == []


def test_circles_are_found(tmp_path: Path) -> None:
    package = tmp_path / "src" / "p"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import b\n"
    )
    (package / "b.py").write_text("from p.a import TYPE_CHECKING\n")
    (package / "c.py").write_text("import p.d\n")
    (package / "d.py").write_text("def late():\n    import p.c\n")
    assert circles(imports(tmp_path)) == [["p.a", "p.b"], ["p.c", "p.d"]]
    assert circles(imports(tmp_path, lazy=False)) == [["p.a", "p.b"]]
