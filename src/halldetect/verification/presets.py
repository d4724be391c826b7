"""Verifiers on the hub that have a short name here, and the input format of each.

The input formats are facts about the checkpoints, taken from the inference code their authors
published: a model answers properly only in the format it was trained on.

- MiniCheck reads one text: document, the end token, claim. Its RoBERTa thus gets one end token
  between the two, where a RoBERTa pair has two. Output 1 means supported. Its authors feed
  chunks of some 400 tokens, to 512 at most for RoBERTa and 2048 for DeBERTa.
- FactCG reads one text: the document, then a question about the claim with the answers yes
  and no. Output 1 means supported. Its authors feed up to 2048 tokens.
- AlignScore reads a pair of RoBERTa. Of its heads the three-way one is used, as its authors do:
  entailment, neutral, contradiction. Its authors feed chunks of some 350 tokens.
- HHEM reads one text behind a padding token: an instruction, then premise and hypothesis by name.
  The first token's output 1 means consistent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Format(StrEnum):
    """How a model reads window and claim."""

    PAIR = "pair"  # the tokenizer's own template for two texts
    JOINED = "joined"  # one text, the end token between the two
    QUESTION = "question"  # one text, FactCG's question around the claim
    NAMED = "named"  # one text behind a padding token, HHEM's names before premise and hypothesis


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights that `from_pretrained` cannot read: see `verifiers.checkpoints`.

    kind  "alignscore" or "hhem"
    file  their name in the model's repository
    base  the model on the hub whose configuration and tokenizer they use
    """

    kind: str
    file: str
    base: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A model on the hub.

    model     its name on the hub
    format    how it reads window and claim
    labels    what its outputs mean; None: as its configuration says
    limit     the tokens it reads; None: as its configuration says
    summary   what it is, in a few words
    revision  the commit, branch or tag to take
    pickled   its authors publish no safetensors: PyTorch's restricted reader takes its weights
    checkpoint  how its weights are stored, where that is not transformers' way
    """

    model: str
    format: Format = Format.PAIR
    labels: tuple[str, ...] | None = None
    limit: int | None = None
    summary: str = field(default="a transformers model", compare=False)
    revision: str = field(default="main", compare=False)
    pickled: bool = field(default=False, compare=False)
    checkpoint: Checkpoint | None = None


# The folder of the weights in the package.
DEFAULT = "base"
# Our adapter, which is in the package, on a language model that has to be fetched.
LARGE = "large"
# The weights in the package first, then `large` for responses that they are unsure of.
CASCADE = "auto"
LARGE_BASE = "qwen2.5-coder-1.5b"
# Bytes of memory of a process with `large` on a CPU, measured on the worker of `serve`.
_LARGE_MEMORY = 2_700_000_000
_TWO_WAY = ("not_entailment", "entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")

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
    "alignscore-large": Preset(
        "yzha/AlignScore",
        labels=_THREE_WAY,
        limit=512,
        summary="AlignScore on RoBERTa-large, three-way",
        checkpoint=Checkpoint("alignscore", "AlignScore-large.ckpt", "FacebookAI/roberta-large"),
    ),
    "hhem": Preset(
        "vectara/hallucination_evaluation_model",
        Format.NAMED,
        _TWO_WAY,
        limit=4096,
        summary="HHEM 2.1 on Flan-T5-base, two-way",
        checkpoint=Checkpoint("hhem", "model.safetensors", "google/flan-t5-base"),
    ),
}


def verifier_table() -> tuple[tuple[str, str], ...]:
    """Each kind of verifier by the name that `load_verifier` takes, and what it is."""
    return (
        ("default", "the verifier in the package; no download"),
        (
            LARGE,
            "our adapter on a 1.5B language model, which `halldetect models pull large` fetches; "
            "needs the extra large",
        ),
        (
            CASCADE,
            "default first, large for the responses that it is unsure of; needs what large needs",
        ),
        *((name, f"{preset.summary}; needs the extra hf") for name, preset in PRESETS.items()),
        ("hf:NAME", "an NLI model on the hub; needs the extra hf"),
        ("FOLDER", "a folder with an ONNX or a transformers model"),
    )


def describe_verifier(name: str | None) -> str:
    """What the verifier of that name is, in a few words."""
    table = dict(verifier_table())
    if name is None or name == DEFAULT:
        return table["default"]
    return table["hf:NAME"] if name.startswith("hf:") else table.get(name, table["FOLDER"])


def memory_needed(name: str | None) -> int:
    """Bytes that a process with the verifier of that name needs on a CPU; 0 if not much."""
    return _LARGE_MEMORY if name in (LARGE, CASCADE) else 0


# What FactCG-DeBERTa was trained to complete; not our words, and not ours to improve.
BEFORE_CLAIM = '\n\nChoose your answer: based on the paragraph above can we conclude that "'
AFTER_CLAIM = '"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
# What HHEM was trained on, likewise.
BEFORE_PREMISE = "Determine if the hypothesis is true given the premise?\n\nPremise: "
BEFORE_HYPOTHESIS = "\n\nHypothesis: "
