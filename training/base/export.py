"""Step 7: export a trained student as the folder in the package.

    python -m training.base.export WORK --model base --out src/halldetect/weights/base

Writes model.onnx, its weights in 4 bits (8 bits in computation), tokenizer.json (no truncation, no
padding) and config.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer

from training.base.encoder import LABELS, TOKENIZER, Encoder
from training.base.lean import Lean
from training.base.quantise import quantise


def to_onnx(model: Encoder, path: Path) -> None:
    """Write the fp32 graph for one pair of any length."""
    torch.onnx.export(
        Lean(model.eval()),
        (torch.randint(10, 1000, (1, 24)),),
        str(path),
        input_names=["input_ids"],
        output_names=["logits"],
        dynamic_shapes={"input_ids": {1: torch.export.Dim("length", max=512)}},
        dynamo=True,
        external_data=False,
    )


def clean_tokenizer(source: Path, target: Path) -> None:
    """Copy a tokenizer without truncation and padding."""
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(target), pretty=False)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", default="base")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--block", type=int, default=32)
    options = parser.parse_args()
    model = Encoder.load(options.work / options.model)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "model.onnx"
        to_onnx(model, whole)
        quantise(whole, options.out / "model.onnx", options.block)
    clean_tokenizer(options.work / TOKENIZER / "tokenizer.json", options.out / "tokenizer.json")
    positions = model.shape.positions - model.shape.pad - 1
    config = {
        "name": "halldetect-base",
        "model_type": model.shape.kind,
        "id2label": dict(enumerate(LABELS)),
        "max_position_embeddings": model.shape.positions,
        "model_max_length": positions,
        "pad_token_id": model.shape.pad,
        "languages": ["en"],
    }
    (options.out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    size = sum(file.stat().st_size for file in options.out.iterdir()) / 1e6
    print(f"{options.out}: {size:.1f} MB")


if __name__ == "__main__":
    main()
