"""Names of verifiers, and what each of them needs."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

from halldetect.errors import ConfigurationError, name_advice
from halldetect.verification.peers import PEERS

DEFAULT = "base"  # the weights in the package
LARGE = "large"  # our adapter, in the package, on a downloaded language model
CASCADE = "auto"  # `base` first, then `large` for responses that it is unsure of
HUB = "hf:"  # before the name of any model on the hub
LARGE_BASE = "qwen2.5-coder-1.5b"
# Memory in bytes of a process with `large` on a CPU, in onnxruntime and in OpenVINO.
_LARGE_MEMORY, _OPENVINO_MEMORY = 2_700_000_000, 4_600_000_000
PAPER = "deberta-v3-large"  # the paper's verifier
PAPER_MODEL = "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
PAPER_REVISION = "b3546ea6b0346eb6f8d5d68b13c7dc6d0376b3d7"
# Each kind of verifier by its name for `load_verifier`.
VERIFIERS = (
    (DEFAULT, "the verifier in the package, the default; no download"),
    (LARGE, "our adapter on a 1.5B model; needs `models pull large` and the extra large"),
    (CASCADE, "base, then large for responses that it is unsure of; needs what large needs"),
    (PAPER, "DeBERTa-v3-large trained on NLI, three-way; needs the extra hf"),
    *((name, f"{peer.summary}; needs the extra hf") for name, peer in PEERS.items()),
    ("hf:NAME", "an NLI model on the hub; needs the extra hf"),
    ("FOLDER", "a folder with model.onnx or a transformers model, or an .onnx file"),
)


def check_verifier_name(name: str | None) -> None:
    """Raise ConfigurationError for an invalid verifier name, without loading anything."""
    names = [DEFAULT, LARGE, CASCADE, PAPER, *PEERS]
    if name is None or name in names or (name.startswith(HUB) and name != HUB):
        return
    if name.strip() and Path(name).expanduser().exists():
        return
    if name.strip() and "/" in name:
        raise ConfigurationError(f"no folder {name}; a model on the hub is written {HUB}{name}")
    raise ConfigurationError(f"unknown verifier {name!r}; {name_advice(name, names)}")


def describe_verifier(name: str | None) -> str:
    """Return a short description of the verifier of that name."""
    table, name = dict(VERIFIERS), name or DEFAULT
    return table["hf:NAME"] if name.startswith(HUB) else table.get(name, table["FOLDER"])


def uses_openvino() -> bool:
    """Return True if OpenVINO is installed, except on ARM: there it unpacks `large` to 13 GB."""
    return platform.machine() in ("x86_64", "AMD64") and find_spec("openvino") is not None


def memory_needed(name: str | None) -> int:
    """Return the memory in bytes that this verifier needs on a CPU; 0 for small ones."""
    if name not in (LARGE, CASCADE):
        return 0
    return _OPENVINO_MEMORY if uses_openvino() else _LARGE_MEMORY
