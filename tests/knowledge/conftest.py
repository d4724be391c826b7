"""Documents that the indexes on a server are built from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    text = "The bridge over the Elbe opened in 1932.\n\nAnna Holm designed the bridge."
    (folder / "bridge.md").write_text(text, encoding="utf-8")
    (folder / "rome.txt").write_text("Rome is the capital of Italy.", encoding="utf-8")
    rows = [{"id": "O'Neill \\ \x00", "title": "Ships", "text": "Sails are \ud800 white."}]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder
