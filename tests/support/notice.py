"""NOTICE: what the weights were made from. `python -m tests.support.notice > NOTICE`."""

from __future__ import annotations

import tomllib

from tests.support.paths import ROOT

HEAD = """HallDetect

Licensed under the Apache License, Version 2.0 (LICENSE).

The weights in this package were trained by this project from two models:
  base    all-mpnet-base-v2 (MPNet-base), Apache-2.0
  large   an adapter for Qwen2.5-Coder-1.5B-Instruct, Apache-2.0; that model is not in the package
          and is fetched by its own name

They learned from the texts below; none of these texts is in the package. The licence is the one
that the set states; where it says "none stated", the authors published the set for research
without a licence. docs/model-card.md and docs/model-card-large.md describe the training.
"""


def notice() -> str:
    """Return the text of NOTICE, from training/sets.toml."""
    sets = tomllib.loads((ROOT / "training" / "sets.toml").read_text(encoding="utf-8"))
    licences = {name.rpartition(".")[0]: licence for name, (_, licence) in sets["pairs"].items()}
    licences |= sets["licences"]
    lines = [f"  {name:<26}{licence}" for name, licence in sorted(licences.items())]
    return "\n".join([HEAD, *lines]) + "\n"


if __name__ == "__main__":
    print(notice(), end="")
