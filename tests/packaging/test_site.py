"""The pages as a site: built without a warning, and it loads nothing from other hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.packaging
LOADED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?([^"' >]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"readme", "changelog"}
    assert wanted <= {page.stem for page in site.glob("*.html")}


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    for page in site.glob("*.html"):
        loaded = LOADED.findall(page.read_text(encoding="utf-8"))
        assert loaded
        assert not [link for link in loaded if link.startswith(("http:", "https:", "//"))], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8"))


def test_the_reference_has_arguments_and_members(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    for name in (
        "halldetect.Detector.check_many",
        "halldetect.Report.rethreshold",
        "halldetect.render.sarif.sarif",
        "halldetect_serve.client.Client",
    ):
        assert f'id="{name}"' in page
