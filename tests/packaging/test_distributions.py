"""The wheel and the sdist: they build, and what is in them works."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.packaging
MAX_WHEEL_BYTES = 80_000_000


def run(*arguments: str, **options: object) -> str:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, built from the sdist as `python -m build` does, and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run("build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def test_an_index_would_take_them(built: tuple[Path, Path]) -> None:
    run("twine", "check", "--strict", *map(str, built))


def test_the_wheel_is_small_and_complete(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"halldetect/py.typed", "halldetect_bench/py.typed"} <= names
    for licence in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names)
    tracked = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "src"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {name.removeprefix("src/") for name in tracked} <= names
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "NOTICE", "README.md", "tests/conftest.py"} <= inside


def test_a_check_with_the_installed_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "installed"
    run("pip", "install", "-q", "--no-deps", "--target", str(place), str(built[0]))
    text = "The boat leaves at six."
    command = ["halldetect", "check", text, text, "--quiet", "--format", "short"]
    found = run(*command, cwd=tmp_path, env={"PYTHONPATH": str(place)})
    assert found.startswith("faithful")
