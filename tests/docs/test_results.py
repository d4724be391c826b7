"""The page of results is what `bench report` writes from the files in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.machine.integrity import digest_of
from halldetect_bench.peers_page import page, read_peers, readme_table
from halldetect_bench.report import MAX_LINES, newer_weights, with_block
from halldetect_bench.stats.selection import read_settings
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
STORED = ROOT / "benchmarks" / "results" / "bench"
PEERS = ROOT / "benchmarks" / "results" / "peers.json"


def test_a_person_can_read_it() -> None:
    lines = (DOCS / "results.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in STORED.rglob("*") if path.is_file()) < 6_000_000


def test_results_name_packaged_weights_or_say_otherwise() -> None:
    settings = read_settings(STORED)
    package = ROOT / "src" / "halldetect" / "weights"
    for name, weights in (("base", "model.onnx"), ("large", "adapter.lora8")):
        known = {*settings.weights[name], settings.shipped.get(name)}
        assert digest_of(package / name / weights) in known, (
            f"{name}: see [shipped] in settings.toml"
        )
    for file in (DOCS / "results.md", ROOT / "README.md"):
        assert newer_weights(settings) in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_report_gives_the_same_bytes(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_bytes((ROOT / "README.md").read_bytes())
    (tmp_path / "comparison.md").write_bytes((DOCS / "comparison.md").read_bytes())
    command = ["bench", "report", str(STORED), "-o", str(tmp_path), "--readme", str(readme)]
    assert main([*command, "--peers", str(PEERS)]) == 0
    assert readme.read_bytes() == (ROOT / "README.md").read_bytes()
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != readme]
    stored = {path.relative_to(DOCS) for path in [*DOCS.glob("results.*"), *DOCS.glob("results/*")]}
    assert {path.relative_to(tmp_path) for path in written} == stored | {Path("comparison.md")}
    for path in written:
        name = path.relative_to(tmp_path)
        assert path.read_bytes() == (DOCS / name).read_bytes(), f"{name}: run `bench report`"


def test_the_comparison_is_what_the_file_of_peers_gives() -> None:
    found = read_peers(PEERS)
    comparison = (DOCS / "comparison.md").read_text(encoding="utf-8")
    assert with_block(comparison, page(found)) == comparison, "run `bench report`"
    assert readme_table(found) in (ROOT / "README.md").read_text(encoding="utf-8")
