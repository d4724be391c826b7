"""Names of verifiers, and the input formats of those on the hub.

The formats follow the inference code of the authors: a model works properly only with the format
it was trained on.

- MiniCheck reads one text: document, the end token, claim. Its RoBERTa thus gets one end token
  between the two, while a RoBERTa pair has two. Output 1 means supported. Its authors use
  chunks of about 400 tokens, at most 512 for RoBERTa and 2048 for DeBERTa.
- FactCG reads one text: the document, then a question about the claim with the answers yes
  and no. Output 1 means supported. Its authors use up to 2048 tokens.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from halldetect.errors import ConfigurationError, name_advice


class Format(StrEnum):
    """The form in which a model reads window and claim."""

    PAIR = "pair"  # the tokenizer's own template for two texts
    JOINED = "joined"  # one text, the end token between the two
    QUESTION = "question"  # one text, FactCG's question around the claim


@dataclass(frozen=True, slots=True)
class Preset:
    """A model on the hub.

    Without `labels` and `limit` (the tokens it reads), its configuration states them. `pickled`
    means that its authors publish no safetensors: PyTorch's restricted reader loads its weights.
    """

    model: str
    format: Format = Format.PAIR
    labels: tuple[str, ...] | None = None
    limit: int | None = None
    summary: str = field(default="a transformers model", compare=False)
    revision: str = field(default="main", compare=False)
    pickled: bool = field(default=False, compare=False)


DEFAULT = "base"  # the weights in the package
LARGE = "large"  # our adapter, in the package, on a downloaded language model
CASCADE = "auto"  # `base` first, then `large` for responses that it is unsure of
HUB = "hf:"  # before the name of any model on the hub
LARGE_BASE = "qwen2.5-coder-1.5b"
# Memory in bytes of a process with `large` on a CPU, in onnxruntime and in OpenVINO.
_LARGE_MEMORY, _OPENVINO_MEMORY = 2_700_000_000, 4_600_000_000
_TWO_WAY = ("not_entailment", "entailment")

PRESETS = {
    "deberta-v3-large": Preset(
        "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
        summary="DeBERTa-v3-large trained on NLI, three-way",
        revision="b3546ea6b0346eb6f8d5d68b13c7dc6d0376b3d7",
    ),
    "minicheck-deberta": Preset(
        "lytang/MiniCheck-DeBERTa-v3-Large",
        Format.JOINED,
        _TWO_WAY,
        limit=2048,
        summary="MiniCheck on DeBERTa-v3-large, two-way",
        revision="2f2d01a54fa022a7ffadb76260e1ea8bc88c82bb",
        pickled=True,
    ),
    "minicheck-roberta": Preset(
        "lytang/MiniCheck-RoBERTa-Large",
        Format.JOINED,
        _TWO_WAY,
        limit=512,
        summary="MiniCheck on RoBERTa-large, two-way",
        revision="74c8919647e61ed0f71bc177d94f10930f090068",
        pickled=True,
    ),
    "factcg-deberta": Preset(
        "yaxili96/FactCG-DeBERTa-v3-Large",
        Format.QUESTION,
        _TWO_WAY,
        limit=2048,
        summary="FactCG on DeBERTa-v3-large, two-way",
    ),
}


def check_verifier_name(name: str | None) -> None:
    """Raise ConfigurationError for an invalid verifier name, without loading anything."""
    names = [DEFAULT, LARGE, CASCADE, *PRESETS]
    if name is None or name in names or (name.startswith(HUB) and name != HUB):
        return
    if name.strip() and Path(name).expanduser().exists():
        return
    if name.strip() and "/" in name:
        raise ConfigurationError(f"no folder {name}; a model on the hub is written {HUB}{name}")
    raise ConfigurationError(f"unknown verifier {name!r}; {name_advice(name, names)}")


def verifier_table() -> tuple[tuple[str, str], ...]:
    """Return each kind of verifier by its name, with a short description."""
    return (
        (DEFAULT, "the verifier in the package, the default; no download"),
        (LARGE, "our adapter on a 1.5B model; needs `models pull large` and the extra large"),
        (CASCADE, "base, then large for responses that it is unsure of; needs what large needs"),
        *((name, f"{preset.summary}; needs the extra hf") for name, preset in PRESETS.items()),
        ("hf:NAME", "an NLI model on the hub; needs the extra hf"),
        ("FOLDER", "a folder with an ONNX or a transformers model"),
    )


def describe_verifier(name: str | None) -> str:
    """Return a short description of the verifier of that name."""
    table = dict(verifier_table())
    name = name or DEFAULT
    return table["hf:NAME"] if name.startswith(HUB) else table.get(name, table["FOLDER"])


def uses_openvino() -> bool:
    """Return True if OpenVINO is installed, except on ARM: there it unpacks `large` to 13 GB."""
    return platform.machine() in ("x86_64", "AMD64") and find_spec("openvino") is not None


def memory_needed(name: str | None) -> int:
    """Return the memory in bytes that this verifier needs on a CPU; 0 for small ones."""
    if name not in (LARGE, CASCADE):
        return 0
    return _OPENVINO_MEMORY if uses_openvino() else _LARGE_MEMORY


# FactCG-DeBERTa was trained to complete exactly these words of its authors.
BEFORE_CLAIM = '\n\nChoose your answer: based on the paragraph above can we conclude that "'
AFTER_CLAIM = '"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
