"""Step 7: a trained student as the folder the package ships.

    python -m training.verifier.export WORK --model base --out src/halldetect/weights/base

Writes model.onnx (quantised), tokenizer.json (no truncation, no padding) and config.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer

from training.verifier.encoder import LABELS, Encoder
from training.verifier.quantise import quantise


def to_onnx(model: Encoder, path: Path) -> None:
    """The fp32 graph, for any number of pairs of any length."""
    ids = torch.randint(10, 1000, (2, 24))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=512)
    torch.onnx.export(
        model.eval(),
        (ids, mask),
        str(path),
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_shapes={
            "input_ids": {0: batch, 1: length},
            "attention_mask": {0: batch, 1: length},
        },
        dynamo=True,
        external_data=False,
    )


def clean_tokenizer(source: Path, target: Path) -> None:
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(target), pretty=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", default="base")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="halldetect-base")
    parser.add_argument("--temperature", type=float, default=1.0, help="what calibrate fitted")
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--embeddings", choices=("int8", "int4"), default="int4")
    parser.add_argument("--accuracy-level", type=int, default=4)
    options = parser.parse_args()
    model = Encoder.load(options.work / options.model)
    with torch.no_grad():
        model.classify.weight /= options.temperature
        model.classify.bias /= options.temperature
    base = "minilm" if model.shape.kind == "bert" else "mpnet"
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "model.onnx"
        to_onnx(model, whole)
        quantise(
            whole, options.out / "model.onnx", bits=options.bits, block=options.block,
            embeddings=options.embeddings, accuracy_level=options.accuracy_level,
        )  # fmt: skip
    clean_tokenizer(options.work / base / "tokenizer.json", options.out / "tokenizer.json")
    positions = model.shape.positions - (model.shape.pad + 1 if base == "mpnet" else 0)
    config = {
        "name": options.name,
        "model_type": base,
        "id2label": dict(enumerate(LABELS)),
        "max_position_embeddings": model.shape.positions,
        "model_max_length": positions,
        "pad_token_id": model.shape.pad,
        "languages": ["en"],
    }
    (options.out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    size = (options.out / "model.onnx").stat().st_size / 1e6
    print(f"{options.out}: {size:.1f} MB")


if __name__ == "__main__":
    main()
