"""The speed page says what the results say."""

from __future__ import annotations

import pytest


def test_the_tables_are_those_of_the_results() -> None:
    from benchmarks.speed import PAGE, filled

    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run python -m benchmarks.speed --page"
    with pytest.raises(SystemExit, match="no place for"):
        filled("A page without marks.")
