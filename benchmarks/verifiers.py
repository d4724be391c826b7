"""The verifier of a benchmark: its options and its loading.

`--base` loads the large verifier from a GGUF file instead of the model store. This needs torch,
numpy, tokenizers, platformdirs and pyromark (`pip install --target FOLDER`, on PYTHONPATH,
for a machine without a network). `--verifier hf:FOLDER` runs the base verifier in PyTorch, also on
a GPU, from a folder of `training.base.to_hf`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from halldetect import Detector
from halldetect.protocols import Verifier

_ADAPTER = Path(__file__).parents[1] / "src/halldetect/weights/large/adapter.lora8"


def add_verifier_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the verifier, its device, and the files of the large one."""
    parser.add_argument("--verifier", default="base", help="as for `halldetect check`: base")
    parser.add_argument("--device", default="auto", help="as for `halldetect check`: auto")
    parser.add_argument("--threads", type=int, help="as for `halldetect check`")
    parser.add_argument("--base", type=Path, help="GGUF file of the base of large")
    parser.add_argument("--adapter", type=Path, help="default: the one in the package")


def verifier_of(options: argparse.Namespace) -> Verifier:
    """Return the verifier that the options name."""
    if options.base is not None:
        from halldetect.large.load import load_large
        from halldetect.machine.devices import torch_device

        device = torch_device(options.device)
        return load_large(options.base, options.adapter or _ADAPTER, device=device)
    named = Detector(verifier=options.verifier, device=options.device, threads=options.threads)
    return named.verifier
