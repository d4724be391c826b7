"""Convert the shipped weights into a folder that transformers loads, for a GPU.

    python -m training.base.to_hf src/halldetect/weights/base FOLDER

The folder has fp16 weights and the calibration of the shipped ones, so `--verifier hf:FOLDER` gives
the same scores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from training.base.encoder import LABELS, Encoder, Shape
from training.base.unpack import student

STATED = ("languages", "calibration", "operating_points")


def state_of(model: Encoder) -> dict[str, Tensor]:
    """Return the weights under the names of MPNetForSequenceClassification."""
    if model.shape.kind != "mpnet":
        raise ValueError("only students of MPNet's kind are known here")
    old = model.state_dict()
    new = {
        "mpnet.embeddings.word_embeddings.weight": old["words.weight"],
        "mpnet.embeddings.position_embeddings.weight": old["places.weight"],
        "mpnet.encoder.relative_attention_bias.weight": old["distance.weight"],
    }
    for part in ("weight", "bias"):
        new[f"mpnet.embeddings.LayerNorm.{part}"] = old[f"norm.{part}"]
        new[f"classifier.dense.{part}"] = old[f"dense.{part}"]
        new[f"classifier.out_proj.{part}"] = old[f"classify.{part}"]
        for layer in range(model.shape.layers):
            before, after = f"layers.{layer}.", f"mpnet.encoder.layer.{layer}."
            for name, value in zip("qkv", old[f"{before}qkv.{part}"].chunk(3), strict=True):
                new[f"{after}attention.attn.{name}.{part}"] = value
            new[f"{after}attention.attn.o.{part}"] = old[f"{before}out.{part}"]
            new[f"{after}attention.LayerNorm.{part}"] = old[f"{before}attention_norm.{part}"]
            new[f"{after}intermediate.dense.{part}"] = old[f"{before}up.{part}"]
            new[f"{after}output.dense.{part}"] = old[f"{before}down.{part}"]
            new[f"{after}output.LayerNorm.{part}"] = old[f"{before}norm.{part}"]
    return new


def config_of(shape: Shape) -> dict[str, Any]:
    """Return the configuration of transformers for an encoder's shape."""
    return {
        "architectures": ["MPNetForSequenceClassification"],
        "model_type": "mpnet",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.positions,
        "relative_attention_num_buckets": shape.buckets,
        "layer_norm_eps": shape.epsilon,
        "pad_token_id": shape.pad,
        "bos_token_id": 0,
        "eos_token_id": shape.separator,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "id2label": {str(place): label for place, label in enumerate(LABELS)},
        "label2id": {label: place for place, label in enumerate(LABELS)},
    }


def write(shipped: Path, folder: Path) -> None:
    """Write the folder of the shipped weights."""
    folder.mkdir(parents=True, exist_ok=True)
    model = student(shipped)
    halves = {name: value.half().contiguous() for name, value in state_of(model).items()}
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    stated = json.loads((shipped / "config.json").read_text(encoding="utf-8"))
    kept = {name: stated[name] for name in STATED if name in stated}
    config = {**config_of(model.shape), **kept, "dtype": "float16"}
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "tokenizer.json").write_bytes((shipped / "tokenizer.json").read_bytes())
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 512,
        "pad_token": "<pad>",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shipped", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    write(options.shipped, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
