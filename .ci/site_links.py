"""For mkdocs: README and CHANGELOG as pages, and links that leave docs/ as plain names of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./|docs/)[^)\s]*)\)")


def on_files(files: Files, config: Any) -> Files:
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return LINK.sub(_inside, markdown)


def _inside(match: re.Match[str]) -> str:
    """The link as it is in the site; a file of the repository is named, not linked."""
    text, target = match.groups()
    path, hash, anchor = target.removeprefix("../").partition("#")
    if target.startswith("docs/"):  # of the README
        return f"[{text}]({path.removeprefix('docs/')}{hash}{anchor})"
    if path in PAGES:
        return f"[{text}]({PAGES[path]}{hash}{anchor})"
    return f"{text} (`{path}`)"
