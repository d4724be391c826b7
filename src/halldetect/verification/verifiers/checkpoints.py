"""Verifiers whose authors publish weights in a form of their own: AlignScore and HHEM.

The networks are built from transformers' own parts and given the published weights, so that no
code of a repository is run. Where a file holds other weights than expected, loading fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halldetect.errors import FetchError, ModelError, one_line
from halldetect.verification.presets import Preset


def checkpoint_file(preset: Preset) -> Path:
    """The file of the weights: in the folder of the preset, or fetched from the hub."""
    from halldetect.models import offline

    checkpoint = preset.checkpoint
    assert checkpoint is not None
    folder = Path(preset.model)
    if folder.is_dir():
        return folder / checkpoint.file
    try:
        from huggingface_hub import hf_hub_download

        return Path(
            hf_hub_download(
                preset.model,
                checkpoint.file,
                revision=preset.revision,
                local_files_only=offline(),
            )
        )
    except Exception as error:  # the hub's errors share no base class
        raise FetchError(
            f"{preset.model} could not be fetched from the hub: {one_line(error)[:200]}"
        ) from error


def load_checkpoint(preset: Preset, config: Any) -> Any:
    """The network of a preset with a checkpoint; its output has `logits`, one row per pair.

    preset  names the weights
    config  transformers' configuration of the model that the checkpoint is built on
    """
    checkpoint = preset.checkpoint
    assert checkpoint is not None
    file = checkpoint_file(preset)
    build = {"alignscore": _alignscore, "hhem": _hhem}[checkpoint.kind]
    try:
        return build(file, config)
    except Exception as error:  # missing weights, other shapes, a file that holds more than weights
        raise ModelError(
            f"{preset.model}: {file.name} cannot be loaded: {one_line(error)[:200]}"
        ) from error


def _alignscore(file: Path, config: Any) -> Any:
    """RoBERTa with its pooler, and a linear map to three outputs."""
    import torch
    from transformers import RobertaModel
    from transformers.modeling_outputs import SequenceClassifierOutput

    class AlignScore(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.base_model = RobertaModel(config)
            self.tri_layer = torch.nn.Linear(config.hidden_size, 3)

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            pooled = self.base_model(**inputs).pooler_output
            return SequenceClassifierOutput(logits=self.tri_layer(pooled))

    # The restricted reader: a pickle that holds anything but plain values and tensors is refused.
    stored = torch.load(file, map_location="cpu", weights_only=True)["state_dict"]
    return _filled(AlignScore(), stored)


def _hhem(file: Path, config: Any) -> Any:
    """Flan-T5's encoder with a classifier on every token, of which the first counts."""
    import torch
    from safetensors.torch import load_file
    from transformers import T5ForTokenClassification
    from transformers.modeling_outputs import SequenceClassifierOutput

    config.num_labels = 2

    class Hhem(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.t5 = T5ForTokenClassification(config)

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            return SequenceClassifierOutput(logits=self.t5(**inputs).logits[:, 0])

    return _filled(Hhem(), load_file(file))


def _filled(network: Any, stored: dict[str, Any]) -> Any:
    """The network with the stored weights; weights of heads that it does not have are left out."""
    wanted = network.state_dict()
    tied = {"t5.transformer.encoder.embed_tokens.weight": "t5.transformer.shared.weight"}
    for name, source in tied.items():
        if name in wanted and name not in stored and source in stored:
            stored = {**stored, name: stored[source]}
    missing = sorted(
        set(wanted) - set(stored) - {name for name in wanted if "position_ids" in name}
    )
    if missing:
        raise ModelError(f"it has no {missing[0]} ({len(missing)} weights are missing)")
    network.load_state_dict({name: stored[name] for name in wanted})
    return network
