"""llama.cpp: what is said where it is not installed."""

from __future__ import annotations

import sys

import pytest

from halldetect.errors import MissingExtra
from halldetect.machine import store
from halldetect.paper.extractors import load_extractor


@pytest.mark.parametrize("name", ["gguf", "smollm2-135m", "gguf:mine.gguf"])
def test_missing_llama_cpp_is_named_before_a_download(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(store, "pull", lambda *_: pytest.fail("downloaded a model"))
    with pytest.raises(
        MissingExtra, match=r"a GGUF model needs .*: pip install 'halldetect\[llm\]'"
    ):
        load_extractor(name)
