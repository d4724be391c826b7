"""The catalogue of models: names, and what is said of a wrong one."""

from __future__ import annotations

import re

import pytest

from halldetect.errors import ModelError
from halldetect.machine import catalogue


def test_names_are_unique_and_complete() -> None:
    names = [entry.name for entry in catalogue.ENTRIES]
    assert names == [
        "smollm2-135m",
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        "llama-3.1-8b",
        "gemma-2-9b",
    ]
    assert names[0] == catalogue.DEFAULT_EXTRACTOR
    for entry in catalogue.ENTRIES:
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert re.fullmatch("[0-9a-f]{40}", entry.revision)
        assert all("==" in package for package in entry.mirror)
    assert len(catalogue.find("qwen2.5-coder-1.5b").mirror) == 22


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("smollm2", "smollm2-135m"),
        ("qwen2.5-coder-1.5", "qwen2.5-coder-1.5b"),
        ("lama-3.1-8b", "llama-3.1-8b"),
    ],
)
def test_an_unknown_name_gets_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"did you mean {meant}"):
        catalogue.find(typed)


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(ModelError, match="known names: smollm2-135m, "):
        catalogue.find("€€€")
