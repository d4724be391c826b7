"""A GGUF file as a folder that transformers loads, dequantised by many threads at once.

    python -m training.gguf_weights MODEL.gguf FOLDER

The folder holds bf16 weights, the configuration and the tokenizer; one that is complete is kept.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from halldetect_bench.gguf_weights import convert

__all__ = ["convert"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, help="default: as many as there are cores")
    options = parser.parse_args()
    start = time.perf_counter()
    convert(options.model, options.folder, threads=options.threads)
    print(f"{options.folder}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
