"""Step 5: the mean of the weights of several students that started from the same base.

    python -m training.base.soup WORK first second third --out base

Runs on other seeds and mixtures err in different places; their mean costs one model to run and
is steadier on text that none of them saw.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from training.base.encoder import Encoder


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    parts = [Encoder.load(options.work / name) for name in options.models]
    states = [part.state_dict() for part in parts]
    mean = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    parts[0].load_state_dict(mean)
    parts[0].save(options.work / options.out)


if __name__ == "__main__":
    main()
