"""The examples of docs/extending.md run as they stand, and are as short as the page promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.integrations.checker import UncheckableError, UngroundedError
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
MOST_LINES = 30


def examples(title: str) -> list[str]:
    """The Python blocks under a heading."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, f"no example under {title!r}"
    return found


@pytest.mark.parametrize(
    "title",
    ["A verifier", "An extractor", "An error type of your own", "A dataset", "An integration"],
)
def test_an_example_is_short(title: str) -> None:
    assert sum(len(block.splitlines()) for block in examples(title)) <= MOST_LINES


def test_a_verifier() -> None:
    for block in examples("A verifier"):
        exec(block, {})


def test_an_extractor() -> None:
    for block in examples("An extractor"):
        exec(block, {})


def test_an_error_type() -> None:
    for block in examples("An error type of your own"):
        exec(block, {})


def test_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from halldetect_bench import registry

    monkeypatch.setattr(registry, "DATASETS", dict(registry.DATASETS))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "ratings").mkdir(parents=True)
    records = [
        {"id": "a", "article": "It rained.", "summary": "It was dry.", "rating": 1},
        {"id": "b", "article": "It rained.", "summary": "It rained.", "rating": 5},
        {"id": "c", "article": "It rained."},
    ]
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    (tmp_path / "data" / "ratings" / "ratings.jsonl").write_text(lines, encoding="utf-8")
    names: dict[str, object] = {}
    for block in examples("A dataset"):
        exec(block, names)
    assert capsys.readouterr().out == "2\n"
    assert [row.hallucinated for row in registry.load_dataset("ratings", "data").rows] == [
        True,
        False,
    ]


def test_an_integration() -> None:
    names: dict[str, Any] = {}
    for block in examples("An integration"):
        exec(block, names)
    detector = Detector(OverlapVerifier())
    repeat = names["grounded"](lambda question, source: question, detector=detector)
    assert repeat("The mill opened in May.", "The old mill opened in May.")
    with pytest.raises(UngroundedError):
        repeat("The inn closed in June.", "The old mill opened in May.")
    with pytest.raises(UncheckableError):
        repeat("The inn closed in June.", " ")
