"""AlignScore and HHEM on tiny models of their architectures, in the form their authors publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect.errors import FetchError, ModelError
from halldetect.verification.presets import (
    BEFORE_HYPOTHESIS,
    BEFORE_PREMISE,
    PRESETS,
    Checkpoint,
    Format,
    Preset,
)
from halldetect.verification.verifiers import load_verifier
from tests.support.tiny_models import LINES, PAIRS, unigram, write_transformers

pytestmark = pytest.mark.hf
READABLE = [pair for pair in PAIRS if all(pair)][:5]


def alignscore(folder: Path) -> tuple[Preset, Any, Any]:
    """A preset of tiny weights, the encoder and the three-way head."""
    import torch
    import transformers

    base = write_transformers(folder / "base", "roberta")
    torch.manual_seed(3)
    config = transformers.AutoConfig.from_pretrained(base)
    encoder = transformers.RobertaModel(config).eval()
    heads = {name: torch.nn.Linear(32, size) for name, size in (("tri", 3), ("bin", 2), ("reg", 1))}
    state = {f"base_model.{name}": value for name, value in encoder.state_dict().items()}
    for name, head in heads.items():
        state[f"{name}_layer.weight"], state[f"{name}_layer.bias"] = head.weight, head.bias
    weights = folder / "weights"
    weights.mkdir()
    torch.save({"state_dict": state, "epoch": 3}, weights / "AlignScore-large.ckpt")
    stored = Checkpoint("alignscore", "AlignScore-large.ckpt", str(base))
    labels = PRESETS["alignscore-large"].labels
    return Preset(str(weights), labels=labels, limit=300, checkpoint=stored), encoder, heads["tri"]


def test_alignscore_is_its_encoder_and_its_three_way_head(tmp_path: Path) -> None:
    import torch
    import transformers

    from halldetect.verification.verifiers.transformers import TransformersVerifier

    preset, encoder, head = alignscore(tmp_path)
    verifier = TransformersVerifier(preset, device="cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "base")
    for pair, found in zip(READABLE, verifier.judge(READABLE), strict=True):
        inputs = tokenizer(*pair, return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            expected = head(encoder(**inputs).pooler_output).softmax(-1)[0].numpy()
        assert np.allclose(
            [found.entailment, found.neutral, found.contradiction], expected, atol=1e-5
        )
    assert any("AlignScore-large.ckpt" in key for key in verifier.description)


def test_weights_that_are_missing_are_an_error(tmp_path: Path) -> None:
    import torch

    from halldetect.verification.verifiers.transformers import TransformersVerifier

    preset, _, _ = alignscore(tmp_path)
    file = Path(preset.model) / "AlignScore-large.ckpt"
    state = torch.load(file, weights_only=True)["state_dict"]
    torch.save({"state_dict": {key: state[key] for key in state if "tri" not in key}}, file)
    with pytest.raises(ModelError, match="tri_layer"):
        TransformersVerifier(preset, device="cpu")


def test_hhem_reads_named_texts_and_its_first_token_decides(tmp_path: Path) -> None:
    import torch
    import transformers
    from safetensors.torch import save_file

    from halldetect.verification.verifiers.transformers import TransformersVerifier

    base, weights = tmp_path / "base", tmp_path / "weights"
    weights.mkdir()
    torch.manual_seed(0)
    own = unigram()
    config = transformers.T5Config(
        vocab_size=own.get_vocab_size(), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        num_labels=2, pad_token_id=0,
    )  # fmt: skip
    network = transformers.T5ForTokenClassification(config).eval()
    config.save_pretrained(base)
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=own, **names)
    tokenizer.save_pretrained(base)
    state = {f"t5.{name}": value.clone() for name, value in network.state_dict().items()}
    save_file(state, weights / "model.safetensors")
    stored = Checkpoint("hhem", "model.safetensors", str(base))
    preset = Preset(str(weights), Format.NAMED, PRESETS["hhem"].labels, 400, checkpoint=stored)
    verifier = TransformersVerifier(preset, device="cpu")
    for (premise, claim), found in zip(READABLE, verifier.judge(READABLE), strict=True):
        text = f"{BEFORE_PREMISE}{premise}{BEFORE_HYPOTHESIS}{claim}"
        ids = torch.tensor([[0, *own.encode(text).ids]])
        with torch.inference_mode():
            expected = network(input_ids=ids).logits[0, 0].softmax(-1)
        assert found.entailment == pytest.approx(float(expected[1]), abs=1e-5)
        assert found.contradiction is None
    longest = [(" ".join(LINES * 3), LINES[0])]
    room = verifier.max_tokens
    assert sum(verifier.count_tokens(longest[0])) <= room
    assert verifier.judge(longest)


def test_the_names_are_looked_for_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    for name in ("alignscore-large", "hhem"):
        with pytest.raises(FetchError, match="hub"):
            load_verifier(name)
