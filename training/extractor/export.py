"""Step 4: the adapter as a GGUF file for llama.cpp, beside the base it was trained on.

python -m training.extractor.export WORK --base FOLDER --out src/halldetect/weights/claims
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from safetensors.torch import load_file

from training.extractor.lora import write_gguf

FILE = "adapter.gguf"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--name", default="adapter")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    settings = json.loads((options.work / f"{options.name}.json").read_text())
    config = json.loads((options.base / "config.json").read_text())
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / FILE
    tensors = load_file(options.work / f"{options.name}.safetensors")
    write_gguf(path, tensors, settings["alpha"], heads)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (options.out / "adapter.json").write_text(
        json.dumps({"sha256": digest, "bytes": path.stat().st_size, **settings}, indent=1) + "\n"
    )
    print(f"{path}: {path.stat().st_size:,} bytes, sha256 {digest}")


if __name__ == "__main__":
    main()
