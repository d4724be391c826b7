"""The public names, and how little importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import halldetect

NAMES = [
    "Claim",
    "Detector",
    "Draft",
    "Evidence",
    "Extractor",
    "HallDetectError",
    "Pair",
    "Probabilities",
    "Report",
    "Status",
    "Verdict",
    "Verifier",
    "acheck",
    "check",
    "check_conversation",
]
HEAVY = {
    "httpx",
    "huggingface_hub",
    "numpy",
    "nupunkt",
    "onnxruntime",
    "openai",
    "pydantic",
    "rich",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
    "xllamacpp",
}


def python(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout


def test_public_names() -> None:
    assert halldetect.__all__ == NAMES
    assert all(getattr(halldetect, name) is not None for name in NAMES)
    assert set(NAMES) <= set(dir(halldetect))
    homes = {name: getattr(halldetect, name).__module__ for name in NAMES}
    assert homes["Claim"] == "halldetect.reading.claims"
    assert homes["Draft"] == homes["Verifier"] == "halldetect.protocols"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Detektor'"):
        halldetect.Detektor  # noqa: B018


@pytest.mark.parametrize(
    "statement",
    [
        "import halldetect",
        "from halldetect import Detector, check; Detector()",
        "import halldetect.cli",
    ],
)
def test_imports_stay_light(statement: str) -> None:
    loaded = python(f"{statement}\nimport sys\nprint(*sys.modules)")
    assert not HEAVY & {name.partition(".")[0] for name in loaded.split()}
